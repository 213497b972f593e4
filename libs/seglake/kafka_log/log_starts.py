"""Tells offsets that Kafka deleted below a log's first segment from lost ones. Pure.

Kafka cuts leader-epoch-checkpoint whenever retention, DeleteRecords or the leader moves the log
start, and again when a broker loads the log. So the first entry is the log start, or lies above it
if older records have no epoch. The broker may write the file a moment after it renamed segments to
`.deleted`, which stay for a minute: these segments were deleted, whatever the file says.
"""

from collections.abc import Sequence

from seglake.kafka_log.leader_epochs import leader_epochs_of
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import Replica


def proved_start(replica: Replica) -> int | None:
    """Return the offset up to which the log's own files prove a deletion, None without a proof.

    A log start checkpoint below the first segment alone proves nothing: it may be older than a
    deletion. Nor does a first epoch above the first segment: older records may have no epoch.
    """
    first = _first_offset(replica)
    claimed = replica.checkpoints.log_start_offset or 0
    if replica.epochs and replica.epochs[0].start_offset <= first:
        return max(replica.epochs[0].start_offset, claimed)
    return claimed if claimed >= first else None


def start_proved_by(replica: Replica, copies: Sequence[Replica]) -> int:
    """Return the offset up to which other copies prove that Kafka deleted this log, else 0."""
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

    None if there are none, nothing proves it, or the remote tier has them: a log dir has a log
    start entry for each log in the tier.
    """
    checkpoints = replica.checkpoints
    start = proved_start(replica)
    is_remote = checkpoints.has_remote_tier and checkpoints.log_start_offset is not None
    if start is None or is_remote:
        return None
    start = max(start, replica.start_of_copies)
    stop = _first_offset(replica)
    # Segments below the start were deleted before the file was written: they prove nothing above.
    stop = min([stop, *(base for base in replica.deleting if base >= start)])
    return (start, stop) if start < stop else None


def _first_offset(replica: Replica) -> int:
    """Return the base offset of the first segment, readable or not; 0 without a segment."""
    readable = [segment.base_offset for segment in replica.segments]
    unread = [segment.base_offset for segment in replica.unread]
    return min([*readable, *unread], default=0)
