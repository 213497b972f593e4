"""The files of one task: how many are open, and that none is left that cannot be finished."""

import time
from pathlib import Path
from typing import BinaryIO

import pyarrow.parquet as pq
import pytest

from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.replica import PartitionKey
from seglake.lake.tables import GAPS, QUARANTINE
from seglake.log_tables.quarantine_rows import RowStamp, gap_row
from seglake.segment_decoding import table_files
from seglake.segment_decoding.decoded_rows import DecodedRows, Row
from seglake.segment_decoding.table_files import TableFiles
from seglake.segment_decoding.tasks import DecodeSettings
from seglake.storage.errors import OutputError
from seglake.storage.local_storage import LocalStorage
from seglake.storage.storage import FileInfo, Storage

_MIB = 1 << 20


class _FullDisk(LocalStorage):
    """A disk that takes what is buffered, and refuses it when the file is closed."""

    def open_output(self, path: str) -> BinaryIO:
        super().open_output(path).close()
        return Path("/dev/full").open("wb", buffering=_MIB)


class _SlowDisk(LocalStorage):
    """A disk that takes its time to close a file, and counts those that are open."""

    def __init__(self) -> None:
        self.open: set[str] = set()
        self.most_open = 0

    def open_output(self, path: str) -> BinaryIO:
        self.open.add(path)
        self.most_open = max(self.most_open, len(self.open))
        return super().open_output(path)

    def info(self, path: str) -> FileInfo | None:
        time.sleep(0.05)
        self.open.discard(path)
        return super().info(path)


def _table_files(storage: Storage, lake: Path) -> TableFiles:
    settings = DecodeSettings(
        storage=storage,
        lake_path=str(lake),
        source_id="s",
        run_id="r",
        attempt_id="a",
        started_at_us=0,
        reads_aborted=False,
        reads_undecided=False,
        window_bytes=_MIB,
        decoded_bytes=_MIB,
        max_decompressed_batch_bytes=_MIB,
        max_raw_bytes=_MIB,
        target_file_bytes=_MIB,
        compression_level=1,
    )
    return TableFiles(settings)


def _add_gap(files: TableFiles, topic: str) -> None:
    files.begin(topic)
    key, stamp = PartitionKey(topic, 0, None), RowStamp("s", "r", "a")
    row = gap_row(key, 0, 5, GapCause.MISSING, None, stamp)
    files.add(DecodedRows(GAPS, [row]))


def _damaged(offset: int, size_bytes: int) -> Row:
    settled = {"topic": "orders", "partition": 0, "base_offset": offset, "raw": bytes(size_bytes)}
    return tuple(settled.get(name) for name in QUARANTINE.schema.names)


def test_a_file_that_cannot_be_closed_is_deleted(tmp_path: Path) -> None:
    files = _table_files(_FullDisk(), tmp_path)
    _add_gap(files, "orders")
    with pytest.raises(OutputError, match="No space left on device"):
        files.finish()
    files.abandon()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_files_of_many_topics_are_not_open_all_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_files, "_CLOSED_AT_A_TIME", 1)
    monkeypatch.setattr(table_files, "_MOST_WAITING", 3)
    disk = _SlowDisk()
    files = _table_files(disk, tmp_path)
    topics = [f"topic-{number}" for number in range(24)]
    for topic in topics:
        _add_gap(files, topic)
    assert [file.topic for file in files.finish()] == topics
    assert disk.most_open <= 5


def test_small_rows_of_quarantine_share_a_row_group(tmp_path: Path) -> None:
    files = _table_files(LocalStorage(), tmp_path)
    files.begin("orders")
    for offset in range(100):
        files.add(DecodedRows(QUARANTINE, [_damaged(offset, 10)]))
    (small,) = files.finish()
    assert pq.ParquetFile(tmp_path / small.table / small.path).num_row_groups == 1

    files = _table_files(LocalStorage(), tmp_path)
    files.begin("orders")
    for offset in range(20):
        files.add(DecodedRows(QUARANTINE, [_damaged(offset, _MIB)]))
    (large,) = files.finish()
    assert pq.ParquetFile(tmp_path / large.table / large.path).num_row_groups == 3
