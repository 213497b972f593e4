"""State of a partition's log as a run saw it: its bounds, and why the run stopped there.

It is recorded even if no row was ingested. If the listing shows that the end of a log has not
changed since the last observation, a run reads nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple, Self

from seglake.kafka_log.internal_topics import CLUSTER_METADATA
from seglake.kafka_log.log_bounds import LogBounds
from seglake.kafka_log.offset_ranges import OffsetRange, without
from seglake.kafka_log.read_policy import Isolation, ReadPolicy, UpperBound
from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.kafka_log.replica_selection import likely
from seglake.kafka_log.settled_logs import LastUpload
from seglake.segment_codec.formats.side_files.log_dir import parse_folder_name


class StoppedBy(StrEnum):
    """Reason why a run stops in a log."""

    LOG_END = "log_end"  # everything up to the end of the log is ingested
    HIGH_WATERMARK = "high_watermark"
    # the broker's checkpoint file has no high watermark for the partition
    NO_HIGH_WATERMARK = "no_high_watermark"
    OPEN_TRANSACTION = "open_transaction"  # a transaction is open at the last stable offset
    TAIL = "tail"  # the last segment ends in an incomplete batch
    NO_SEGMENT = "no_segment"
    LOST_ELECTION = "lost_election"  # this replica lost to the ingested log
    REFUSED = "refused"  # the log is not the one that was ingested
    UNREAD = "unread"  # some files of the log could not be read


NOT_ON_DISK = "not on disk: "
"""Prefix of the reason for offsets that a file proves but the disk lacks."""

NAMED_ONLY = "only the metadata log names "
"""Prefix of the reason for partitions in the metadata log without a folder on any disk."""

DAMAGED = "damaged, and quarantined once it is ingested: "
"""Prefix of the reason for damaged offsets that are not ingested yet."""

TIER_GAP = "unreadable in the remote tier: "
"""Prefix of the reason for offsets that a given tier lacks and that are not ingested yet."""

HIDDEN_END = "may wait for ever: "
"""Prefix of the reason for offsets above an open transaction whose marker may be unreadable."""

UNSEARCHED = "not searched for damage: "
"""Prefix of the reason for offsets that are not ingested yet and not searched for damage."""

_BOUNDS = frozenset(
    {StoppedBy.HIGH_WATERMARK, StoppedBy.NO_HIGH_WATERMARK, StoppedBy.OPEN_TRANSACTION}
)


class LeftRange(NamedTuple):
    """A range of a log's offsets that is not ingested, with the reason."""

    reason: str
    from_offset: int
    log_end_offset: int

    @property
    def is_on_disk(self) -> bool:
        """Return whether the offsets are on the disk, and not only proved by the broker's files."""
        return not self.reason.startswith(NOT_ON_DISK)

    @property
    def is_damaged(self) -> bool:
        """Return whether the offsets are in damaged bytes, or in absent objects of a tier."""
        return self.reason.startswith((DAMAGED, TIER_GAP, HIDDEN_END))

    def names(self, folder: str) -> bool:
        """Return whether the reason mentions a copy's folder."""
        return f"{self.reason} ".find(f" {folder} ") >= 0


