"""Copies that contradict each other: one log is taken, the other's batches are listed."""

import hashlib
from pathlib import Path

import pytest

from seglake.findings.kinds import FindingKind
from support import broker_disks
from support.accounts import imbalances_of
from support.cases import cases
from support.conflicting_logs import (
    conflict_rows,
    numbered_values,
    orders_partition,
    places_of,
    segment_of,
    two_copies,
)
from support.dumps import DumpBatch
from support.dying import Died, dying
from support.found import NOT_INGESTED_YET, conflicts
from support.lakes import Row, ingested, ingested_in_pieces, oracle_record, read_table, versions
from support.made_logs import write_over
from support.oracle import expected_records, partition_dump
from support.taken import is_nothing_new, offsets_taken, ranges_taken

_SCENARIO = "08_replicas"
_BROKERS = ("broker0", "broker1", "broker2")
_PARTITIONS = (0, 1, 2)
_ELECTION = {0: 169, 1: 96, 2: 80}  # where the epochs of "diverged" part
_COVERED = {0: 188, 1: 133, 2: 105}  # broker 2, which won
_LOST_END = {0: 234, 1: 145, 2: 111}


def _disks(copy: str, *brokers: str) -> list[Path]:
    return [broker_disks.log_dir(_SCENARIO, copy, broker) for broker in brokers or _BROKERS]


def _found(lake: Path, partition: int) -> list[object]:
    rows = [row for row in read_table(lake, "records") if row["partition"] == partition]
    return [oracle_record(row) for row in sorted(rows, key=lambda row: row["offset"])]


def _dumped(copy: str, broker: str, partition: int, offsets: range) -> list[DumpBatch]:
    dump = partition_dump(_SCENARIO, copy, "rep", partition, broker)
    logs = [batch for batch in dump.batches if batch.file_name.endswith(".log")]
    return [log for log in logs if log.base_offset in offsets]


def _as_dumped(row: Row) -> tuple[object, ...]:
    name, *facts = (
        Path(row["segment"]).name,
        row["position"],
        row["length_bytes"],
        row["base_offset"],
        row["last_offset"],
        row["record_count"],
        row["magic"],
        row["codec"],
        row["expected_crc"],
    )
    assert row["expected_crc"] == row["computed_crc"]
    return (name, *facts)


def _facts(batch: DumpBatch) -> tuple[object, ...]:
    return (
        batch.file_name,
        batch.position,
        batch.size_bytes,
        batch.base_offset,
        batch.last_offset,
        batch.record_count,
        batch.magic,
        batch.codec,
        batch.crc,
    )


# --- an unclean election, by real brokers -------------------------------------------------------


def test_tails_that_lost_an_election_are_listed_batch_by_batch(lake: Path) -> None:
    summary = ingested(_disks("diverged"), lake)
    for partition in _PARTITIONS:
        assert _found(lake, partition) == expected_records(_SCENARIO, "diverged", "rep", partition)
        for broker_id in (0, 1):
            lost = range(_ELECTION[partition], _COVERED[partition])
            expected = _dumped("diverged", f"broker{broker_id}", partition, lost)
            rows = [
                row
                for row in conflict_rows(lake)
                if (row["broker_id"], row["partition"]) == (broker_id, partition)
            ]
            assert [_as_dumped(row) for row in rows] == [_facts(each) for each in expected]
            assert expected
    assert {row["broker_id"] for row in read_table(lake, "batches")} == {2}
    assert imbalances_of(lake) == []
    assert summary.exit_code == 0  # normal in Kafka, with unclean elections allowed
    assert sum(count.lost for count in conflicts(summary).values()) == len(conflict_rows(lake))


def test_a_listed_batch_comes_with_its_bytes_and_both_epochs(lake: Path) -> None:
    ingested(_disks("diverged"), lake)
    for row in conflict_rows(lake):
        log_dir = broker_disks.log_dir(_SCENARIO, "diverged", f"broker{row['broker_id']}")
        start = row["position"]
        content = (log_dir / row["segment"]).read_bytes()[start : start + row["length_bytes"]]
        assert row["raw"] == content
        assert row["raw_sha256"] == hashlib.sha256(content).hexdigest()
        assert row["raw_is_complete"]
        assert not row["kafka_would_truncate"]
        assert row["resolution"] is None
        assert f"leader epoch 1, offsets {row['base_offset']}" in row["defect_detail"]
        assert "lost an election to leader epoch 4, offsets" in row["defect_detail"]
        assert f"{row['expected_crc']:#010x}" in row["defect_detail"]


