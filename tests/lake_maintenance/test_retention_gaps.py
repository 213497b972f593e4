"""Gaps when records expire: losses are not forgotten, and erased records hold nothing back."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from seglake.pipelines.lake_maintenance.maintain_summary import MaintainSummary
from support.audits import audited, checked
from support.encoder import Partition, Record, Segment, record_batch
from support.erasures import erased
from support.lakes import ingested, maintained, read_table, replayed
from support.made_logs import write_over
from support.reports import reported
from support.views import viewed

_OLD_MS = 1_600_000_000_000
_NOW_MS = time.time_ns() // 1_000_000
_BATCH = 5


def _disk(folder: Path, times: Sequence[int]) -> Path:
    """A log dir whose records have these times; five records are a batch, and one segment."""
    records = [Record(b"k", b"v", time_ms) for time_ms in times]
    segments = [
        Segment(start, [record_batch(start, records[start : start + _BATCH])])
        for start in range(0, len(records), _BATCH)
    ]
    return write_over(folder / "disk", [Partition("orders", 0, segments)])


def _expired(lake: Path, *, dry_run: bool = False) -> MaintainSummary:
    return maintained(lake, dry_run=dry_run, retention={"records": "400d"})


def _offsets(lake: Path) -> list[int]:
    return sorted(row["offset"] for row in read_table(lake, "records"))


def _assert_whole(lake: Path, disk: Path) -> None:
    audit = audited(lake)
    assert (audit.exit_code, audit.problem_count) == (0, 0)
    assert not any(check.has_problem for check in checked(disk, lake))


def test_offsets_that_were_lost_before_they_expired_are_named_so(tmp_path: Path) -> None:
    ages = [_OLD_MS] * 15 + [_NOW_MS] * 5
    disk, lake = _disk(tmp_path, ages), tmp_path / "lake"
    for start in (5, 10):
        path = disk / "orders-0" / f"{start:020d}.log"
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    ingested(disk, lake)
    _disk(tmp_path, ages)
    path = disk / "orders-0" / f"{5:020d}.log"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    ingested(disk, lake)  # fills [10, 15)
    planned = _expired(lake, dry_run=True)
    assert "offsets [0, 15), among them 5 offsets lost before, the oldest" in planned.to_text()
    assert _expired(lake).expired == planned.expired
    for recovery in (audited(lake).recovery, reported(lake).recovery):
        assert recovery.lines() == [
            "no loss: 10 offsets expired (retention of the lake)",
            "expired: 5 offsets that had been lost before they expired",
        ]
        assert recovery.to_mapping()["no_loss"] == {"expired": 10, "expired_loss": 5}
    _assert_whole(lake, disk)
    query = "SELECT start_offset, next_offset, detail FROM current_gaps WHERE cause = 'expired'"
    assert sorted(tuple(row.values()) for row in viewed(lake, query)) == [
        (0, 5, None),
        (5, 10, "quarantined"),
        (10, 15, None),
    ]


@pytest.mark.parametrize("is_before", [False, True])
def test_erased_records_on_both_sides_of_a_batch_s_edge_hold_nothing_back(
    tmp_path: Path, *, is_before: bool
) -> None:
    records = [
        Record(b"ann" if offset in (4, 5) else b"bob", b"v", _OLD_MS if offset < 5 else _NOW_MS)
        for offset in range(10)
    ]
    batches = [record_batch(start, records[start : start + _BATCH]) for start in (0, 5)]
    other = Partition("orders", 1, [Segment(0, [record_batch(0, records[-1:])])])
    lake = tmp_path / "lake"
    if is_before:  # the rule is applied while both batches are decoded
        ingested(write_over(tmp_path / "disk", [other]), lake)
        erased(lake, key="ann")
    partitions = [Partition("orders", 0, [Segment(0, batches)]), other]
    disk = write_over(tmp_path / "disk", partitions)
    ingested(disk, lake)
    erased(lake, key="ann")
    [expired] = _expired(lake).expired
    assert (expired.next_offset, _offsets(lake)) == (5, [0, 6, 7, 8, 9])
    _assert_whole(lake, disk)


def test_offsets_that_no_run_has_ingested_below_the_start_stay_out(tmp_path: Path) -> None:
    disk = _disk(tmp_path, [_OLD_MS - 1000] * 5 + [_OLD_MS] * 5 + [_NOW_MS] * 5)
    lake, since = tmp_path / "lake", datetime.fromtimestamp(_OLD_MS / 1000, UTC)
    ingested(disk, lake, select={"from_timestamp": since})
    assert _offsets(lake) == [*range(5, 15)]
    _expired(lake)
    ingested(disk, lake, read={"older_copies": True})
    replayed(lake, disk)
    assert _offsets(lake) == [*range(10, 15)]
    _assert_whole(lake, disk)