class UnreadPlace(NamedTuple):
    """A file or folder of a source that was not read and is not part of any observation.

    Attributes:
        path: path in the source; for a partition that only the metadata log names,
            `__cluster_metadata/TOPIC_ID/TOPIC-PARTITION`.
        reason: why it was not read, as text.
        ranges: offsets that the file or folder is known to have, or to have had.
    """

    path: str
    reason: str
    ranges: tuple[OffsetRange, ...] = ()

    @classmethod
    def named_only(cls, key: PartitionKey) -> Self:
        """Make the value for a partition in the metadata log without a folder on any disk."""
        reason = f"{NAMED_ONLY}{key}: no ingested disk has its folder"
        return cls(f"{CLUSTER_METADATA}/{key.topic_id}/{key}", reason)

    @property
    def is_named_only(self) -> bool:
        """Return whether only the metadata log names the partition."""
        return self.reason.startswith(NAMED_ONLY)

    @property
    def is_on_disk(self) -> bool:
        """Return whether a disk has the file or folder.

        If not, only the broker's files name it.
        """
        return not self.reason.startswith((NOT_ON_DISK, NAMED_ONLY))

    @property
    def key(self) -> PartitionKey | None:
        """Return the partition of the path's innermost partition folder; None without one."""
        names = self.path.split("/")
        for name in reversed(names):
            folder = parse_folder_name(name)
            if folder is not None:
                topic_id = names[1] if self.is_named_only else None
                return PartitionKey(folder.topic, folder.partition, topic_id)
        return None

    def outside(self, covered: Sequence[OffsetRange]) -> Self | None:
        """Return this place without the covered offsets; None if all are covered."""
        left = tuple(without(self.ranges, *covered))
        return self._replace(ranges=left) if left or not self.ranges else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """State of a partition when a run read or listed it.

    Attributes:
        log_start_offset: log start, even if only a remote tier has the first offsets.
        last_stable_offset: last stable offset, exclusive; None if the log could not be read.
        log_end_offset: end of the log, exclusive; None if the log could not be read.
        next_offset: exclusive end of the offsets that a run may ingest; None if there are none.
        detail: why the log was refused or not read.
        not_ingested: ranges on the disk above `next_offset`, and ranges that the disk lacks
            although the broker's files prove them.
        first_log_end_offset: lowest log end seen since `next_offset` last advanced.
        waiting_since: time at which a run first found offsets above this `next_offset`; None if
            there are no such offsets.
        listing: text that changes when the log grows, see `listing_of`; None if the next run must
            read the log in any case.
    """

    key: PartitionKey
    broker_id: int | None
    log_start_offset: int | None
    high_watermark: int | None
    last_stable_offset: int | None = None
    log_end_offset: int | None = None
    next_offset: int | None = None
    stopped_by: StoppedBy
    detail: str | None = None
    not_ingested: tuple[LeftRange, ...] = ()
    first_log_end_offset: int | None = None
    waiting_since: datetime | None = None
    listing: str | None = None
    observed_at: datetime
    run_id: str

    @property
    def has_unread_reason(self) -> bool:
        """Return whether `detail` has the reason why the log was refused or unread."""
        return self.stopped_by in (StoppedBy.REFUSED, StoppedBy.UNREAD)

    @property
    def not_on_disk(self) -> tuple[LeftRange, ...]:
        """Return the ranges that the disk lacks although files prove that the log once had them."""
        return tuple(left for left in self.not_ingested if not left.is_on_disk)

    @property
    def waiting(self) -> tuple[LeftRange, ...]:
        """Return the ranges on the disk that are not ingested yet."""
        return tuple(left for left in self.not_ingested if left.is_on_disk)

    @property
    def search_for_damage(self) -> tuple[LeftRange, ...]:
        """Return the ranges not ingested yet that are damaged or not searched for damage."""
        begins = DAMAGED, UNSEARCHED
        return tuple(left for left in self.not_ingested if left.reason.startswith(begins))

    @property
    def moved_offsets(self) -> int:
        """Return by how many offsets the log has grown since `next_offset` last advanced."""
        return (self.log_end_offset or 0) - (self.first_log_end_offset or 0)

    def after(self, earlier: Self | None) -> Self:
        """Return this observation with `first_log_end_offset` and `waiting_since` set.

        Both continue from the earlier observation if `next_offset` has not advanced since.
        """
        first_end, since = self.log_end_offset, None
        if earlier is not None and self._is_unchanged_since(earlier):
            ends = (self.log_end_offset, earlier.first_log_end_offset)
            first_end = min((end for end in ends if end is not None), default=None)
            since = earlier.waiting_since
        if self.next_offset is not None:  # for a log that could not be read, the advance is unknown
            is_waiting = (self.log_end_offset or 0) > self.next_offset
            # If the clock was set back, `waiting_since` must not be in the future.
            since = min(since or self.observed_at, self.observed_at) if is_waiting else None
        return replace(self, first_log_end_offset=first_end, waiting_since=since)

    def _is_unchanged_since(self, earlier: Self) -> bool:
        """Return whether the upper bound has not risen; an election may have lowered it.

        Without a high watermark the upper bound is the log start, which only retention advances.
        """
        if self.stopped_by is earlier.stopped_by is StoppedBy.NO_HIGH_WATERMARK:
            return True
        bound, before = self.next_offset, earlier.next_offset
        if bound is None or before is None:
            bound, before = self.high_watermark, earlier.high_watermark
        return bound is not None and before is not None and bound <= before

    def shows_the_same(self, earlier: Self | None) -> bool:
        """Return whether an earlier observation differs only in time and run."""
        if earlier is None:
            return False
        return self == replace(earlier, observed_at=self.observed_at, run_id=self.run_id)

    def is_stuck(self, now: datetime, limit: timedelta) -> bool:
        """Return whether the log grew while its upper bound stayed for longer than the limit.

        A log that does not grow is not stuck: it is a copy, or its cluster is dead.
        """
        return (
            self.stopped_by in _BOUNDS
            and self.waiting_since is not None
            and now - self.waiting_since > limit
            and self.moved_offsets > 0
        )


