"""Decides whether Kafka deleted the offsets below a log's first segment, or may have lost them.

Kafka truncates leader-epoch-checkpoint whenever retention, DeleteRecords or the leader moves the
log start, and again when a broker loads the log. So the first entry is at the log start, or above
it if older records have no epoch. The broker renames segments to `.deleted` a moment before it
writes the file, and removes them a minute later. So such segments count as deleted even if the file
still has their epochs.
"""

from collections.abc import Sequence
from typing import NamedTuple

from seglake.kafka_log.leader_epochs import leader_epochs_of
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import Replica


class UndeletedStart(NamedTuple):
    """Offsets below a log's first segment without proof that Kafka deleted them.

    Attributes:
        cause: MISSING if the log's own files prove that the offsets were lost, else
            DELETED_OR_LOST.
    """

    offsets: OffsetRange
    cause: GapCause

    def has(self, start: int, stop: int) -> bool:
        """Return whether all offsets in [start, stop) are in `offsets`."""
        return self.offsets[0] <= start and stop <= self.offsets[1]


def proved_start(replica: Replica) -> int | None:
    """Return the offset up to which the log's own files prove a deletion; None without a proof.

    A log start checkpoint below the first segment proves nothing by itself, because it may be older
    than a deletion. A first epoch above the first segment proves nothing either, because older
    records may have no epoch.
    """
    first = lowest_base_offset(replica)
    claimed = replica.checkpoints.log_start_offset or 0
    if replica.epochs and replica.epochs[0].start_offset <= first:
        return max(replica.epochs[0].start_offset, claimed)
    return claimed if claimed >= first else None


def start_proved_by(replica: Replica, copies: Sequence[Replica]) -> int:
    """Return the end of the offsets that Kafka deleted, as other copies prove; 0 without proof.

    Args:
        replica: the copy whose start is in doubt.
        copies: all copies of the partition. A copy proves deletions only below its high watermark
            and only as far as both copies have the same leader epochs.
    """
    epochs = leader_epochs_of(replica.epochs)
    starts = [
        start
        for copy in copies
        if copy is not replica and not copy.is_future
        for start in [proved_start(copy) or 0]
        for high_watermark in [copy.checkpoints.high_watermark]
        if high_watermark is None or start <= high_watermark
        if start <= epochs.divergence_offset(leader_epochs_of(copy.epochs))
    ]
    return max(starts, default=0)


def undeleted_start(replica: Replica) -> UndeletedStart | None:
    """Return the offsets below the first segment without proof that Kafka deleted them.

    None if there are no such offsets, or if they are in the remote tier. If there is a tier, the
    log dir's log start file has an entry for the log.
    """
    checkpoints = replica.checkpoints
    if checkpoints.has_remote_tier and checkpoints.log_start_offset is not None:
        return None
    proved = proved_start(replica)
    claimed = checkpoints.log_start_offset or 0
    start = max(claimed if proved is None else proved, replica.start_of_copies)
    stop = lowest_base_offset(replica)
    # The first segments were deleted while this run read the log.
    if replica.planned_start_offset is not None:
        stop = min(stop, replica.planned_start_offset)
    # If a broker is deleting segments, they are newer evidence than the checkpoint file.
    stop = min([stop, *(base for base in replica.deleting if base >= start)])
    cause = GapCause.DELETED_OR_LOST if proved is None else GapCause.MISSING
    return UndeletedStart((start, stop), cause) if start < stop else None


def lowest_base_offset(replica: Replica) -> int:
    """Return the base offset of the first segment, even if it is unreadable; 0 without segments."""
    readable = [segment.base_offset for segment in replica.segments]
    unread = [segment.base_offset for segment in replica.unread]
    in_tier = [gap.start_offset for gap in replica.remote_gaps]
    return min([*readable, *unread, *in_tier], default=0)
