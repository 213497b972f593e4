"""Finds the offsets of unreadable segments: compressed files, or files without permission.

These offsets are on disk, so they are not a gap. A later run ingests them when their files are
readable.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from seglake.kafka_log.offset_ranges import OffsetRange, merged, without
from seglake.kafka_log.replica import Replica, UnreadSegment
from seglake.kafka_log.replica_selection import OtherReplica
from seglake.kafka_log.short_logs import end_claim
from seglake.segment_codec.formats.side_files.log_dir import OFFSET_MAX

_DECOMPRESS = "decompress in place and run again"


def unread_offsets(
    replica: Replica, others: Iterable[OtherReplica] = ()
) -> tuple[OffsetRange, ...]:
    """Return the merged offset ranges of a replica's unreadable segments.

    A segment ends where the next one begins. The last one ends at the log's end if other files
    prove that end, else at OFFSET_MAX.

    Args:
        replica: the replica to read.
        others: replicas whose readable offsets are subtracted.
    """
    if not replica.unread:
        return ()
    readable = merged(
        part
        for other in others
        if other.replica.segments
        for part in without(
            [(other.replica.segments[0].base_offset, other.log_end_offset)],
            *merged(spans(other.replica).values()),
        )
    )
    log_start = replica.checkpoints.log_start_offset or 0
    requested = ((max(start, log_start), stop) for start, stop in merged(spans(replica).values()))
    return tuple(without(requested, *readable))


def spans(replica: Replica) -> dict[UnreadSegment, OffsetRange]:
    """Return the offsets of each unreadable segment."""
    plain = {segment.base_offset for segment in replica.segments}
    bases = sorted({*plain, *(segment.base_offset for segment in replica.unread), OFFSET_MAX})
    proved = end_claim(replica).offset
    if len(bases) > 1 and proved > bases[-2]:
        bases[-1] = proved
    following = dict(pairwise(bases))
    return {
        segment: (segment.base_offset, following[segment.base_offset])
        for segment in replica.unread
        if segment.base_offset < OFFSET_MAX
    }


def are_compressed(segments: Iterable[UnreadSegment]) -> bool:
    """Return whether all segments are unreadable only because they are compressed."""
    return not any(segment.problem for segment in segments)


def why_unread(segments: Sequence[UnreadSegment]) -> str:
    """Return why the first of the segments cannot be read, and what to do."""
    problems = [segment.problem for segment in segments if segment.problem]
    if not problems:
        return _DECOMPRESS
    rest = "" if len(problems) == len(segments) else f"; {_DECOMPRESS} for the others"
    return f"{problems[0]}{rest}"


def described(segments: Sequence[UnreadSegment], where: str = "") -> str:
    """Return a text with the number of unreadable segments and the reason."""
    kind = "compressed segment" if are_compressed(segments) else "segment"
    plural = "" if len(segments) == 1 else "s"
    return f"{len(segments)} {kind}{plural} ({segments[0].name}){where}: {why_unread(segments)}"