def test_a_lost_tail_above_what_is_covered_is_named(lake: Path) -> None:
    summary = ingested(_disks("diverged"), lake)
    named = {
        (lost.place, *lost.ranges[0]) for lost in summary.findings.of(FindingKind.UNLISTED_TAIL)
    }
    assert summary.findings.of(*NOT_INGESTED_YET) == []
    assert named == {(f"rep-{p}", _COVERED[p], _LOST_END[p]) for p in _PARTITIONS}
    assert all(row["base_offset"] < _COVERED[row["partition"]] for row in conflict_rows(lake))


def test_a_second_run_lists_nothing_again(lake: Path) -> None:
    ingested(_disks("diverged"), lake)
    before = versions(lake)
    assert is_nothing_new(ingested(_disks("diverged"), lake))
    assert versions(lake) == before


def test_a_lost_tail_is_listed_when_its_disk_comes_later(lake: Path, tmp_path: Path) -> None:
    ingested(_disks("diverged"), tmp_path / "at once")
    ingested(_disks("diverged", "broker2"), lake)
    assert conflict_rows(lake) == []
    for _ in range(2):
        summary = ingested(_disks("diverged"), lake)
        assert (summary.exit_code, summary.records) == (0, 0)
        assert places_of(conflict_rows(lake)) == places_of(conflict_rows(tmp_path / "at once"))
    assert imbalances_of(lake) == []


@pytest.mark.parametrize(
    "step",
    cases(["redo", "records", "quarantine", "checkpoints"], telling=["records", "quarantine"]),
)
def test_a_run_that_dies_while_it_lists_a_tail_is_completed(lake: Path, step: str) -> None:
    """Nothing else was new, so the commit is of these rows alone."""

    ingested(_disks("diverged", "broker2"), lake)
    with pytest.raises(Died):
        ingested(_disks("diverged"), lake, after=dying(step))
    ingested(_disks("diverged"), lake)
    places = places_of(conflict_rows(lake))
    assert (len(places), len(set(places))) == (12, 12)
    assert imbalances_of(lake) == []


def test_a_copy_that_lost_brings_no_rows_to_what_won(lake: Path) -> None:
    """Alone in a later run, its high watermark is the higher one."""
    ingested(_disks("diverged", "broker2"), lake)
    summary = ingested(_disks("diverged", "broker0"), lake)
    assert (summary.exit_code, summary.records) == (0, 0)
    for partition in _PARTITIONS:
        assert _found(lake, partition) == expected_records(_SCENARIO, "diverged", "rep", partition)
    assert {row["broker_id"] for row in conflict_rows(lake)} == {0}
    before = versions(lake)
    ingested(_disks("diverged", "broker0"), lake)
    assert versions(lake) == before


@pytest.mark.parametrize("brokers", [("broker2",), _BROKERS])
def test_rows_that_lost_an_election_later_stay_and_the_winner_is_listed(
    lake: Path, brokers: tuple[str, ...]
) -> None:
    ingested(_disks("diverged", "broker0"), lake)
    before = {p: _found(lake, p) for p in _PARTITIONS}
    summary = ingested(_disks("diverged", *brokers), lake)
    assert summary.exit_code == 3
    assert {p: _found(lake, p) for p in _PARTITIONS} == before
    for partition in _PARTITIONS:
        offsets = range(_ELECTION[partition], _COVERED[partition])
        expected = _dumped("diverged", "broker2", partition, offsets)
        rows = [row for row in conflict_rows(lake) if row["partition"] == partition]
        assert [_as_dumped(row) for row in rows] == [_facts(each) for each in expected]
        assert {row["broker_id"] for row in rows} == {2}
    assert imbalances_of(lake) == []
    before_third = versions(lake)
    again = ingested(_disks("diverged", *brokers), lake)
    waiting = [
        line
        for line in again.findings.texts(FindingKind.SUPERSEDED)
        if "`seglake retake` ingests the winning log" in line
    ]
    assert (again.exit_code, again.topics, len(waiting)) == (3, [], 3)
    assert versions(lake) == before_third


def test_a_dry_run_counts_conflicts_and_writes_nothing(lake: Path) -> None:
    summary = ingested(_disks("diverged"), lake, dry_run=True)
    assert sum(count.lost for count in conflicts(summary).values()) == 12
    assert versions(lake) == {}


# --- what consumers saw, with all disks and with each alone -------------------------------------


