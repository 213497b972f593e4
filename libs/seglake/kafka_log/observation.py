"""A run's observation of a partition's log, kept also if no row was ingested. Pure.

While the end of a log is listed as in the last observation, nothing needs to be read.
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
from seglake.segment_codec.formats.side_files.log_dir import parse_folder_name


class StoppedBy(StrEnum):
    """Reason why a run stops in a log."""

    LOG_END = "log_end"  # everything is ingested
    HIGH_WATERMARK = "high_watermark"
    NO_HIGH_WATERMARK = "no_high_watermark"  # the broker's checkpoint has none for the partition
    OPEN_TRANSACTION = "open_transaction"  # at the last stable offset
    TAIL = "tail"  # the last segment ends in something that is not a whole batch
    NO_SEGMENT = "no_segment"
    LOST_ELECTION = "lost_election"  # this replica lost it to the ingested log
    REFUSED = "refused"  # this is not the log that the lake has
    UNREAD = "unread"  # some of its files could not be read


NOT_ON_DISK = "not on disk: "
"""Prefix of the reason for proved offsets that are not on the disk."""

NAMED_ONLY = "only the metadata log names "
"""Prefix of the reason for partitions that the metadata log names and no disk has."""

DAMAGED = "damaged, and quarantined once it is ingested: "
"""Prefix of the reason for damage among waiting offsets."""

UNSEARCHED = "not searched for damage: "
"""Prefix of the reason for waiting offsets whose bytes are too many to search in advance."""

_BOUNDS = frozenset(
    {StoppedBy.HIGH_WATERMARK, StoppedBy.NO_HIGH_WATERMARK, StoppedBy.OPEN_TRANSACTION}
)


class LeftRange(NamedTuple):
    """A range of offsets of a log that is not ingested, with the reason."""

    reason: str
    from_offset: int
    log_end_offset: int

    @property
    def is_on_disk(self) -> bool:
        """Return whether the disk has the offsets; if False, only the broker's files prove them."""
        return not self.reason.startswith(NOT_ON_DISK)

    @property
    def is_damaged(self) -> bool:
        """Return whether damaged bytes hide the offsets."""
        return self.reason.startswith(DAMAGED)

    def names(self, folder: str) -> bool:
        """Return whether the reason names the folder of a copy."""
        return f"{self.reason} ".find(f" {folder} ") >= 0


