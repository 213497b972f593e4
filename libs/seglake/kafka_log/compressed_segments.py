"""Which offsets of a log lie in segments that somebody compressed. Pure.

They are there, so they are no gap: they wait until they can be read.
"""

from collections.abc import Iterable
from itertools import pairwise

from seglake.kafka_log.offset_ranges import OffsetRange, merged, without
from seglake.kafka_log.replica import CompressedSegment, Replica
from seglake.kafka_log.replica_selection import OtherReplica
from seglake.kafka_log.short_logs import end_claim
from seglake.segment_codec.log_dir import OFFSET_MAX


def compressed_ranges(
    replica: Replica, others: Iterable[OtherReplica] = ()
) -> tuple[OffsetRange, ...]:
    """Where a replica's log cannot be read before its segments are decompressed, merged.

    A segment ends where the next one begins, the last one where the log is proved to have reached;
    or it has no end that is known.

    Args:
        others: what they have readable fills the gap that it leaves.
    """
    if not replica.compressed:
        return ()
    readable = merged(
        (other.replica.segments[0].base_offset, other.log_end_offset)
        for other in others
        if other.replica.segments
    )
    log_start = replica.checkpoints.log_start_offset or 0
    wanted = ((max(start, log_start), stop) for start, stop in merged(spans(replica).values()))
    return tuple(without(wanted, *readable))


def spans(replica: Replica) -> dict[CompressedSegment, OffsetRange]:
    """The offsets of each compressed segment."""
    plain = {segment.base_offset for segment in replica.segments}
    bases = sorted({*plain, *(segment.base_offset for segment in replica.compressed), OFFSET_MAX})
    proved = end_claim(replica).offset
    if len(bases) > 1 and proved > bases[-2]:
        bases[-1] = proved
    following = dict(pairwise(bases))
    return {
        segment: (segment.base_offset, following[segment.base_offset])
        for segment in replica.compressed
        if segment.base_offset < OFFSET_MAX
    }
