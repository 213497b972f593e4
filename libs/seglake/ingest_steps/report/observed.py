"""Observations of a run: made from its surveys, or kept from earlier runs."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from seglake.ingest_steps.planning.damage_above import DamageAbove
from seglake.ingest_steps.planning.partitions import SurveyedPartition
from seglake.ingest_steps.report.unread import unread_ranges
from seglake.ingest_steps.rounds import PlannedPartition, Round
from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.log_bounds import log_start_of, remote_start_of
from seglake.kafka_log.observation import (
    NOT_ON_DISK,
    LeftRange,
    Observation,
    StoppedBy,
    copy_seen,
    listing_of,
    stopped_by,
)
from seglake.kafka_log.offset_ranges import merged, subtracted
from seglake.kafka_log.replica import Replica
from seglake.kafka_log.replica_selection import likely
from seglake.kafka_log.short_logs import ShortLog
from seglake.segment_codec.formats.errors import TailKind

_MOST_FILES = 16
# if _MOST_FILES times the number of partitions is more, that number is the limit
_MOST_ROWS = 5_000
_TICK = timedelta(milliseconds=1)
# Reasons to stop reading that hold as long as the listing does not change.
_SEEN_WHOLE = frozenset(StoppedBy) - {
    StoppedBy.LOST_ELECTION,
    StoppedBy.NO_SEGMENT,
    StoppedBy.REFUSED,
    StoppedBy.UNREAD,
}


class RunObservations(NamedTuple):
    """Observations of a run.

    Attributes:
        every: one observation of each partition.
        to_record: observations to write to the lake.
        recorded_at: time of the rows that are written.
    """

    every: tuple[Observation, ...]
    to_record: tuple[Observation, ...]
    recorded_at: datetime

    def renewed(self, run_id: str) -> tuple[Observation, ...]:
        """Return one observation, dated to this run; empty if the run has no observation."""
        return tuple(
            replace(seen, observed_at=self.recorded_at, run_id=run_id) for seen in self.every[:1]
        )


def observed(
    rounds: Sequence[Round],
    short_logs: Iterable[ShortLog],
    damage: DamageAbove,
    unread: Container[str],
    context: RunContext,
    now: datetime,
) -> RunObservations:
    """Return the last observation of each partition in a run's rounds.

    Observations are recorded if they changed since earlier runs. But if the earlier observations
    came from many files or rows, all are recorded, so that the next run reads one file only. A new
    observation gets a later time than the one that it replaces, even if the clock was set back.

    Args:
        rounds: the rounds of the run.
        short_logs: logs that end before an offset that they once reached; see `ShortLog`.
        damage: damage found above the bounds.
        unread: partitions and topics that a later run must read again, even if their listing is
            unchanged.
        context: the run.
        now: time of the observations.
    """
    partitions = {each.key: each for done in rounds for each in done.partitions}
    proved = {log.key: log for log in short_logs}
    found: list[tuple[Observation, Observation | None]] = []
    for key, each in partitions.items():
        earlier = each.listed.earlier
        # An older copy lacks the log's end, so it cannot show that no offset is lost.
        read = () if each.is_stale else [copy.folder for copy in each.listed.replicas]
        seen = _with_damage(_seen(each, context, now), damage.get(key, ()))
        if seen.listing is not None and (str(key) in unread or key.topic in unread):
            seen = replace(seen, listing=None)
        left = _not_on_disk(seen, earlier, proved.get(key), read)
        found.append((_with_short(seen, left, context, now), earlier))
    file_count = max(done.earlier.file_count for done in rounds)
    row_count = max(done.earlier.row_count for done in rounds)
    every = tuple(seen for seen, _ in found)
    is_whole = file_count >= _MOST_FILES or row_count > max(_MOST_ROWS, _MOST_FILES * len(every))
    to_record = [
        seen
        for seen, earlier in found
        if is_whole or not (seen is earlier or seen.shows_the_same(earlier))
    ]
    before = (earlier.observed_at + _TICK for _, earlier in found if earlier is not None)
    newer = max([now, *before])
    stamped = (replace(seen, observed_at=newer, run_id=context.run_id) for seen in to_record)
    return RunObservations(every, tuple(stamped), newer)


def _with_damage(seen: Observation, damage: tuple[LeftRange, ...]) -> Observation:
    return replace(seen, not_ingested=(*seen.not_ingested, *damage)) if damage else seen


def _not_on_disk(
    seen: Observation, earlier: Observation | None, short: ShortLog | None, folders: Sequence[str]
) -> tuple[LeftRange, ...]:
    """Return the ranges that the log once had, as files prove, but that no disk has.

    Ranges of earlier runs are included. They remain if this run read a different copy that ends at
    the same offset and proves no higher offsets.

    Args:
        seen: the observation of this run.
        earlier: the earlier observation; None if there is none.
        short: the log's missing end; None if the log is complete.
        folders: folders of the copies that this run has read.
    """
    now = (
        []
        if short is None
        else [LeftRange(f"{NOT_ON_DISK}{short.proof}", start, stop) for start, stop in short.ranges]
    )
    known = merged((left.from_offset, left.log_end_offset) for left in now)
    reached = max(seen.log_start_offset or 0, seen.log_end_offset or 0)
    for left in () if earlier is None else earlier.not_on_disk:
        if not any(left.names(folder) for folder in folders):
            start = max(left.from_offset, reached)
            rest = subtracted((start, left.log_end_offset), known)
            now += [LeftRange(left.reason, *offsets) for offsets in rest]
    return tuple(now)


def _with_short(
    seen: Observation, left: tuple[LeftRange, ...], context: RunContext, now: datetime
) -> Observation:
    """Return the observation with these ranges as the ones that no disk has."""
    if seen.not_on_disk == left:
        return seen
    not_ingested = (*seen.waiting, *left)
    return replace(seen, not_ingested=not_ingested, observed_at=now, run_id=context.run_id)


def _seen(partition: PlannedPartition, context: RunContext, now: datetime) -> Observation:
    """Return a partition's observation in this round, or the earlier one if it is still valid."""
    log, earlier = partition.listed.replicas, partition.listed.earlier
    if earlier is not None and partition.is_stale:
        return earlier
    is_quiet = partition.seen is None and not partition.refusal
    if is_quiet and earlier is not None and any(copy.segments for copy in log):
        return _carried(earlier, log, context, now)
    seen = _seen_now(partition, context, now)
    if seen.stopped_by in _SEEN_WHOLE:
        seen = replace(seen, listing=listing_of(log, context.settings.read.upper_bound))
    return seen.after(earlier)


