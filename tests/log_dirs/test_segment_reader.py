"""A segment is read at positions of the original, wherever its bytes lie."""

from pathlib import Path

import pytest

from seglake.kafka_log.replica import RemoteObject, SegmentFile
from seglake.log_dirs.segment_reader import open_segment
from seglake.storage.local_storage import LocalStorage


def _file(folder: Path, remote: RemoteObject | None) -> SegmentFile:
    path = folder / "a.log"
    path.write_bytes(b"0123456789")
    return SegmentFile(0, str(path), path.name, 10, None, remote=remote)


@pytest.mark.parametrize("remote", [None, RemoteObject("x" * 22)])
def test_a_segment_is_read_whole_if_no_other_has_its_rest(
    tmp_path: Path, remote: RemoteObject | None
) -> None:
    with open_segment(LocalStorage(), _file(tmp_path, remote)) as reader:
        assert (reader.size_bytes, reader.read(0, 99), reader.read(8, 9)) == (
            10,
            b"0123456789",
            b"89",
        )


def test_bytes_that_another_segment_has_are_not_there(tmp_path: Path) -> None:
    file = _file(tmp_path, RemoteObject("x" * 22, stop_position=4))
    with open_segment(LocalStorage(), file) as reader:
        assert reader.size_bytes == 4
        assert [reader.read(0, 99), reader.read(3, 1), reader.read(4, 1), reader.read(7, 1)] == [
            *(b"0123", b"3", b"", b"")
        ]
