"""What the files around a segment add, and that none of them ends a look."""

from pathlib import Path
from typing import Any

import pytest

from seglake.pipelines.segment_inspect.run import inspected
from seglake.storage.errors import StorageError
from seglake.storage.local_storage import LocalStorage
from seglake.storage.storage import Reader
from support.encoder import Partition, Record, Segment, record_batch, write_log_dir
from support.looks import findings

RECORDS = [Record(b"k%d" % n, b"v") for n in range(5)]


class BrokenDisk(LocalStorage):
    """Reads no small file whose name ends so."""

    def __init__(self, *endings: str) -> None:
        super().__init__()
        self._endings = endings

    def read_bytes(self, path: str) -> bytes:
        self._check(path)
        return super().read_bytes(path)

    def open_reader(self, path: str) -> Reader:
        self._check(path)
        return super().open_reader(path)

    def _check(self, path: str) -> None:
        if path.endswith(self._endings):
            raise StorageError(action="read", path=path, reason="Input/output error")


def written(folder: Path, **facts: Any) -> Path:
    segments = [Segment(start, [record_batch(start, RECORDS)]) for start in (0, 5)]
    (partition,) = write_log_dir(folder, [Partition("t", 0, segments, **facts)])
    return partition.folder


@pytest.mark.parametrize(("claimed", "shown"), [(3, 3), (7, 7), (10, 10), (11, 0)])
def test_a_log_start_above_the_end_of_the_log_is_ignored(
    claimed: int, shown: int, tmp_path: Path, json_look: Any
) -> None:
    lines = json_look(written(tmp_path, log_start_offset=claimed), records=True)
    assert lines[-1]["log_start_offset"] == shown
    assert [line["offset"] for line in lines if line["type"] == "record"] == [*range(shown, 10)]
    expected = "the log start offset 11 is above the log's end 10: ignored"
    assert findings(lines, "damaged_file") == ([expected] if claimed > 10 else [])


def test_files_that_cannot_be_read_count_as_missing_and_are_noted(tmp_path: Path) -> None:
    folder = written(tmp_path, high_watermark=7)
    names = ("meta.properties", "replication-offset-checkpoint", "partition.metadata")
    (folder / names[-1]).write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA\n")
    path = str(folder / f"{0:020d}.log")
    *lines, summary = inspected(path, BrokenDisk(*names))
    texts = findings(lines, "damaged_file")
    assert [text.partition(": ")[0].rpartition("/")[2] for text in texts] == [*names]
    assert all("; the file counts as missing" in text for text in texts)
    assert summary["high_watermark"] is None
    assert summary["records"] == 5


def test_an_index_that_cannot_be_read_is_noted(tmp_path: Path) -> None:
    folder = written(tmp_path)
    (folder / f"{0:020d}.index").write_bytes(b"")
    *lines, summary = inspected(str(folder), BrokenDisk(".index"))
    (text, *_) = findings(lines, "damaged_file")
    assert text.endswith(f"{0:020d}.index: Input/output error")
    assert summary["records"] == 10
