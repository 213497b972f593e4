"""What the broker's files prove of the offsets below a log's first segment."""

from collections.abc import Sequence

import pytest

from seglake.kafka_log.log_starts import UndeletedStart, undeleted_start
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.replica import Replica, UnreadSegment
from seglake.kafka_log.replica_selection import replicas_by_partition
from seglake.segment_codec.formats.side_files.checkpoint_files import EpochStart
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
    return copy._replace(epochs=tuple(EpochStart(*epoch) for epoch in epochs))


def _lost(copy: Replica) -> tuple[int, int] | None:
    found = undeleted_start(copy)
    assert found is None or found.cause is GapCause.MISSING
    return found and found.offsets


@pytest.mark.parametrize(
    ("first", "epochs", "log_start_offset", "lost"),
    [
        (90, [(0, 0)], None, (0, 90)),
        (90, [(0, 20), (3, 70)], None, (20, 90)),
        (90, [(3, 90)], None, None),
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
    assert _lost(_copy(first, epochs, log_start_offset)) == lost


@pytest.mark.parametrize(
    ("first", "epochs", "log_start_offset", "doubtful"),
    [
        (90, [], None, (0, 90)),
        (90, [(3, 120)], None, (0, 90)),  # older records may have no epoch
        (90, [], 30, (30, 90)),  # it may be of before retention
        (90, [(3, 120)], 30, (30, 90)),
        (90, [], 90, None),
        (90, [], 95, None),  # DeleteRecords
        (0, [], None, None),
    ],
)
def test_without_a_proof_offsets_below_the_first_segment_are_deleted_or_lost(
    first: int,
    epochs: list[tuple[int, int]],
    log_start_offset: int | None,
    doubtful: tuple[int, int] | None,
) -> None:
    found = undeleted_start(_copy(first, epochs, log_start_offset))
    assert found == (doubtful and UndeletedStart(doubtful, GapCause.DELETED_OR_LOST))


def test_segments_that_a_run_planned_to_read_were_deleted_by_the_broker() -> None:
    copy = _copy(90, [])._replace(planned_start_offset=40)
    assert undeleted_start(copy) == UndeletedStart((0, 40), GapCause.DELETED_OR_LOST)
    assert undeleted_start(copy._replace(planned_start_offset=0)) is None


def test_what_the_remote_tier_has_is_not_lost() -> None:
    assert _lost(_copy(90, [(0, 0)], 0, has_remote_tier=True)) is None
    assert _lost(_copy(90, [(0, 0)], None, has_remote_tier=True)) == (0, 90)


def test_segments_that_the_broker_is_deleting_prove_a_deletion() -> None:
    copy = _copy(90, [(0, 0)])
    assert _lost(copy._replace(deleting=(0, 40))) is None
    assert _lost(copy._replace(deleting=(40, 60))) == (0, 40)
    assert _lost(copy._replace(deleting=(120,))) == (0, 90)
    later = _copy(90, [(0, 50)])
    assert _lost(later._replace(deleting=(0, 20))) == (50, 90)
    assert _lost(later._replace(deleting=(0, 50))) is None


def test_a_segment_that_cannot_be_read_is_not_lost() -> None:
    unread = (UnreadSegment(40, "00000000000000000040.log.gz", 10),)
    assert _lost(_copy(90, [(0, 0)])._replace(unread=unread)) == (0, 40)


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
        (found,) = (_lost(copy) for copy in informed if copy.broker_id == 0)
        assert found == lost


@pytest.mark.parametrize(
    ("claimed", "high_watermark", "doubtful"),
    [(90, 200, None), (60, 200, (60, 90)), (1 << 62, 200, (0, 90))],
)
def test_a_log_start_above_the_high_watermark_of_its_own_disk_proves_nothing(
    claimed: int, high_watermark: int, doubtful: tuple[int, int] | None
) -> None:
    other = _copy(claimed if claimed < 200 else 90, [], claimed, broker_id=1)
    other = other._replace(checkpoints=other.checkpoints._replace(high_watermark=high_watermark))
    ((*informed,),) = replicas_by_partition([_copy(90, []), other])
    (found,) = (undeleted_start(copy) for copy in informed if copy.broker_id == 0)
    assert found == (doubtful and UndeletedStart(doubtful, GapCause.DELETED_OR_LOST))
