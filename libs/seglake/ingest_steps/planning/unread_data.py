"""Data that is or should be on the disks, but that a run cannot read."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from seglake.ingest_steps.planning.partitions import (
    ListedPartition,
    SurveyedPartition,
)
from seglake.kafka_log.observation import copy_seen
from seglake.kafka_log.offset_ranges import OffsetRange, merged, without
from seglake.kafka_log.replica import PartitionKey, Replica, UnreadSegment
from seglake.kafka_log.replica_selection import leading
from seglake.kafka_log.short_logs import ShortLog, end_claim, short_log
from seglake.kafka_log.unread_segments import spans, unread_offsets


class UnreadLog(NamedTuple):
    """Segments of a log that cannot be read in their present form.

    Attributes:
        key: the partition.
        folder: the replica's folder.
        ranges: ranges that the lake lacks; the last one may be without an end.
        segments: the segments.
    """

    key: PartitionKey
    folder: str
    ranges: tuple[OffsetRange, ...]
    segments: tuple[UnreadSegment, ...]


class UnreadData(NamedTuple):
    """Data of a partition that a run cannot read.

    Attributes:
        short: facts on a log that ends before an offset that it once reached; else None.
        unread: unreadable segments.
    """

    short: ShortLog | None = None
    unread: tuple[UnreadLog, ...] = ()


NOTHING_UNREAD = UnreadData()


class _Checked(NamedTuple):
    """Replica with the known end of its log, and the merged ranges that it does not provide."""

    replica: Replica
    log_end_offset: int
    unread: tuple[OffsetRange, ...]


def unread_data(log: ListedPartition, surveyed: SurveyedPartition | None) -> UnreadData:
    """Return the unreadable data of a log that is, or should be, on disk.

    Without a survey, the data comes from an earlier observation.
    """
    checked, covered = _replica_to_check(log, surveyed), log.ledger.covered
    others = [copy for copy in log.replicas if not checked or copy.folder != checked.replica.folder]
    unread, short = [unread_log(copy, (), ()) for copy in others], None
    if checked is not None:
        unread.insert(0, unread_log(checked.replica, checked.unread, covered))
        known = merged([*covered, *checked.unread])
        short = short_log(checked.replica, checked.log_end_offset, known)
    return UnreadData(short, tuple(filter(None, unread)))


def _replica_to_check(log: ListedPartition, surveyed: SurveyedPartition | None) -> _Checked | None:
    """Return the replica whose unread data is reported.

    The result is None if the replica was not surveyed and its files show no new offsets.
    """
    blank, seen = _without_segments(log.replicas), log.earlier
    if blank is not None:
        return _Checked(blank, 0, unread_offsets(blank))
    if surveyed is not None:
        return _Checked(surveyed.replica, surveyed.bounds.log_end_offset, surveyed.waiting_ranges)
    if seen is not None and seen.log_end_offset is not None:
        copy = copy_seen(seen, log.replicas)
        if copy.unread or end_claim(copy).offset > seen.log_end_offset:
            return _Checked(copy, seen.log_end_offset, unread_offsets(copy))
    return None


def _without_segments(log: Sequence[Replica]) -> Replica | None:
    """Return the replica whose files prove the most offsets; None if any replica has a segment."""
    copies = [copy for copy in leading(log) if not copy.is_future]
    if not copies or any(copy.segments for copy in copies):
        return None
    return max(copies, key=lambda copy: (end_claim(copy).offset, len(copy.unread)))


def unread_log(
    replica: Replica, ranges: Iterable[OffsetRange], covered: Sequence[OffsetRange]
) -> UnreadLog | None:
    """Return the unreadable segments with their offsets; None if there are none.

    Args:
        replica: the log.
        ranges: unread offsets of the log.
        covered: merged ranges that the lake has.
    """
    left = tuple(without(ranges, *covered))
    segments = tuple(
        segment
        for segment, (start, stop) in spans(replica).items()
        if segment.problem
        or any(start < left_stop and left_start < stop for left_start, left_stop in left)
    )
    return UnreadLog(replica.key, replica.folder, left, segments) if segments else None
