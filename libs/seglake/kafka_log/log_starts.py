"""Which offsets below a log's first segment Kafka deleted, and which were lost with segments. Pure.

Kafka cuts leader-epoch-checkpoint whenever retention, DeleteRecords or the leader moves the log
start, and again when a broker loads the log. So the first entry is the log start, or lies above it
where older records have no epoch. The broker may write the file a moment after it renamed the
segments to `.deleted`, which stay for a minute: those were deleted, whatever the file says.
"""

from collections.abc import Sequence

from seglake.kafka_log.leader_epochs import leader_epochs_of
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import Replica


def proved_start(replica: Replica) -> int | None:
    """Return up to where the log's own files prove that Kafka deleted it, None if they do not tell.

    A log start checkpoint below the first segment is no proof alone: it may be of before a
    deletion. A first epoch above the first segment is none: older records may have no epoch.
    """
    first = _first_offset(replica)
    claimed = replica.checkpoints.log_start_offset or 0
    if replica.epochs and replica.epochs[0].start_offset <= first:
        return max(replica.epochs[0].start_offset, claimed)
    return claimed if claimed >= first else None


def start_proved_by(replica: Replica, copies: Sequence[Replica]) -> int:
    """Return up to where other copies prove that Kafka deleted the log of this one, 0 if none."""
    epochs = leader_epochs_of(replica.epochs)
    starts = [
        start
        for copy in copies
        if copy is not replica and not copy.is_future
        for start in [proved_start(copy) or 0]
        if start <= epochs.divergence_offset(leader_epochs_of(copy.epochs))
    ]
    return max(starts, default=0)


def lost_offsets(replica: Replica) -> OffsetRange | None:
    """Return the offsets that lie below the first segment and that Kafka did not delete.

    None if there are none, nothing proves it, or the remote tier has them: then a log dir has an
    entry of the log start for each log in the tier.
    """
    checkpoints = replica.checkpoints
    start = proved_start(replica)
    is_remote = checkpoints.has_remote_tier and checkpoints.log_start_offset is not None
    if start is None or is_remote:
        return None
    start = max(start, replica.start_of_copies)
    stop = _first_offset(replica)
    # Those below the start were deleted before the file was written, and say nothing of the rest.
    stop = min([stop, *(base for base in replica.deleting if base >= start)])
    return (start, stop) if start < stop else None


def _first_offset(replica: Replica) -> int:
    """Return where the first segment begins, also one that cannot be read; 0 without any."""
    readable = [segment.base_offset for segment in replica.segments]
    unread = [segment.base_offset for segment in replica.unread]
    return min([*readable, *unread], default=0)
