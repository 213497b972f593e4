"""The files of one task: what cannot be finished is not left behind."""

from pathlib import Path
from typing import BinaryIO

import pytest

from lake.errors import OutputError
from lake.local_storage import LocalStorage
from pipelines.segment_ingest.decoding.quarantine_rows import GapCause, RowStamp, gap_row
from pipelines.segment_ingest.decoding.table_files import TableFiles
from pipelines.segment_ingest.decoding.tasks import DecodeSettings
from pipelines.segment_ingest.sources.partition_log import PartitionKey

_MIB = 1 << 20


class _FullDisk(LocalStorage):
    """A disk that takes what is buffered, and refuses it when the file is closed."""

    def open_output(self, path: str) -> BinaryIO:
        super().open_output(path).close()
        return Path("/dev/full").open("wb", buffering=_MIB)


def test_a_file_that_cannot_be_closed_is_deleted(tmp_path: Path) -> None:
    settings = DecodeSettings(
        storage=_FullDisk(),
        lake_path=str(tmp_path),
        source_id="s",
        run_id="r",
        attempt_id="a",
        started_at_us=0,
        takes_aborted=False,
        window_bytes=_MIB,
        decoded_bytes=_MIB,
        max_decompressed_batch_bytes=_MIB,
        max_raw_bytes=_MIB,
        target_file_bytes=_MIB,
        compression_level=1,
    )
    files = TableFiles(settings)
    files.begin("orders")
    key, stamp = PartitionKey("orders", 0, None), RowStamp("s", "r", "a")
    files.gap(gap_row(key, 0, 5, GapCause.MISSING, None, stamp))
    with pytest.raises(OutputError, match="No space left on device"):
        files.finish()
    files.abandon()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
