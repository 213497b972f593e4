"""Runs after one another take what is new, once, whatever happened to the disks between them."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from support import broker_disks
from support.accounts import imbalances_of
from support.cases import cases, every
from support.encoder import Partition, Record, Segment, record_batch
from support.found import NOT_INGESTED_YET
from support.lakes import Row, content, ingested, ingested_in_pieces, versions
from support.made_logs import FIRST_MS, made_records, made_segments, make_log_dir, write_over
from support.taken import (
    gaps_taken,
    is_nothing_new,
    ledger,
    offsets_taken,
    ranges_taken,
    records_taken,
)

_ORDERS = ("orders", 0)
_COMMITTED, _UNCOMMITTED = "read_committed", "read_uncommitted"


def test_a_growing_log_is_taken_piece_by_piece(data: Path, lake: Path) -> None:
    disks: list[dict[tuple[str, int], list[int]]] = [
        {_ORDERS: [0, 10]},
        {_ORDERS: [0, 10, 25]},
        {_ORDERS: [0, 10, 30], ("payments", 0): [0, 4]},
        {_ORDERS: [0, 10, 30], ("payments", 0): [0, 4], ("orders", 1): [0, 7]},
        {_ORDERS: [30, 45], ("payments", 0): [0, 4], ("orders", 1): [0, 7]},
    ]
    everything: dict[tuple[str, int], range] = {}
    for edges in disks:
        ends = {key: range(stops[-1]) for key, stops in edges.items()}
        new = sum(len(end) - len(everything.get(key, ())) for key, end in ends.items())
        everything |= ends
        make_log_dir(data, edges)
        assert ingested(data, lake).records == new
        assert records_taken(lake) == made_records(everything)
        before = versions(lake)
        assert is_nothing_new(ingested(data, lake))
        assert versions(lake) == before
        assert imbalances_of(lake) == []
    assert gaps_taken(lake) == []


def test_each_run_covers_what_follows_the_range_before(data: Path, lake: Path) -> None:
    for end in (5, 15, 25):
        make_log_dir(data, {_ORDERS: [0, end]})
        ingested(data, lake)
    assert ranges_taken(lake) == [(0, 5), (5, 15), (15, 25)]
    assert [row["generation"] for row in sorted(ledger(lake), key=_start)] == [1, 2, 3]
    assert len({row["attempt_id"] for row in ledger(lake)}) == 3


def _start(row: Row) -> int:
    return int(row["start_offset"])


def test_a_high_watermark_inside_a_batch_leaves_the_batch_for_later(data: Path, lake: Path) -> None:
    taken_before = 0
    for high_watermark, taken in ((3, 0), (7, 5), (9, 5), (10, 10), (12, 10), (20, 20)):
        make_log_dir(data, {_ORDERS: [0, 20]}, high_watermarks={_ORDERS: high_watermark})
        summary = ingested(data, lake)
        assert offsets_taken(lake) == list(range(taken))
        left = [waiting.ranges[0][0] for waiting in summary.findings.of(*NOT_INGESTED_YET)]
        assert left == ([high_watermark] if high_watermark < 20 else [])
        assert bool(summary.topics) == (taken > taken_before)
        taken_before = taken
    assert imbalances_of(lake) == []


def test_old_segments_that_go_leave_what_was_taken(data: Path, lake: Path) -> None:
    make_log_dir(data, {_ORDERS: [0, 10, 20, 30]})
    ingested(data, lake)
    make_log_dir(data, {_ORDERS: [20, 30]})
    assert is_nothing_new(ingested(data, lake))
    assert offsets_taken(lake) == list(range(30))


def test_segments_that_went_before_a_run_came_are_a_gap_below_the_log_start(
    data: Path, lake: Path
) -> None:
    make_log_dir(data, {_ORDERS: [0, 10]})
    ingested(data, lake)
    make_log_dir(data, {_ORDERS: [25, 40]})
    ingested(data, lake)
    assert offsets_taken(lake) == [*range(10), *range(25, 40)]
    assert gaps_taken(lake) == [(10, 25, "deleted")]
    assert ranges_taken(lake) == [(0, 10), (10, 40)]
    assert imbalances_of(lake) == []


def test_a_log_start_inside_a_batch_cuts_it_record_by_record(data: Path, lake: Path) -> None:
    segments = made_segments("orders", 0, [0, 20])
    write_over(data, [Partition("orders", 0, segments, log_start_offset=7)])
    ingested(data, lake)
    assert offsets_taken(lake) == list(range(7, 20))
    assert imbalances_of(lake) == []
    (row,) = ledger(lake)
    assert (row["start_offset"], row["next_offset"], row["log_start_offset"]) == (0, 20, 7)
    write_over(data, [Partition("orders", 0, segments, log_start_offset=13)])
    assert is_nothing_new(ingested(data, lake))


def test_a_log_start_that_moves_beyond_what_was_taken_is_a_gap(data: Path, lake: Path) -> None:
    write_over(data, [Partition("orders", 0, made_segments("orders", 0, [0, 10]))])
    ingested(data, lake)
    segments = made_segments("orders", 0, [0, 30])
    write_over(data, [Partition("orders", 0, segments, log_start_offset=18)])
    ingested(data, lake)
    assert offsets_taken(lake) == [*range(10), *range(18, 30)]
    assert imbalances_of(lake) == []


_CUT_DISKS = [
    ("04_upgraded", "stopped", _UNCOMMITTED),
    ("05_compacted", "before", _COMMITTED),
    ("06_transactions", "stopped", _COMMITTED),
    ("07_delete_records", "stopped", _UNCOMMITTED),
    ("13_legacy_in_4x", "before", _UNCOMMITTED),
]


@pytest.mark.parametrize(
    ("scenario", "copy", "isolation"), cases(_CUT_DISKS, telling=every(2, _CUT_DISKS[2:]))
)
def test_a_real_disk_that_grows_segment_by_segment_gives_the_tables_of_the_whole(
    scenario: str, copy: str, isolation: str, data: Path, lake: Path, tmp_path: Path
) -> None:
    whole = broker_disks.log_dir(scenario, copy)
    ingested(whole, tmp_path / "at_once", isolation=isolation)
    records = 0
    for segments in (1, 2, 4):
        _cut(whole, data, segments)
        records += ingested(data, lake, isolation=isolation).records
    assert ingested(whole, lake, isolation=isolation).exit_code == 0
    assert records
    for table in ("records", "batches", "gaps", "quarantine"):
        assert content(lake, table) == content(tmp_path / "at_once", table), table
    assert imbalances_of(lake) == []


def _cut(whole: Path, data: Path, segments: int) -> None:
    """A copy of a log dir as it was when each log had so many segments."""
    shutil.rmtree(data, ignore_errors=True)
    shutil.copytree(whole, data)
    ends: dict[str, int] = {}
    for folder in data.iterdir():
        bases = sorted(int(path.stem) for path in folder.glob("*.log")) if folder.is_dir() else []
        for path in folder.iterdir() if len(bases) > segments else []:
            base = re.match(r"(\d{20})\.", path.name)
            if base is not None and int(base[1]) >= bases[segments]:
                path.unlink()
        if len(bases) > segments:
            ends[folder.name] = bases[segments]
    for name in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
        _lower(data / name, ends)


def _lower(path: Path, ends: Mapping[str, int]) -> None:
    version, count, *lines = path.read_text().splitlines()
    lowered = []
    for line in lines:
        topic, partition, offset = line.split(" ")
        end = ends.get(f"{topic}-{partition}", int(offset))
        lowered.append(f"{topic} {partition} {min(int(offset), end)}")
    path.write_text("".join(f"{line}\n" for line in (version, count, *lowered)))


@pytest.mark.parametrize("has_remote_tier", [True, False], ids=["remote", "old_entry"])
def test_what_lies_below_the_first_segment_is_remote_only_where_there_is_a_remote_tier(
    has_remote_tier: bool, data: Path, lake: Path
) -> None:
    segments = made_segments("orders", 0, [20, 40])
    epochs = [(0, 0 if has_remote_tier else 20)]
    written = Partition("orders", 0, segments, log_start_offset=5, leader_epochs=epochs)
    write_over(data, [written])
    if has_remote_tier:
        (data / "remote-log-index-cache").mkdir()
    ingested(data, lake)
    remote = [(0, 5, "deleted"), (5, 20, "remote")]
    assert gaps_taken(lake) == (remote if has_remote_tier else [(0, 20, "deleted")])
    assert imbalances_of(lake) == []


def test_the_ledger_is_the_same_of_a_log_in_one_piece_and_in_many(data: Path, lake: Path) -> None:
    """The times are in no order, so the oldest and the newest are those of pieces in the middle."""
    seconds = (5, 1, 9, 3, 7)
    batches = [
        record_batch(offset, [Record(b"k", b"v", FIRST_MS + 1000 * second)])
        for offset, second in enumerate(seconds)
    ]
    write_over(data, [Partition("orders", 0, [Segment(0, batches)])])
    whole = data.with_name("whole")
    ingested(data, whole)
    ingested_in_pieces(data, lake, _UNCOMMITTED, split_bytes=1, wave_bytes=1 << 30)
    assert content(lake, "checkpoints") == content(whole, "checkpoints")
    (row,) = ledger(lake)
    assert (row["min_timestamp_ms"], row["max_timestamp_ms"]) == (FIRST_MS + 1000, FIRST_MS + 9000)
    assert row["last_batch_base_offset"] == 4
