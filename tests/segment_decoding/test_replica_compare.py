"""Which batches of two replicas contradict each other, and which differences are none."""

from pathlib import Path

import pytest

from seglake.findings.kinds import FindingKind
from support.conflicting_logs import (
    conflict_rows,
    numbered_values,
    orders_partition,
    places_of,
    segment_of,
    two_copies,
)
from support.encoder import Partition, Record, Segment, messages, positions_of, record_batch
from support.found import conflicts
from support.lakes import ingested, read_table
from support.made_logs import write_over
from support.taken import is_nothing_new, offsets_taken


def test_other_bytes_of_the_same_leader_are_a_conflict_and_the_chosen_ones_stay(
    data: Path, lake: Path
) -> None:
    disks = two_copies(
        data,
        orders_partition([segment_of(numbered_values(20))]),
        orders_partition([segment_of(numbered_values(20, 7, 11))]),
    )
    summary = ingested(disks, lake)
    assert (summary.exit_code, conflicts(summary)["orders-0"].differs) == (3, 2)
    values = {row["offset"]: row["value"] for row in read_table(lake, "records")}
    assert [values[offset] for offset in range(20)] == numbered_values(20)
    rows = conflict_rows(lake)
    assert places_of(rows) == [(1, 0, 5, 9), (1, 0, 10, 14)]
    for row in rows:
        assert "leader epoch 0, offsets" in row["defect_detail"]
        assert "differs from leader epoch 0, offsets" in row["defect_detail"]
    assert is_nothing_new(ingested(disks, lake))


def test_raw_bytes_of_a_conflict_are_kept_up_to_the_setting(data: Path, lake: Path) -> None:
    big = [Record(None, bytes(4000))]
    disks = two_copies(
        data,
        orders_partition([Segment(0, [record_batch(0, [Record(None, b"small")])])]),
        orders_partition([Segment(0, [record_batch(0, big)])]),
    )
    ingested(disks, lake, quarantine={"max_raw_bytes": 1000})
    (row,) = conflict_rows(lake)
    assert (len(row["raw"]), row["raw_is_complete"], row["length_bytes"] > 4000) == (
        1000,
        False,
        True,
    )


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_of_old_formats_are_compared_one_by_one(
    data: Path, lake: Path, magic: int
) -> None:
    def partition(*changed: int) -> Partition:
        records = [Record(None, value) for value in numbered_values(30, *changed)]
        return orders_partition([Segment(0, messages(0, records, magic))], leader_epochs=())

    disks = two_copies(data, partition(), partition(3, 17))
    summary = ingested(disks, lake)
    assert (summary.exit_code, offsets_taken(lake)) == (3, list(range(30)))
    assert places_of(conflict_rows(lake)) == [(1, 0, 3, 3), (1, 0, 17, 17)]


@pytest.mark.parametrize("damaged", [0, 1])
def test_damage_is_not_a_conflict(data: Path, lake: Path, damaged: int) -> None:
    disks = two_copies(
        data,
        orders_partition([segment_of(numbered_values(20))]),
        orders_partition([segment_of(numbered_values(20))]),
    )
    log = disks[damaged] / "orders-0" / f"{0:020d}.log"
    content = bytearray(log.read_bytes())
    second, third, *_ = positions_of(segment_of(numbered_values(20)).batches)[1:]
    content[second + 17] ^= 0xFF  # of its checksum
    content[third + 70] ^= 0xFF  # of its records
    log.write_bytes(content)
    summary = ingested(disks, lake)
    assert summary.exit_code == (3 if damaged == 0 else 0)  # the first one is read
    assert (conflict_rows(lake), offsets_taken(lake)) == ([], list(range(20)))


def test_what_the_cleaner_rewrote_is_not_a_conflict(data: Path, lake: Path) -> None:
    records = [Record(b"k%d" % n, b"v", offset=n) for n in range(5)]
    whole, cleaned = record_batch(0, records), record_batch(0, records[3:])
    rest = segment_of(numbered_values(5), first=5).batches
    disks = two_copies(
        data,
        orders_partition([Segment(0, [whole, *rest])]),
        orders_partition([Segment(0, [cleaned, *rest])]),
    )
    summary = ingested(disks, lake)
    assert (summary.exit_code, conflict_rows(lake)) == (0, [])


def test_a_flipped_leader_epoch_is_not_a_conflict(data: Path, lake: Path) -> None:
    """No checksum covers it."""
    disks = two_copies(
        data,
        orders_partition([segment_of(numbered_values(20))]),
        orders_partition([segment_of(numbered_values(20))]),
    )
    log = disks[1] / "orders-0" / f"{0:020d}.log"
    content = bytearray(log.read_bytes())
    content[12:16] = (9999).to_bytes(4)
    log.write_bytes(content)
    summary = ingested(disks, lake)
    assert (summary.exit_code, conflict_rows(lake), offsets_taken(lake)) == (0, [], list(range(20)))


def test_a_tail_lost_also_to_a_leader_who_kept_older_batches_there(data: Path, lake: Path) -> None:
    """Broker 1 led in epoch 3; broker 0, who had been away, was elected uncleanly behind it."""
    ours, theirs = numbered_values(20), numbered_values(20, *range(10, 20))
    disks = two_copies(
        data,
        orders_partition(
            [segment_of(ours[:15]), segment_of(ours[15:], epoch=5, first=15)],
            leader_epochs=[(0, 0), (5, 15)],
        ),
        orders_partition(
            [segment_of(theirs[:10]), segment_of(theirs[10:], epoch=3, first=10)],
            leader_epochs=[(0, 0), (3, 10)],
        ),
    )
    summary = ingested(disks, lake)
    assert (summary.exit_code, conflicts(summary)["orders-0"].lost) == (0, 2)
    assert places_of(conflict_rows(lake)) == [(1, 0, 10, 14), (1, 0, 15, 19)]
    assert all("lost an election" in row["defect_detail"] for row in conflict_rows(lake))


def test_rows_that_lost_an_election_below_the_start_of_the_log_wait_for_no_retake(
    data: Path, lake: Path
) -> None:
    """The winner's segment still has those batches, so the rows are known to be false."""
    values = numbered_values(20, *range(5, 20))
    old, new = segment_of(values[:5]), segment_of(values[5:], epoch=3, first=5)
    loser, winner = two_copies(
        data,
        orders_partition([segment_of(numbered_values(10))]),
        orders_partition(
            [Segment(0, [*old.batches, *new.batches])],
            leader_epochs=[(0, 0), (3, 5)],
            log_start_offset=10,
        ),
    )
    ingested([loser], lake)
    summary = ingested([winner], lake)
    assert (summary.exit_code, summary.findings.of(FindingKind.SUPERSEDED)) == (3, [])
    assert conflicts(summary)["orders-0"].contradicts == 1
    assert offsets_taken(lake) == list(range(20))
    assert is_nothing_new(ingested([winner], lake))
    more = segment_of(numbered_values(25)[20:], epoch=3, first=20)
    log = [Segment(0, [*old.batches, *new.batches, *more.batches])]
    epochs = [(0, 0), (3, 5)]
    write_over(
        winner, [orders_partition(log, leader_epochs=epochs, log_start_offset=10)], broker_id=1
    )
    summary = ingested([winner], lake)
    assert (summary.records, summary.findings.of(FindingKind.SUPERSEDED)) == (5, [])
