"""What a run says of a window of time, which selects whole batches."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from support.encoder import Partition, Record, Segment, record_batch
from support.lakes import ingested, read_table
from support.made_logs import write_over


def _time(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).isoformat()


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """Two batches of records of the seconds 0, 10 and 20, 30."""
    batches = [
        record_batch(offset, [Record(b"k", b"v", (offset + each) * 10_000) for each in (0, 1)])
        for offset in (0, 2)
    ]
    return write_over(tmp_path / "disk", [Partition("t", 0, [Segment(0, batches)])])


@pytest.mark.parametrize("dry_run", [False, True])
def test_window_of_time_says_what_it_does_not_cut(
    disk: Path, tmp_path: Path, *, dry_run: bool
) -> None:
    select = {"from_timestamp": _time(5), "to_timestamp": _time(25)}
    summary = ingested(disk, tmp_path / "lake", select=select, dry_run=dry_run)
    said = summary.to_text()
    assert "note: --from-timestamp selects whole batches: older records in a" in said
    assert "note: --to-timestamp selects whole batches: the first batch that reaches" in said
    rows = [] if dry_run else read_table(tmp_path / "lake", "records")
    assert sorted(row["offset"] for row in rows) == ([] if dry_run else [0, 1])


def test_nothing_is_said_of_windows_without_one_or_without_news(disk: Path, tmp_path: Path) -> None:
    assert "whole batches" not in ingested(disk, tmp_path / "lake").to_text()
    select = {"from_timestamp": _time(5)}
    assert "whole batches" not in ingested(disk, tmp_path / "lake", select=select).to_text()
