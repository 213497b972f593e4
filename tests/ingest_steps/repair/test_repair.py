"""What is damaged or missing on one disk is taken from another: in the same run, or in a later."""

import shutil
from pathlib import Path

import pytest

from support import broker_disks
from support.accounts import StandingGap, imbalances_of, standing_gaps
from support.cases import cases, every
from support.damaged_replicas import LogBatch, batches_in, made_rows, resolutions_in
from support.dying import Died, dying
from support.lakes import ingested, oracle_record, read_table, row_versions
from support.made_logs import made_records, make_log_dir
from support.meanwhile import Meanwhile, once
from support.oracle import expected_records

_SCENARIO, _COPY = "08_replicas", "healed"
_BROKERS = ("broker0", "broker1", "broker2")
_PARTITIONS = (0, 1, 2)
_ORDERS = ("orders", 0)


def _disks(target: Path) -> Path:
    shutil.copytree(broker_disks.unpacked(_SCENARIO) / "disks" / _COPY, target)
    return target


def _found(lake: Path, partition: int) -> list[object]:
    rows = [row for row in read_table(lake, "records") if row["partition"] == partition]
    return [oracle_record(row) for row in sorted(rows, key=lambda row: row["offset"])]


def _is_complete(lake: Path) -> bool:
    return all(
        _found(lake, partition) == expected_records(_SCENARIO, _COPY, "rep", partition)
        for partition in _PARTITIONS
    )


def _repairs(lake: Path) -> list[tuple[int, int, int]]:
    rows = [row for row in read_table(lake, "checkpoints") if row["kind"] == "repair"]
    return sorted((row["start_offset"], row["next_offset"], row["records"]) for row in rows)


_MOST_BATCHES = max(
    len(batches_in(broker_disks.log_dir(_SCENARIO, _COPY) / f"rep-{partition}"))
    for partition in _PARTITIONS
)