@pytest.mark.parametrize("copy", ["lagging", "follower_down", "healed"])
def test_copies_of_one_history_do_not_contradict_each_other(lake: Path, copy: str) -> None:
    summary = ingested(_disks(copy), lake, read={"upper_bound": "log_end"})
    assert (summary.exit_code, conflicts(summary), conflict_rows(lake)) == (0, {}, [])
    for partition in _PARTITIONS:
        assert _found(lake, partition) == expected_records(_SCENARIO, copy, "rep", partition)


@pytest.mark.parametrize("broker", _BROKERS)
@pytest.mark.parametrize(
    "copy", cases(["lagging", "follower_down", "diverged", "healed"], telling=["diverged"])
)
def test_each_disk_alone_gives_what_a_consumer_saw_up_to_its_own_end(
    lake: Path, copy: str, broker: str
) -> None:
    ingested(_disks(copy, broker), lake, read={"upper_bound": "log_end"})
    # Brokers 0 and 1 were killed with the log that "follower_down" has; 2 was down then.
    view = "follower_down" if copy == "diverged" and broker != "broker2" else copy
    for partition in _PARTITIONS:
        dump = partition_dump(_SCENARIO, copy, "rep", partition, broker)
        end = 1 + max(
            batch.last_offset for batch in dump.batches if batch.file_name.endswith(".log")
        )
        assert _found(lake, partition) == [
            record
            for record in expected_records(_SCENARIO, view, "rep", partition)
            if record.offset < end
        ]
        assert len(_found(lake, partition)) == end


# --- conflicts that no broker should make -------------------------------------------------------


def test_what_lost_an_election_fills_no_gap_and_is_not_resolved(data: Path, lake: Path) -> None:
    """The winner's copy is damaged where a third one, of the same log, and the lost tail are."""
    won = [segment_of(numbered_values(10)), segment_of(numbered_values(15), epoch=4, first=10)]
    lost = [
        segment_of(numbered_values(10)),
        segment_of(numbered_values(15, *range(15)), epoch=1, first=10),
    ]
    epochs = {"won": ((0, 0), (4, 10)), "lost": ((0, 0), (1, 10))}
    logs = [("won", won), ("won", won), ("lost", lost)]
    disks = [
        write_over(
            data / f"broker{broker_id}",
            [orders_partition(segments, leader_epochs=epochs[name])],
            broker_id=broker_id,
        )
        for broker_id, (name, segments) in enumerate(logs)
    ]
    for disk, offset in ((disks[0], 15), (disks[1], 0)):
        log = disk / "orders-0" / f"{offset // 10 * 10:020d}.log"
        batch = next(b.data for part in won for b in part.batches if b.base_offset == offset)
        log.write_bytes(log.read_bytes().replace(batch, batch[:-1] + b"\xff"))
    ingested(disks, lake)
    assert offsets_taken(lake) == list(range(25))
    values = {row["offset"]: row["value"] for row in read_table(lake, "records")}
    assert [values[offset] for offset in range(10, 25)] == numbered_values(15)
    assert places_of(conflict_rows(lake)) == [(2, 0, 10, 14), (2, 0, 15, 19), (2, 0, 20, 24)]
    assert {row["resolution"] for row in conflict_rows(lake)} == {None}
    damage = [r for r in read_table(lake, "quarantine") if r["defect_code"] == "crc_mismatch"]
    assert sorted(str(row["resolution"]) for row in damage) == ["None", "sibling"]
    assert imbalances_of(lake) == []


def test_conflicts_come_once_when_a_log_is_taken_in_waves(data: Path, lake: Path) -> None:
    two_copies(
        data,
        orders_partition([segment_of(numbered_values(40))]),
        orders_partition([segment_of(numbered_values(40, 6, 36))]),
    )
    ingested_in_pieces(data, lake, "read_committed", split_bytes=200, wave_bytes=400)
    assert len(ranges_taken(lake)) > 2
    assert places_of(conflict_rows(lake)) == [(1, 0, 5, 9), (1, 0, 35, 39)]


def test_conflicts_follow_the_coverage(data: Path, lake: Path) -> None:
    """What lies above the high watermark is listed by the run that covers it."""
    for high_watermark, expected in ((10, [(1, 0, 5, 9)]), (20, [(1, 0, 5, 9), (1, 0, 15, 19)])):
        disks = two_copies(
            data,
            orders_partition([segment_of(numbered_values(20))], high_watermark=high_watermark),
            orders_partition(
                [segment_of(numbered_values(20, 6, 16))], high_watermark=high_watermark
            ),
        )
        ingested(disks, lake)
        assert places_of(conflict_rows(lake)) == expected
    assert ranges_taken(lake) == [(0, 10), (10, 20)]
