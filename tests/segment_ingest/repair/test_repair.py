"""What is damaged or missing on one disk is taken from another: in the same run, or in a later."""

import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from support import broker_disks
from support.accounts import StandingGap, imbalances_of, standing_gaps
from support.cases import cases
from support.lakes import ingested, ingested_in_pieces, oracle_record, read_table, versions
from support.made_logs import Made, made_records, make_log_dir
from support.meanwhile import Meanwhile, once
from support.oracle import expected_records

_SCENARIO, _COPY = "08_replicas", "healed"
_BROKERS = ("broker0", "broker1", "broker2")
_PARTITIONS = (0, 1, 2)
_ORDERS = ("orders", 0)


class _Batch:
    """Where a batch of a log dir lies, read from the bytes alone."""

    def __init__(self, log: Path, position: int, size_bytes: int, first: int, last: int) -> None:
        self.log, self.position, self.size_bytes = log, position, size_bytes
        self.first_offset, self.next_offset = first, last + 1

    def damage(self) -> None:
        """Change its last byte, which its checksum covers."""
        content = bytearray(self.log.read_bytes())
        content[self.position + self.size_bytes - 1] ^= 0xFF
        self.log.write_bytes(content)


def _batches(folder: Path) -> list[_Batch]:
    found = []
    for log in sorted(folder.glob("*.log")):
        content, position = log.read_bytes(), 0
        while position < len(content):
            base, length = struct.unpack_from(">qi", content, position)
            (last_delta,) = struct.unpack_from(">i", content, position + 23)
            found.append(_Batch(log, position, 12 + length, base, base + last_delta))
            position += 12 + length
    return found


def _disks(target: Path) -> Path:
    shutil.copytree(broker_disks.unpacked(_SCENARIO) / "disks" / _COPY, target)
    return target


def _found(lake: Path, partition: int) -> list[object]:
    rows = [row for row in read_table(lake, "records") if row["partition"] == partition]
    return [oracle_record(row) for row in sorted(rows, key=lambda row: row["offset"])]


def _made(lake: Path) -> list[Made]:
    rows = read_table(lake, "records")
    return sorted(Made(row["topic"], row["partition"], row["offset"], row["value"]) for row in rows)


def _is_complete(lake: Path) -> bool:
    return all(
        _found(lake, partition) == expected_records(_SCENARIO, _COPY, "rep", partition)
        for partition in _PARTITIONS
    )


def _resolutions(lake: Path) -> list[str]:
    return sorted(str(row["resolution"]) for row in read_table(lake, "quarantine"))


def _repairs(lake: Path) -> list[tuple[int, int, int]]:
    rows = [row for row in read_table(lake, "checkpoints") if row["kind"] == "repair"]
    return sorted((row["start_offset"], row["next_offset"], row["records"]) for row in rows)


_MOST_BATCHES = max(
    len(_batches(broker_disks.log_dir(_SCENARIO, _COPY) / f"rep-{partition}"))
    for partition in _PARTITIONS
)


