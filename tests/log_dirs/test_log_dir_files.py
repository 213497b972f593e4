"""What the small files of a log dir say, and what becomes of those that say nothing."""

from pathlib import Path

import pytest

from seglake.kafka_log.replica import Checkpoints
from seglake.log_dirs.log_dir_files import LogDirFiles, SideFileReader
from seglake.segment_codec.formats.side_files.checkpoint_files import EpochStart
from seglake.segment_codec.formats.side_files.log_dir import TopicPartition
from seglake.storage.errors import NotFoundError, RefusedError, StorageError
from seglake.storage.local_storage import LocalStorage
from support.encoder import Partition, topic_id_text
from support.made_logs import TOPIC_IDS, made_segments, write_over

_MARKS = "replication-offset-checkpoint"
_ORDERS = TopicPartition("orders", 0)


class _Faulty(LocalStorage):
    """No file can be read, for one reason."""

    def __init__(self, error: StorageError) -> None:
        self._error = error

    def read_bytes(self, path: str) -> bytes:
        raise self._error


@pytest.fixture
def log_dir(data: Path) -> Path:
    partition = Partition(
        "orders",
        0,
        made_segments("orders", 0, [0, 10]),
        high_watermark=7,
        recovery_point=5,
        log_start_offset=2,
        topic_id=TOPIC_IDS["orders"],
        leader_epochs=((0, 0), (3, 4)),
    )
    return write_over(data, [partition], broker_id=9)


def _read(
    folder: Path,
    storage: LocalStorage | None = None,
    tolerated: type[StorageError] = NotFoundError,
    implausible: dict[str, str] | None = None,
) -> tuple[LogDirFiles, list[str]]:
    notes: list[str] = []
    entries = LocalStorage().list_folder(str(folder))
    reader = SideFileReader(storage or LocalStorage(), notes, tolerated, implausible)
    return reader.log_dir_files(entries), notes


def test_the_files_of_a_broker_are_read_by_partition(log_dir: Path) -> None:
    files, notes = _read(log_dir)
    assert (files.broker_id, files.cluster_id, notes) == (9, "c2VnbGFrZS10ZXN0cy4xMg", [])
    assert files.checkpoints_of(_ORDERS) == Checkpoints(True, 7, 5, 2, None, False)
    assert files.checkpoints_of(TopicPartition("orders", 1)) == Checkpoints(
        True, None, None, None, None, False
    )


def test_without_a_high_watermark_file_the_committed_end_stands_for_one(log_dir: Path) -> None:
    (log_dir / _MARKS).unlink()
    files, notes = _read(log_dir)
    assert (files.high_watermarks, notes) == (None, [])
    assert not files.checkpoints_of(_ORDERS).has_high_watermarks
    found = files.checkpoints_of(_ORDERS, committed_end=6)
    assert (found.has_high_watermarks, found.high_watermark) == (True, 6)


@pytest.mark.parametrize("content", [b"0\n2\norders 0 5\n", b"9\n0\n", b"\x00\x00\x00"])
def test_a_file_that_is_not_what_kafka_writes_is_ignored_with_a_note(
    content: bytes, log_dir: Path
) -> None:
    (log_dir / _MARKS).write_bytes(content)
    files, (note,) = _read(log_dir)
    assert note.startswith(f"{log_dir / _MARKS} is ignored as implausible: ")
    assert (files.high_watermarks, files.recovery_points) == (None, {_ORDERS: 5})
    implausible: dict[str, str] = {}
    assert _read(log_dir, implausible=implausible)[1] == []
    assert implausible == {str(log_dir / _MARKS): note}


def test_a_file_that_would_fill_the_memory_is_ignored_as_implausible(log_dir: Path) -> None:
    with (log_dir / _MARKS).open("ab") as file:
        file.truncate(1 << 40)  # a hole: it takes no room on the disk
    files, (note,) = _read(log_dir)
    assert note == (
        f"{log_dir / _MARKS} is ignored as implausible: it has {1 << 40} bytes, but such a "
        "file has at most 33554432"
    )
    assert files.high_watermarks is None


def test_a_file_that_went_meanwhile_is_missing_and_one_that_is_closed_is_an_error(
    log_dir: Path,
) -> None:
    _, notes = _read(log_dir, _Faulty(NotFoundError(action="open", path="/gone")))
    assert {note.endswith("; the file counts as missing") for note in notes} == {True}
    refused = _Faulty(RefusedError(action="open", path="/closed", reason="Permission denied"))
    with pytest.raises(RefusedError, match="/closed"):
        _read(log_dir, refused)
    files, _ = _read(log_dir, refused, tolerated=StorageError)
    assert files.high_watermarks is None


def test_the_folder_of_cached_remote_indexes_tells_of_a_remote_tier(log_dir: Path) -> None:
    assert not _read(log_dir)[0].has_remote_tier
    (log_dir / "remote-log-index-cache").mkdir()
    files, _ = _read(log_dir)
    assert files.checkpoints_of(_ORDERS).has_remote_tier


def test_the_files_of_a_partition_folder_tell_its_topic_id_and_leader_epochs(
    log_dir: Path,
) -> None:
    storage, notes = LocalStorage(), list[str]()
    entries = {entry.name: entry for entry in storage.list_folder(str(log_dir / "orders-0"))}
    expected = topic_id_text(TOPIC_IDS["orders"])
    reader = SideFileReader(storage, notes)
    assert reader.topic_id(entries) == expected
    assert reader.epochs(entries) == (EpochStart(0, 2), EpochStart(3, 4))
    assert (reader.topic_id({}), reader.epochs({})) == (None, ())
    assert notes == []
