"""What of the logs a round cannot read although it is, or should be, on the disks. Pure."""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from seglake.kafka_log.observation import copy_seen
from seglake.kafka_log.offset_ranges import OffsetRange, merged, without
from seglake.kafka_log.replica import PartitionKey, Replica, UnreadSegment
from seglake.kafka_log.replica_selection import leading
from seglake.kafka_log.short_logs import ShortLog, end_claim, short_log
from seglake.kafka_log.unread_segments import spans, unread_offsets
from seglake.pipelines.segment_ingest.planning.surveyed_partition import (
    ListedPartition,
    SurveyedPartition,
)


@dataclass(frozen=True, slots=True)
class UnreadLog:
    """Segments of a log that cannot be read as they are.

    Attributes:
        ranges: their offsets, as far as the lake does not have them; the last may have no end.
    """

    key: PartitionKey
    folder: str
    ranges: tuple[OffsetRange, ...]
    segments: tuple[UnreadSegment, ...]


@dataclass(frozen=True, slots=True)
class UnreadData:
    """What a round leaves, by partition.

    Attributes:
        short: logs of which more is proved than the disk has.
    """

    short: tuple[ShortLog, ...]
    unread: tuple[UnreadLog, ...]


class _Look(NamedTuple):
    """A replica, and what is known of its log; both ranges are merged."""

    replica: Replica
    log_end_offset: int
    covered: tuple[OffsetRange, ...]
    unread: tuple[OffsetRange, ...]


def unread_data(
    listed: Iterable[ListedPartition],
    partitions: Iterable[SurveyedPartition],
    refused: Container[PartitionKey] = (),
) -> UnreadData:
    """Look at all logs: as they were surveyed, or else as an earlier run saw them.

    Args:
        refused: partitions of which nothing is wanted.
    """
    surveyed = {partition.key: partition for partition in partitions}
    logs = [log for log in listed if log.key not in refused]
    looks = [look for log in logs for look in _looks_at(log, surveyed.get(log.key))]
    short = (
        short_log(look.replica, look.log_end_offset, merged([*look.covered, *look.unread]))
        for look in looks
    )
    seen = {look.replica.folder for look in looks}
    unread = [unread_log(look.replica, look.unread, look.covered) for look in looks]
    unread += [
        unread_log(copy, (), ()) for log in logs for copy in log.replicas if copy.folder not in seen
    ]
    return UnreadData(
        tuple(found for found in short if found is not None),
        tuple(found for found in unread if found is not None),
    )


def _looks_at(log: ListedPartition, partition: SurveyedPartition | None) -> Iterator[_Look]:
    """Yield the copy to look at; without news, only one whose files say more than was seen."""
    seen, covered = log.earlier, tuple(log.ledger.covered)
    blank = list(_without_segments(log.replicas))
    if blank:
        for copy in blank:
            yield _Look(copy, 0, covered, unread_offsets(copy))
    elif partition is not None:
        end = partition.bounds.log_end_offset
        yield _Look(partition.replica, end, partition.covered, partition.waiting_ranges)
    elif seen is not None and seen.log_end_offset is not None:
        copy = copy_seen(seen, log.replicas)
        if copy.unread or end_claim(copy).offset > seen.log_end_offset:
            yield _Look(copy, seen.log_end_offset, covered, unread_offsets(copy))


def _without_segments(log: Sequence[Replica]) -> Iterator[Replica]:
    """The copy that would be read if it had a segment, of those whose files prove most."""
    copies = [copy for copy in leading(log) if not copy.is_future]
    if copies and not any(copy.segments for copy in copies):
        yield max(copies, key=lambda copy: (end_claim(copy).offset, len(copy.unread)))


def unread_log(
    replica: Replica, ranges: Iterable[OffsetRange], covered: Sequence[OffsetRange]
) -> UnreadLog | None:
    """Which segments hold ranges that the lake does not have or lead to no file; None for none."""
    left = tuple(without(ranges, *covered))
    segments = tuple(
        segment
        for segment, (start, stop) in spans(replica).items()
        if segment.problem
        or any(start < left_stop and left_start < stop for left_start, left_stop in left)
    )
    return UnreadLog(replica.key, replica.folder, left, segments) if segments else None
