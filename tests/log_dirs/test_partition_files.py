"""Which files of a partition folder are its log, and where the offsets of a segment begin."""

from pathlib import Path

import pytest

from seglake.kafka_log.replica import SegmentFile
from seglake.log_dirs.errors import SourceVanishedError
from seglake.log_dirs.partition_files import PartitionFiles, first_offset_in, partition_files
from seglake.storage.errors import StorageError
from seglake.storage.local_storage import LocalStorage
from seglake.storage.storage import Reader
from support.encoder import EncodedBatch, Record, record_batch

RECORDS = [Record(b"k%d" % n, b"v") for n in range(5)]


def first_offset(folder: Path, *batches: EncodedBatch, cut_bytes: int = 0) -> int:
    data = b"".join(batch.data for batch in batches)[cut_bytes:]
    path = folder / f"{10:020d}.log"
    path.write_bytes(data)
    return first_offset_in(
        LocalStorage(), SegmentFile(10, str(path), path.name, len(data), index_path=None)
    )


def test_a_compacted_segment_begins_above_its_name(tmp_path: Path) -> None:
    batches = [record_batch(start, RECORDS) for start in (10, 20, 40)]
    assert first_offset(tmp_path, *batches) == 10
    assert first_offset(tmp_path, *batches[1:]) == 20
    assert first_offset(tmp_path) == 10


def test_where_the_headers_are_in_doubt_the_name_counts(tmp_path: Path) -> None:
    batches = [record_batch(start, RECORDS) for start in (40, 20, 30)]
    assert first_offset(tmp_path, *batches) == 10  # the first is above those behind it
    assert first_offset(tmp_path, *batches[1:], cut_bytes=1) == 10
    assert first_offset_in(LocalStorage(), SegmentFile(10, "/nowhere", "x", 9, None)) == 10


class NoSwap(LocalStorage):
    """Opens no output of the cleaner."""

    def open_reader(self, path: str) -> Reader:
        if path.endswith(".swap"):
            raise StorageError(action="open", path=path, reason="Input/output error")
        return super().open_reader(path)


def sorted_files(folder: Path, notes: list[str] | None) -> PartitionFiles:
    for name in (f"{0:020d}.log", f"{5:020d}.log", f"{0:020d}.log.swap", "strange"):
        (folder / name).write_bytes(b"")
    storage = NoSwap()
    return partition_files(storage, str(folder), storage.list_folder(str(folder)), notes)


def test_cleaner_output_that_cannot_be_read_is_an_error_or_a_note(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    folder.mkdir()
    with pytest.raises(SourceVanishedError, match="Input/output error"):
        sorted_files(folder, None)
    notes: list[str] = []
    found = sorted_files(folder, notes)
    assert [file.name for file in found.segments] == [
        f"t-0/{0:020d}.log.swap",
        f"t-0/{5:020d}.log",
    ]
    assert found.unknown == ("strange",)
    assert [note.rpartition("; ")[2] for note in notes] == [
        f"it is unknown which segments {0:020d}.log.swap replaces"
    ]
