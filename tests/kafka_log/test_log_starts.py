"""What the broker's files prove of the offsets below a log's first segment."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from seglake.kafka_log.log_starts import lost_offsets
from seglake.kafka_log.replica import Replica, UnreadSegment
from seglake.kafka_log.replica_selection import replicas_by_partition
from seglake.segment_codec.checkpoint_files import EpochStart
from support.planned import replica


def _copy(
    first: int,
    epochs: Sequence[tuple[int, int]],
    log_start_offset: int | None = None,
    *,
    has_remote_tier: bool = False,
    broker_id: int = 0,
) -> Replica:
    copy = replica(
        (first, 200),
        log_start_offset=log_start_offset,
        has_remote_tier=has_remote_tier,
        broker_id=broker_id,
    )
    return replace(copy, epochs=tuple(EpochStart(*epoch) for epoch in epochs))


@pytest.mark.parametrize(
    ("first", "epochs", "log_start_offset", "lost"),
    [
        (90, [(0, 0)], None, (0, 90)),
        (90, [(0, 20), (3, 70)], None, (20, 90)),
        (90, [(3, 90)], None, None),
        (90, [(3, 120)], None, None),  # older records may have no epoch
        (90, [], None, None),
        (90, [], 30, None),  # it may be of before retention
        (90, [(0, 0)], 30, (30, 90)),
        (90, [(0, 30)], 30, (30, 90)),
        (90, [(0, 90)], 30, None),
        (90, [(0, 0)], 95, None),  # DeleteRecords
        (0, [(0, 0)], None, None),
    ],
)
def test_offsets_are_lost_from_the_log_start_that_the_files_name_to_the_first_segment(
    first: int,
    epochs: list[tuple[int, int]],
    log_start_offset: int | None,
    lost: tuple[int, int] | None,
) -> None:
    assert lost_offsets(_copy(first, epochs, log_start_offset)) == lost


def test_what_the_remote_tier_has_is_not_lost() -> None:
    assert lost_offsets(_copy(90, [(0, 0)], 0, has_remote_tier=True)) is None
    assert lost_offsets(_copy(90, [(0, 0)], None, has_remote_tier=True)) == (0, 90)


def test_segments_that_the_broker_is_deleting_prove_a_deletion() -> None:
    copy = _copy(90, [(0, 0)])
    assert lost_offsets(replace(copy, deleting=(0, 40))) is None
    assert lost_offsets(replace(copy, deleting=(40, 60))) == (0, 40)
    assert lost_offsets(replace(copy, deleting=(120,))) == (0, 90)
    later = _copy(90, [(0, 50)])
    assert lost_offsets(replace(later, deleting=(0, 20))) == (50, 90)
    assert lost_offsets(replace(later, deleting=(0, 50))) is None


def test_a_segment_that_cannot_be_read_is_not_lost() -> None:
    unread = (UnreadSegment(40, "00000000000000000040.log.gz", 10),)
    assert lost_offsets(replace(_copy(90, [(0, 0)]), unread=unread)) == (0, 40)


@pytest.mark.parametrize(
    ("other", "lost"),
    [
        (_copy(90, [(0, 90)], broker_id=1), None),
        (_copy(120, [(0, 60)], broker_id=1), (60, 90)),
        (_copy(120, [(1, 120)], broker_id=1), (0, 90)),  # of another log than this one
        (_copy(120, [(0, 130)], broker_id=1), (0, 90)),
        (_copy(0, [(0, 0)], broker_id=1), (0, 90)),
    ],
)
def test_another_copy_may_prove_that_they_were_deleted(
    other: Replica, lost: tuple[int, int] | None
) -> None:
    for copies in ([_copy(90, [(0, 0)]), other], [other, _copy(90, [(0, 0)])]):
        ((*informed,),) = replicas_by_partition(copies)
        (found,) = (lost_offsets(copy) for copy in informed if copy.broker_id == 0)
        assert found == lost