def _seen_now(partition: PlannedPartition, context: RunContext, now: datetime) -> Observation:
    copy, surveyed = likely(partition.listed.replicas), partition.seen
    if partition.refusal:
        return _by_checkpoints(copy, StoppedBy.REFUSED, partition.refusal, context, now)
    if surveyed is None:
        return _by_checkpoints(copy, StoppedBy.NO_SEGMENT, None, context, now)
    seen = _surveyed(surveyed, context, now)
    if partition.has_lost:
        return replace(seen, stopped_by=StoppedBy.LOST_ELECTION, next_offset=None)
    if partition.unread is None:
        return seen
    return replace(seen, stopped_by=StoppedBy.UNREAD, detail=partition.unread)


def _surveyed(partition: SurveyedPartition, context: RunContext, now: datetime) -> Observation:
    unread = partition.unread_reason
    if unread is not None:
        return _by_checkpoints(partition.replica, StoppedBy.UNREAD, unread, context, now)
    bounds, settings = partition.bounds, context.settings
    tail = partition.surveys[-1].tail if partition.surveys else None
    has_tail = tail not in (None, TailKind.ZERO)  # zero bytes at the end are padding, not data
    why = stopped_by(bounds, settings.read_policy, has_tail=has_tail)
    return replace(
        _by_checkpoints(partition.replica, why, None, context, now),
        log_start_offset=bounds.remote_offset,
        high_watermark=bounds.high_watermark,
        last_stable_offset=bounds.last_stable_offset,
        log_end_offset=bounds.log_end_offset,
        next_offset=bounds.next_offset,
        not_ingested=tuple(unread_ranges(partition, settings)),
    )


def _by_checkpoints(
    replica: Replica, why: StoppedBy, detail: str | None, context: RunContext, now: datetime
) -> Observation:
    """Return an observation from checkpoint files only."""
    return Observation(
        key=replica.key,
        broker_id=replica.broker_id,
        log_start_offset=remote_start_of(replica, replica.log_start_offset),
        high_watermark=replica.checkpoints.high_watermark,
        stopped_by=why,
        detail=detail,
        observed_at=now,
        run_id=context.run_id,
    )


def _carried(
    held: Observation, log: Sequence[Replica], context: RunContext, now: datetime
) -> Observation:
    """Return a log's earlier observation, still valid, with the current log start and time."""
    copy = copy_seen(held, log)
    start = remote_start_of(copy, log_start_of(copy, held.log_end_offset or 0, []))
    is_in_future = held.waiting_since is not None and held.waiting_since > now
    if start == held.log_start_offset and not is_in_future:
        return held
    seen = replace(held, log_start_offset=start, observed_at=now, run_id=context.run_id)
    return seen.after(held)