@pytest.mark.parametrize("broker", _BROKERS)
@pytest.mark.parametrize("index", cases(range(_MOST_BATCHES), telling=[0, _MOST_BATCHES // 2]))
def test_every_damaged_batch_is_taken_from_a_sibling_and_is_a_gap_without_one(
    tmp_path: Path, broker: str, index: int
) -> None:
    source = _disks(tmp_path / "disks")
    hit: list[tuple[int, LogBatch]] = []
    for partition in _PARTITIONS:
        batches = batches_in(source / broker / "data" / f"rep-{partition}")
        if index < len(batches):
            batches[index].damage()
            hit.append((partition, batches[index]))
    ingested(source / broker, tmp_path / "alone")
    assert standing_gaps(tmp_path / "alone") == [
        StandingGap("rep", partition, batch.first_offset, batch.next_offset, "quarantined")
        for partition, batch in hit
    ]
    lake = tmp_path / "together"
    ingested(source, lake)
    assert _is_complete(lake)
    assert standing_gaps(lake) == []
    assert imbalances_of(lake) == []


def test_replica_of_a_later_run_fills_what_was_damaged_and_a_rerun_does_nothing(
    tmp_path: Path,
) -> None:
    source = _disks(tmp_path / "disks")
    for batch in batches_in(source / "broker1" / "data" / "rep-0")[1:3]:
        batch.damage()
    lake = tmp_path / "lake"
    assert ingested(source / "broker1", lake).counts.quarantined == 2
    before = row_versions(lake)
    summary = ingested(source / "broker1", lake)
    assert row_versions(lake) == before
    summary = ingested(source / "broker0", lake)
    assert (summary.exit_code, summary.counts.repaired_gaps) == (0, 1)
    assert "filled from these sources" in summary.to_text()
    assert _is_complete(lake)
    assert resolutions_in(lake) == ["None", "None", "sibling", "sibling"]
    assert imbalances_of(lake) == []
    after = row_versions(lake)
    ingested(source, lake)
    assert row_versions(lake) == after


def test_repair_that_another_run_has_just_made_leaves_nothing_to_do(tmp_path: Path) -> None:
    source = _disks(tmp_path / "disks")
    batches_in(source / "broker1" / "data" / "rep-0")[1].damage()
    lake = tmp_path / "lake"
    ingested(source / "broker1", lake)
    other_run = once(lambda: ingested(source / "broker2", lake))
    summary = ingested(source / "broker0", lake, engine=Meanwhile(other_run))
    assert (summary.exit_code, summary.counts.repaired_gaps, summary.left_out) == (0, 0, {})
    assert _is_complete(lake)
    assert imbalances_of(lake) == []


def test_dry_run_says_what_a_copy_would_fill_and_writes_nothing(tmp_path: Path) -> None:
    source = _disks(tmp_path / "disks")
    batch = batches_in(source / "broker1" / "data" / "rep-0")[1]
    batch.damage()
    lake = tmp_path / "lake"
    ingested(source / "broker1", lake)
    before = row_versions(lake)
    summary = ingested(source / "broker0", lake, dry_run=True)
    count = batch.next_offset - batch.first_offset
    assert (summary.planned.planned_repairs, summary.planned.planned_repair_offsets) == (1, count)
    assert f"would be filled from these sources: {count} offsets in 1 gap" in summary.to_text()
    assert row_versions(lake) == before
    assert ingested(source / "broker1", lake, dry_run=True).planned.planned_repairs == 0


def test_rows_of_a_sibling_name_its_broker(tmp_path: Path) -> None:
    source = _disks(tmp_path / "disks")
    batch = batches_in(source / "broker1" / "data" / "rep-1")[0]
    batch.damage()
    lake = tmp_path / "lake"
    ingested(source / "broker1", lake)
    ingested(source / "broker2", lake)
    rows = [row for row in read_table(lake, "batches") if row["partition"] == 1]
    brokers = {row["base_offset"]: row["broker_id"] for row in rows}
    assert brokers.pop(batch.first_offset) == 2
    assert set(brokers.values()) == {1}


def test_segment_that_is_missing_comes_from_the_sibling(tmp_path: Path) -> None:
    edges = {_ORDERS: [0, 20, 40, 60]}
    one = make_log_dir(tmp_path / "one", edges, broker_id=1)
    two = make_log_dir(tmp_path / "two", edges, broker_id=2)
    (one / "orders-0" / f"{20:020}.log").unlink()
    lake = tmp_path / "lake"
    ingested(one, lake)
    assert standing_gaps(lake) == [StandingGap("orders", 0, 20, 40, "missing")]
    ingested(two, lake)
    assert made_rows(lake) == made_records({_ORDERS: range(60)})
    assert standing_gaps(lake) == []
    assert imbalances_of(lake) == []


def test_two_copies_damaged_in_different_places_make_a_whole(tmp_path: Path) -> None:
    edges = {_ORDERS: [0, 20, 40, 60]}
    disks = [make_log_dir(tmp_path / name, edges, broker_id=int(name)) for name in "123"]
    for disk, hit in zip(disks, ((2, 3, 4), (3,), (2, 4)), strict=True):
        for index in hit:
            batches_in(disk / "orders-0")[index].damage()
    lake = tmp_path / "lake"
    ingested(disks[0], lake)
    assert standing_gaps(lake) == [StandingGap("orders", 0, 10, 25, "quarantined")]
    ingested(disks[1], lake)
    assert standing_gaps(lake) == [StandingGap("orders", 0, 15, 20, "quarantined")]
    assert resolutions_in(lake) == ["None"] * 3  # they tell of the one that is missing still
    assert imbalances_of(lake) == []
    ingested(disks[2], lake)
    assert standing_gaps(lake) == []
    assert made_rows(lake) == made_records({_ORDERS: range(60)})
    assert _repairs(lake) == [(10, 25, 10), (15, 20, 5)]
    assert resolutions_in(lake) == ["None"] * 3 + ["sibling"] * 3
    assert imbalances_of(lake) == []


_STEPS = ["redo", "records", "batches", "quarantine", "gaps", "checkpoints"]


@pytest.mark.parametrize("step", cases(_STEPS, telling=every(2, _STEPS[1:])))
def test_repair_that_dies_in_its_commit_is_completed_once(tmp_path: Path, step: str) -> None:
    edges = {_ORDERS: [0, 20, 40]}
    one = make_log_dir(tmp_path / "one", edges, broker_id=1)
    two = make_log_dir(tmp_path / "two", edges, broker_id=2)
    batches_in(one / "orders-0")[1].damage()
    lake = tmp_path / "lake"
    ingested(one, lake)
    with pytest.raises(Died):
        ingested([one, two], lake, after=dying(step))
    ingested([one, two], lake)
    assert made_rows(lake) == made_records({_ORDERS: range(40)})
    assert standing_gaps(lake) == []
    assert resolutions_in(lake) == ["None", "sibling"]
    assert imbalances_of(lake) == []
