"""Control batches with a right checksum whose record no consumer can read: each may be a marker."""

from pathlib import Path

import pytest

from support.encoder import (
    ControlType,
    Header,
    Partition,
    Producer,
    Record,
    Segment,
    end_marker,
    record_batch,
    write_log_dir,
)
from support.encoder.record import EncodedBatch
from support.lakes import ingested, read_table, replayed

_DATA = Header(producer=Producer(7, 0, 0), is_transactional=True)
_CONTROL = Header(producer=Producer(7, 0, -1), is_transactional=True, is_control=True)


def _disk(folder: Path, key: bytes | None, *later: EncodedBatch) -> Path:
    batches = [
        record_batch(0, [Record(b"k", b"v")] * 5, _DATA),
        record_batch(5, [Record(key, b"")], _CONTROL),
        record_batch(6, [Record(b"k", b"w")]),
        *later,
    ]
    write_log_dir(folder, [Partition("t", 0, [Segment(0, batches)])])
    return folder


@pytest.mark.parametrize("key", [b"\0\0", None])
def test_offsets_that_wait_for_an_unreadable_marker_may_wait_for_ever(
    key: bytes | None, tmp_path: Path, lake: Path
) -> None:
    disk = _disk(tmp_path / "disk", key)
    for _ in range(2):
        summary = ingested(disk, lake, isolation="read_committed")
        assert summary.exit_code == 3
        assert "may have ended in damaged or missing bytes (offset 5)" in summary.to_text()


def test_an_unreadable_marker_is_quarantined_once_and_no_replay_fills_it(
    tmp_path: Path, lake: Path
) -> None:
    disk = _disk(tmp_path / "disk", b"\0\0", end_marker(7, ControlType.COMMIT, producer_id=7))
    assert ingested(disk, lake, isolation="read_committed").exit_code == 3
    assert [row["start_offset"] for row in read_table(lake, "gaps")] == [5]
    for _ in range(2):
        assert replayed(lake, disk).to_text().startswith("no gap could be filled")
    assert len(read_table(lake, "gaps")) == len(read_table(lake, "quarantine")) == 1