def stopped_by(bounds: LogBounds, policy: ReadPolicy, *, has_tail: bool) -> StoppedBy:
    """Return the reason why a run stops in a log that can be read."""
    if bounds.next_offset < bounds.log_end_offset:
        is_waiting = len(bounds.open_transactions) > len(bounds.passed)
        if is_waiting and policy.isolation is Isolation.READ_COMMITTED:
            return StoppedBy.OPEN_TRANSACTION
        is_known = bounds.high_watermark is not None
        return StoppedBy.HIGH_WATERMARK if is_known else StoppedBy.NO_HIGH_WATERMARK
    return StoppedBy.TAIL if has_tail else StoppedBy.LOG_END


def listing_of(copies: Sequence[Replica], upper_bound: UpperBound) -> str:
    """Return a text that changes if any copy of a log grows or is truncated.

    It has the configured upper bound, and each copy's high watermark, last leader epoch and last
    segment (offset, size, modification time). Earlier segments are omitted, since retention deletes
    them. The time shows appends to a preallocated file, whose size does not change. Of a segment in
    a tier it has what later runs need not read again; see `LastUpload`.
    """
    return " ".join([upper_bound, *sorted(_end_of(copy) for copy in copies)])


def _end_of(copy: Replica) -> str:
    """Describe a copy's end: broker, high watermark, last leader epoch and last segment."""
    broker = f"{copy.broker_id}{'-future' if copy.is_future else ''}"
    epoch = copy.epochs[-1].epoch if copy.epochs else None
    facts: list[object] = [broker, copy.checkpoints.high_watermark, epoch]
    if copy.segments:
        last = copy.segments[-1]
        facts += [last.base_offset, last.size_bytes, last.modified_at_ms]
        if copy.last_upload is not None:
            facts += LastUpload.of(copy.last_upload) or ()
    return ":".join(map(str, facts))


def has_moved(seen: Observation | None, copies: Sequence[Replica], upper_bound: UpperBound) -> bool:
    """Return whether a log has changed since an observation; see `listing_of`."""
    has_segment = any(copy.segments for copy in copies)
    return has_segment and (seen is None or seen.listing != listing_of(copies, upper_bound))


def copy_seen(earlier: Observation, log: Sequence[Replica]) -> Replica:
    """Return the copy that an observation describes.

    It is the only copy of the observation's broker, or else the copy that is likely to be chosen.
    """
    same = [copy for copy in log if copy.broker_id == earlier.broker_id]
    return same[0] if len(same) == 1 else likely(log)
