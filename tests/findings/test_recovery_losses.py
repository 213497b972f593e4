"""What a lake lacks of a log, by cause, and what a person reads of it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from seglake.findings.losing_tails import LosingTail, LosingTailKind
from seglake.findings.loss_causes import UNKNOWN, Loss, NoLoss, losses_of_log
from seglake.findings.recovery import PartitionRecovery, Recovery
from seglake.kafka_log.gap_ranges import GapRanges
from seglake.kafka_log.observation import NOT_ON_DISK, LeftRange, Observation, StoppedBy
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import PartitionKey

_PROVED = LeftRange(f"{NOT_ON_DISK}a checkpoint says so", 90, 120)


def _seen(stopped_by: StoppedBy, **facts: Any) -> Observation:
    plain: dict[str, Any] = {
        "log_start_offset": 0,
        "high_watermark": 50,
        "log_end_offset": 100,
        "observed_at": datetime(2026, 11, 2, tzinfo=UTC),
        "run_id": "r",
    }
    key = PartitionKey("orders", 0, None)
    return Observation(key=key, broker_id=1, stopped_by=stopped_by, **(plain | facts))


def _losses(seen: Observation, *covered: OffsetRange) -> dict[Loss, tuple[OffsetRange, ...]]:
    return {loss: gaps.ranges for loss, gaps in losses_of_log(seen, covered).items()}


def test_offsets_above_the_ingested_ones_have_the_cause_that_stopped_the_run() -> None:
    assert _losses(_seen(StoppedBy.HIGH_WATERMARK), (0, 50)) == {Loss.HIGH_WATERMARK: ((50, 100),)}
    assert _losses(_seen(StoppedBy.OPEN_TRANSACTION)) == {Loss.OPEN_TRANSACTION: ((0, 100),)}
    assert _losses(_seen(StoppedBy.LOG_END), (0, 100)) == {}
    assert _losses(_seen(StoppedBy.LOST_ELECTION), (0, 50)) == {}


def test_offsets_between_and_below_the_ingested_ones_were_never_ingested() -> None:
    seen = _seen(StoppedBy.LOG_END, log_start_offset=10)
    assert _losses(seen, (20, 30), (40, 100)) == {Loss.NEVER_INGESTED: ((10, 20), (30, 40))}
    assert _losses(seen, (0, 5)) == {Loss.NEVER_INGESTED: ((10, 100),)}


def test_offsets_that_files_prove_are_not_on_disk_and_counted_once() -> None:
    seen = _seen(StoppedBy.HIGH_WATERMARK, not_ingested=(_PROVED,))
    assert _losses(seen, (0, 50), (95, 100)) == {
        Loss.NOT_ON_DISK: ((90, 95), (100, 120)),
        Loss.NEVER_INGESTED: ((50, 95),),
    }
    assert _losses(seen, (0, 50)) == {
        Loss.NOT_ON_DISK: ((90, 120),),
        Loss.HIGH_WATERMARK: ((50, 90),),
    }


def test_without_a_log_end_the_high_watermark_ends_the_log() -> None:
    seen = _seen(StoppedBy.NO_SEGMENT, log_end_offset=None)
    assert _losses(seen, (0, 20)) == {Loss.NOT_ON_DISK: ((20, 50),)}
    unknown = _seen(StoppedBy.UNREAD, log_end_offset=None, high_watermark=None)
    assert losses_of_log(unknown, []) == {Loss.LEFT_OUT: UNKNOWN}


def _recovery(*partitions: PartitionRecovery, unread: tuple[str, ...] = ()) -> Recovery:
    return Recovery(partitions, unread)


_LOST = PartitionRecovery(
    name="a-0",
    records=3,
    open_records=1,
    lost={Loss.MISSING: GapRanges.of([(5, 7)]), Loss.HIGH_WATERMARK: GapRanges.of([(9, 10)])},
)
_EMPTY = PartitionRecovery(name="__b-0", records=0, no_loss={NoLoss.COMPACTED: 4})


def test_headline_has_what_was_recovered_and_what_was_not() -> None:
    assert _recovery(_LOST, _EMPTY, unread=("x",)).headline == (
        "3 records recovered from 1 of 2 partitions, 1 of them in transactions that have not ended;"
        " NOT recovered: 2 offsets missing without a known cause; not recovered yet: 1 offset above"
        " the high watermark; 1 place not read"
    )
    assert _recovery(PartitionRecovery(name="__consumer_offsets-0", records=2)).headline == (
        "2 records recovered from 1 partition, 2 of them in Kafka's own topics; no offset is known"
        " to be lost"
    )
    tails = {LosingTailKind.LOST: LosingTail(1, 1, ((0, 1),))}
    with_tail = _recovery(PartitionRecovery(name="a-0", records=2, tails=tails))
    assert with_tail.headline == (
        "2 records recovered from 1 partition; 1 record that lost an election is in quarantine, not"
        " in records; nothing else is known to be lost"
    )


def test_lines_name_places_and_leave_out_what_was_shown() -> None:
    found = _recovery(_LOST, _EMPTY)
    lost = "NOT recovered: 2 offsets missing without a known cause in a-0 [5, 7)"
    others = [
        "no loss: 4 offsets compacted",
        "no record from 1 of 2 partitions: compacted, deleted or markers only: __b-0",
    ]
    waiting = "not recovered yet: 1 offset above the high watermark in a-0 [9, 10)"
    assert found.lines() == [lost, waiting, *others]
    assert found.lines(is_left_shown=True) == [lost, *others]
    assert _recovery(_EMPTY).lines() == ["no loss: 4 offsets compacted"]


@pytest.mark.parametrize(
    ("recovery", "is_whole"),
    [(_recovery(_EMPTY), True), (_recovery(_LOST), False), (_recovery(unread=("x",)), False)],
)
def test_nothing_lost_and_nothing_unread_is_whole(recovery: Recovery, is_whole: bool) -> None:
    assert recovery.is_whole == is_whole


def test_what_retention_may_have_deleted_is_not_counted_as_lost() -> None:
    lost = {Loss.DELETED_OR_LOST: GapRanges.of([(0, 7)]), Loss.MISSING: GapRanges.of([(8, 9)])}
    found = _recovery(PartitionRecovery(name="a-0", records=1, lost=lost))
    assert found.lost_offsets == 1
    mapping = found.to_mapping()
    assert mapping["not_recovered"] == {"missing": {"a-0": 1}}
    assert mapping["perhaps_lost"] == {"a-0": 7}