@dataclass(frozen=True, slots=True)
class UnreadPlace:
    """An unread file or folder of a source that no partition's observation names.

    Attributes:
        path: path in the source; for a partition that only the metadata log names,
            `__cluster_metadata`, the topic id and the partition, joined by slashes.
        reason: why the place is not read, in words.
        ranges: offsets that the place is known to have, or to have had.
    """

    path: str
    reason: str
    ranges: tuple[OffsetRange, ...] = ()

    @classmethod
    def named_only(cls, key: PartitionKey) -> Self:
        """Return a partition that the metadata log names and no disk has."""
        reason = f"{NAMED_ONLY}{key}: no disk that was ingested has a folder of it"
        return cls(f"{CLUSTER_METADATA}/{key.topic_id}/{key}", reason)

    @property
    def is_named_only(self) -> bool:
        """Return whether only the metadata log names the partition."""
        return self.reason.startswith(NAMED_ONLY)

    @property
    def is_on_disk(self) -> bool:
        """Return whether a disk has the place; else files of the broker name or prove it."""
        return not self.reason.startswith((NOT_ON_DISK, NAMED_ONLY))

    @property
    def key(self) -> PartitionKey | None:
        """Return the partition of the innermost folder with such a name."""
        names = self.path.split("/")
        for name in reversed(names):
            folder = parse_folder_name(name)
            if folder is not None:
                topic_id = names[1] if self.is_named_only else None
                return PartitionKey(folder.topic, folder.partition, topic_id)
        return None

    def outside(self, covered: Sequence[OffsetRange]) -> Self | None:
        """Return the place without covered offsets; None if all its known offsets are covered."""
        left = tuple(without(self.ranges, *covered))
        return replace(self, ranges=left) if left or not self.ranges else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """A partition as a run saw it.

    Attributes:
        last_stable_offset: last stable offset, exclusive; None if the log could not be read.
        log_end_offset: end of the log, exclusive; None if the log could not be read.
        next_offset: upper bound of what a run may ingest, None if nothing.
        detail: reason why the log was refused or not read.
        not_ingested: ranges on the disk above `next_offset`, and proved ranges not on the disk.
        first_log_end_offset: lowest log end seen since `next_offset` last advanced.
        waiting_since: time when offsets above this `next_offset` were first seen, None if none are.
        listing: text that changes when the log grows, see `listing_of`; None if the log must be
            read again in any case.
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
        """Return whether `detail` is the reason why the log's end is unknown."""
        return self.stopped_by in (StoppedBy.REFUSED, StoppedBy.UNREAD)

    @property
    def not_on_disk(self) -> tuple[LeftRange, ...]:
        """Return the ranges that the broker's files prove and its disk lacks."""
        return tuple(left for left in self.not_ingested if not left.is_on_disk)

    @property
    def waiting(self) -> tuple[LeftRange, ...]:
        """Return the ranges on the disk that no run could ingest yet."""
        return tuple(left for left in self.not_ingested if left.is_on_disk)

    @property
    def search_for_damage(self) -> tuple[LeftRange, ...]:
        """Return the waiting ranges that a search for damage found damaged or left unsearched."""
        begins = DAMAGED, UNSEARCHED
        return tuple(left for left in self.not_ingested if left.reason.startswith(begins))

    @property
    def moved_offsets(self) -> int:
        """Count the offsets by which the log has grown since `next_offset` last advanced."""
        return (self.log_end_offset or 0) - (self.first_log_end_offset or 0)

    def after(self, earlier: Self | None) -> Self:
        """Return the observation, completed with an earlier one's facts that still hold.

        These are the lowest log end seen and the time since which offsets wait.
        """
        first_end, since = self.log_end_offset, None
        if earlier is not None and self._is_unchanged_since(earlier):
            ends = (self.log_end_offset, earlier.first_log_end_offset)
            first_end = min((end for end in ends if end is not None), default=None)
            since = earlier.waiting_since
        if self.next_offset is not None:  # an unread log does not show that it has advanced
            is_waiting = (self.log_end_offset or 0) > self.next_offset
            # A clock that was set back must not make a partition wait from the future.
            since = min(since or self.observed_at, self.observed_at) if is_waiting else None
        return replace(self, first_log_end_offset=first_end, waiting_since=since)

    def _is_unchanged_since(self, earlier: Self) -> bool:
        """Return whether the upper bound has not risen; after an election it may even be lower.

        Without a high watermark the bound is the log start, which only retention moves.
        """
        if self.stopped_by is earlier.stopped_by is StoppedBy.NO_HIGH_WATERMARK:
            return True
        bound, before = self.next_offset, earlier.next_offset
        if bound is None or before is None:
            bound, before = self.high_watermark, earlier.high_watermark
        return bound is not None and before is not None and bound <= before

    def shows_the_same(self, earlier: Self | None) -> bool:
        """Return whether only the time and the run differ from an earlier observation."""
        if earlier is None:
            return False
        return self == replace(earlier, observed_at=self.observed_at, run_id=self.run_id)

    def is_stuck(self, now: datetime, limit: timedelta) -> bool:
        """Return whether the log grows but its bound has not moved for longer than the limit.

        A log that does not grow is a copy, or belongs to a dead cluster.
        """
        return (
            self.stopped_by in _BOUNDS
            and self.waiting_since is not None
            and now - self.waiting_since > limit
            and self.moved_offsets > 0
        )


def stopped_by(bounds: LogBounds, policy: ReadPolicy, *, has_tail: bool) -> StoppedBy:
    """Return the reason why a readable log is not ingested further."""
    if bounds.next_offset < bounds.log_end_offset:
        is_waiting = len(bounds.open_transactions) > len(bounds.passed)
        if is_waiting and policy.isolation is Isolation.READ_COMMITTED:
            return StoppedBy.OPEN_TRANSACTION
        is_known = bounds.high_watermark is not None
        return StoppedBy.HIGH_WATERMARK if is_known else StoppedBy.NO_HIGH_WATERMARK
    return StoppedBy.TAIL if has_tail else StoppedBy.LOG_END


def listing_of(copies: Sequence[Replica], upper_bound: UpperBound) -> str:
    """Return a text that changes when the end of any copy of a log changes.

    It has the upper bound, and each copy's high watermark, last leader epoch and last segment
    (offset, size, modification time). The first segments are left out, for retention deletes them.
    The time shows appends to a preallocated file, whose size does not change.
    """
    return " ".join([upper_bound, *sorted(_end_of(copy) for copy in copies)])


def _end_of(copy: Replica) -> str:
    """Return the end of one copy as text: broker, high watermark, epoch and last segment."""
    broker = f"{copy.broker_id}{'-future' if copy.is_future else ''}"
    epoch = copy.epochs[-1].epoch if copy.epochs else None
    facts: list[object] = [broker, copy.checkpoints.high_watermark, epoch]
    if copy.segments:
        last = copy.segments[-1]
        facts += [last.base_offset, last.size_bytes, last.modified_at_ms]
    return ":".join(map(str, facts))


def has_moved(seen: Observation | None, copies: Sequence[Replica], upper_bound: UpperBound) -> bool:
    """Return whether a log's end is not listed as in its newest observation; see `listing_of`."""
    has_segment = any(copy.segments for copy in copies)
    return has_segment and (seen is None or seen.listing != listing_of(copies, upper_bound))


def copy_seen(earlier: Observation, log: Sequence[Replica]) -> Replica:
    """Return the copy of the observation's broker, or the likely one unless exactly one is."""
    same = [copy for copy in log if copy.broker_id == earlier.broker_id]
    return same[0] if len(same) == 1 else likely(log)