@pytest.mark.parametrize("broker", _BROKERS)
@pytest.mark.parametrize("index", cases(range(_MOST_BATCHES), telling=[0, _MOST_BATCHES // 2]))
def test_every_damaged_batch_is_taken_from_a_sibling_and_is_a_gap_without_one(
    tmp_path: Path, broker: str, index: int
) -> None:
    source = _disks(tmp_path / "disks")
    hit: list[tuple[int, _Batch]] = []
    for partition in _PARTITIONS:
        batches = _batches(source / broker / "data" / f"rep-{partition}")
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
    for batch in _batches(source / "broker1" / "data" / "rep-0")[1:3]:
        batch.damage()
    lake = tmp_path / "lake"
    assert ingested(source / "broker1", lake).counts.quarantined == 2
    before = versions(lake)
    summary = ingested(source / "broker1", lake)
    assert versions(lake) == before
    summary = ingested(source / "broker0", lake)
    assert (summary.exit_code, summary.counts.repaired_gaps) == (0, 1)
    assert "filled from another replica" in summary.to_text()
    assert _is_complete(lake)
    assert _resolutions(lake) == ["None", "None", "sibling", "sibling"]
    assert imbalances_of(lake) == []
    after = versions(lake)
    ingested(source, lake)
    assert versions(lake) == after


def test_repair_that_another_run_has_just_made_leaves_nothing_to_do(tmp_path: Path) -> None:
    source = _disks(tmp_path / "disks")
    _batches(source / "broker1" / "data" / "rep-0")[1].damage()
    lake = tmp_path / "lake"
    ingested(source / "broker1", lake)
    other_run = once(lambda: ingested(source / "broker2", lake))
    summary = ingested(source / "broker0", lake, engine=Meanwhile(other_run))
    assert (summary.exit_code, summary.counts.repaired_gaps, summary.left_out) == (0, 0, {})
    assert _is_complete(lake)
    assert imbalances_of(lake) == []


def test_dry_run_says_what_a_copy_would_fill_and_writes_nothing(tmp_path: Path) -> None:
    source = _disks(tmp_path / "disks")
    batch = _batches(source / "broker1" / "data" / "rep-0")[1]
    batch.damage()
    lake = tmp_path / "lake"
    ingested(source / "broker1", lake)
    before = versions(lake)
    summary = ingested(source / "broker0", lake, dry_run=True)
    count = batch.next_offset - batch.first_offset
    assert (summary.planned.planned_repairs, summary.planned.planned_repair_offsets) == (1, count)
    assert f"would be filled from another replica: {count} offsets in 1 gap" in summary.to_text()
    assert versions(lake) == before
    assert ingested(source / "broker1", lake, dry_run=True).planned.planned_repairs == 0


def test_rows_of_a_sibling_name_its_broker(tmp_path: Path) -> None:
    source = _disks(tmp_path / "disks")
    batch = _batches(source / "broker1" / "data" / "rep-1")[0]
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
    assert _made(lake) == made_records({_ORDERS: range(60)})
    assert standing_gaps(lake) == []
    assert imbalances_of(lake) == []


def test_two_copies_damaged_in_different_places_make_a_whole(tmp_path: Path) -> None:
    edges = {_ORDERS: [0, 20, 40, 60]}
    disks = [make_log_dir(tmp_path / name, edges, broker_id=int(name)) for name in "123"]
    for disk, hit in zip(disks, ((2, 3, 4), (3,), (2, 4)), strict=True):
        for index in hit:
            _batches(disk / "orders-0")[index].damage()
    lake = tmp_path / "lake"
    ingested(disks[0], lake)
    assert standing_gaps(lake) == [StandingGap("orders", 0, 10, 25, "quarantined")]
    ingested(disks[1], lake)
    assert standing_gaps(lake) == [StandingGap("orders", 0, 15, 20, "quarantined")]
    assert _resolutions(lake) == ["None"] * 3  # they tell of the one that is missing still
    assert imbalances_of(lake) == []
    ingested(disks[2], lake)
    assert standing_gaps(lake) == []
    assert _made(lake) == made_records({_ORDERS: range(60)})
    assert _repairs(lake) == [(10, 25, 10), (15, 20, 5)]
    assert _resolutions(lake) == ["None"] * 3 + ["sibling"] * 3
    assert imbalances_of(lake) == []


def test_damage_with_holes_in_two_waves_is_resolved_by_the_last_of_them(tmp_path: Path) -> None:
    edges = {_ORDERS: [0, 20, 40, 60]}
    disks = [make_log_dir(tmp_path / name, edges, broker_id=int(name)) for name in "123"]
    for disk, hit in zip(disks, ((2, 3, 4), (2, 4), ()), strict=True):
        for index in hit:
            _batches(disk / "orders-0")[index].damage()
    lake = tmp_path / "lake"
    ingested(disks[0], lake)
    ingested(disks[1], lake)
    assert [(gap.start_offset, gap.next_offset) for gap in standing_gaps(lake)] == [
        (10, 15),
        (20, 25),
    ]
    ingested_in_pieces(disks[2], lake, "read_uncommitted", split_bytes=1, wave_bytes=1)
    assert standing_gaps(lake) == []
    assert _resolutions(lake) == ["None"] * 3 + ["sibling"] * 3
    assert imbalances_of(lake) == []


def test_damage_stands_for_a_gap_until_all_of_it_is_filled(tmp_path: Path) -> None:
    edges = {_ORDERS: [0, 20, 40, 60]}
    one = make_log_dir(tmp_path / "one", edges, broker_id=1)
    two = make_log_dir(tmp_path / "two", edges, broker_id=2)
    (one / "orders-0" / f"{20:020}.log").unlink()
    _batches(one / "orders-0")[4].damage()
    _batches(two / "orders-0")[4].damage()
    lake = tmp_path / "lake"
    ingested(one, lake)
    assert standing_gaps(lake) == [StandingGap("orders", 0, 20, 45, "quarantined")]
    ingested(two, lake)
    assert standing_gaps(lake) == [StandingGap("orders", 0, 20, 25, "quarantined")]
    assert _resolutions(lake) == ["None"]
    assert imbalances_of(lake) == []


def test_log_that_was_damaged_all_over_is_resolved_when_all_of_it_came(tmp_path: Path) -> None:
    one, two = (
        make_log_dir(tmp_path / name, {_ORDERS: [0, 15]}, broker_id=int(name)) for name in "12"
    )
    for batch in _batches(one / "orders-0"):
        batch.damage()
    lake = tmp_path / "lake"
    ingested(one, lake)
    assert standing_gaps(lake) == [StandingGap("orders", 0, 0, 15, "quarantined")]
    ingested(two, lake)
    assert _resolutions(lake) == ["None"] * 3 + ["sibling"] * 3
    assert imbalances_of(lake) == []


@pytest.mark.parametrize("last_hit", [(2, 4), (4,)], ids=["apart", "overlapping"])
def test_two_siblings_at_once_fill_one_gap(tmp_path: Path, last_hit: tuple[int, ...]) -> None:
    edges = {_ORDERS: [0, 60]}
    disks = [make_log_dir(tmp_path / name, edges, broker_id=int(name)) for name in "123"]
    for disk, hit in zip(disks, ((2, 3, 4), (3,), last_hit), strict=True):
        for index in hit:
            _batches(disk / "orders-0")[index].damage()
    lake = tmp_path / "lake"
    ingested(disks, lake)
    assert _made(lake) == made_records({_ORDERS: range(60)})
    assert standing_gaps(lake) == []
    assert imbalances_of(lake) == []


def test_copy_of_another_lineage_fills_nothing(tmp_path: Path) -> None:
    edges = {_ORDERS: [0, 20, 40]}
    one = make_log_dir(tmp_path / "one", edges, broker_id=1)
    two = make_log_dir(tmp_path / "two", edges, broker_id=2)
    _with_epochs(one, {0: 3})
    _with_epochs(two, {0: 3, 10: 5})
    _batches(one / "orders-0")[4].damage()
    lake = tmp_path / "lake"
    ingested(one, lake)
    summary = ingested(two, lake)
    assert summary.counts.repaired_gaps == 0
    assert any("gaps from offset 10 on are not filled" in note for note in summary.notes)
    assert standing_gaps(lake) == [StandingGap("orders", 0, 20, 25, "quarantined")]


def _with_epochs(log_dir: Path, starts: dict[int, int]) -> None:
    """Stamp leader epochs into batches, which no checksum covers, and into the checkpoint."""
    for batch in _batches(log_dir / "orders-0"):
        epoch = [value for start, value in starts.items() if start <= batch.first_offset][-1]
        content = bytearray(batch.log.read_bytes())
        struct.pack_into(">i", content, batch.position + 12, epoch)
        batch.log.write_bytes(content)
    lines = ["0", str(len(starts)), *(f"{epoch} {start}" for start, epoch in starts.items())]
    text = "\n".join(lines) + "\n"
    (log_dir / "orders-0" / "leader-epoch-checkpoint").write_text(text, encoding="ascii")


_STEPS = ["redo", "records", "batches", "quarantine", "gaps", "checkpoints"]


@pytest.mark.parametrize("step", _STEPS)
def test_repair_that_dies_in_its_commit_is_completed_once(tmp_path: Path, step: str) -> None:
    edges = {_ORDERS: [0, 20, 40]}
    one = make_log_dir(tmp_path / "one", edges, broker_id=1)
    two = make_log_dir(tmp_path / "two", edges, broker_id=2)
    _batches(one / "orders-0")[1].damage()
    lake = tmp_path / "lake"
    ingested(one, lake)
    with pytest.raises(_DiedError):
        ingested([one, two], lake, after=_dies_at(step))
    ingested([one, two], lake)
    assert _made(lake) == made_records({_ORDERS: range(40)})
    assert standing_gaps(lake) == []
    assert _resolutions(lake) == ["None", "sibling"]
    assert imbalances_of(lake) == []


class _DiedError(Exception):
    """Stands for a kill."""


def _dies_at(step: str) -> Callable[[str], None]:
    def after(done: str) -> None:
        if done == step:
            raise _DiedError

    return after
