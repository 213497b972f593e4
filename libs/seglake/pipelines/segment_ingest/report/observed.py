"""A run's observation of each partition: from a survey, or from an earlier run. Pure."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from seglake.kafka_log.log_bounds import log_start_of
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
from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.kafka_log.replica_selection import likely
from seglake.kafka_log.short_logs import ShortLog
from seglake.pipelines.segment_ingest.planning.damage_above import DamageAbove
from seglake.pipelines.segment_ingest.planning.surveyed_partition import SurveyedPartition
from seglake.pipelines.segment_ingest.report.round_result import RoundResult
from seglake.pipelines.segment_ingest.report.unread import unread_ranges
from seglake.pipelines.segment_ingest.run_context import RunContext
from seglake.segment_codec.errors import TailKind

_MOST_FILES = 16
_MOST_ROWS = 5_000  # or as many for each partition as so many files would have
_TICK = timedelta(milliseconds=1)
# Of these a run has seen all that there is to see, so they hold while the listing does.
_SEEN_WHOLE = frozenset(StoppedBy) - {
    StoppedBy.LOST_ELECTION,
    StoppedBy.NO_SEGMENT,
    StoppedBy.REFUSED,
    StoppedBy.UNREAD,
}


@dataclass(frozen=True, slots=True)
class RunObservations:
    """A run's observations, those to be recorded, and the time of the record."""

    every: tuple[Observation, ...]
    to_record: tuple[Observation, ...]
    recorded_at: datetime

    def renewed(self, run_id: str) -> tuple[Observation, ...]:
        """Return one observation dated to this run, if there is any."""
        return tuple(
            replace(seen, observed_at=self.recorded_at, run_id=run_id) for seen in self.every[:1]
        )


def observed(
    rounds: Sequence[RoundResult],
    short_logs: Iterable[ShortLog],
    damage: DamageAbove,
    unread: Container[str],
    context: RunContext,
    now: datetime,
) -> RunObservations:
    """Return the observations of a run's rounds, of partitions read again only the last ones.

    Observations that changed since earlier runs are to be recorded; all of them if the earlier ones
    came from many files or rows, so that the next run reads one file. Recorded ones are dated after
    those they replace, even if the clock was set back.

    Args:
        damage: damage found above the bounds.
        unread: partitions and topics that a later run must read again in any case.
    """
    found: dict[PartitionKey, tuple[Observation, Observation | None]] = {}
    file_count = row_count = 0
    for done in rounds:
        file_count = max(file_count, done.look.earlier.file_count)
        row_count = max(row_count, done.look.earlier.row_count)
        found |= _of_round(done, context, now)
    stale = {key for done in rounds for key in done.look.check.stale}
    folders = {
        log.key: [copy.folder for copy in log.replicas]
        for done in rounds
        for log in done.look.listed
    }
    proved = {log.key: log for log in short_logs}
    for key, (seen, earlier) in found.items():
        # A copy that proves less of a log does not prove that nothing of it is lost.
        read = () if key in stale else folders[key]
        seen = _with_damage(seen, damage.get(key, ()))
        if seen.listing is not None and (str(key) in unread or key.topic in unread):
            seen = replace(seen, listing=None)
        left = _not_on_disk(seen, earlier, proved.get(key), read)
        found[key] = _with_short(seen, left, context, now), earlier
    every = tuple(seen for seen, _ in found.values())
    is_whole = file_count >= _MOST_FILES or row_count > max(_MOST_ROWS, _MOST_FILES * len(every))
    to_record = [
        seen
        for seen, earlier in found.values()
        if is_whole or not (seen is earlier or seen.shows_the_same(earlier))
    ]
    before = (earlier.observed_at + _TICK for _, earlier in found.values() if earlier is not None)
    newer = max([now, *before])
    stamped = (replace(seen, observed_at=newer, run_id=context.run_id) for seen in to_record)
    return RunObservations(every, tuple(stamped), newer)


def _with_damage(seen: Observation, damage: tuple[LeftRange, ...]) -> Observation:
    return replace(seen, not_ingested=(*seen.not_ingested, *damage)) if damage else seen


def _not_on_disk(
    seen: Observation, earlier: Observation | None, short: ShortLog | None, folders: Sequence[str]
) -> tuple[LeftRange, ...]:
    """Return the proved ranges not on disk: of copies read now, and of others as observed earlier.

    Another copy that ends at the same offset and proves nothing does not bring lost ranges back.

    Args:
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
    """Return the observation with its ranges that are not on disk replaced."""
    if seen.not_on_disk == left:
        return seen
    not_ingested = (*seen.waiting, *left)
    return replace(seen, not_ingested=not_ingested, observed_at=now, run_id=context.run_id)


def _of_round(
    done: RoundResult, context: RunContext, now: datetime
) -> dict[PartitionKey, tuple[Observation, Observation | None]]:
    """Return each partition's observation by a round, and by the newest earlier run."""
    look = done.look
    surveyed = {partition.key: partition for partition in (*look.same, *look.quiet)}
    refused = look.refused
    found: dict[PartitionKey, tuple[Observation, Observation | None]] = {}
    for listed in look.listed:
        key, log, earlier = listed.key, listed.replicas, listed.earlier
        partition = surveyed.get(key)
        refusal = refused.get(str(key))
        is_quiet = partition is None and refusal is None
        if earlier is not None and key in look.check.stale:
            found[key] = (earlier, earlier)
        elif is_quiet and earlier is not None and any(copy.segments for copy in log):
            found[key] = (_carried(earlier, log, context, now), earlier)
        else:
            seen = _seen(log, partition, refusal, done, context, now)
            if seen.stopped_by in _SEEN_WHOLE:
                seen = replace(seen, listing=listing_of(log, context.settings.read.upper_bound))
            found[key] = (seen.after(earlier), earlier)
    return found


def _seen(
    log: Sequence[Replica],
    partition: SurveyedPartition | None,
    refusal: str | None,
    done: RoundResult,
    context: RunContext,
    now: datetime,
) -> Observation:
    """Return the observation of a partition in a round, if no earlier one holds."""
    key = log[0].key
    if refusal is not None:
        return _by_checkpoints(likely(log), StoppedBy.REFUSED, refusal, context, now)
    if partition is None:
        return _by_checkpoints(likely(log), StoppedBy.NO_SEGMENT, None, context, now)
    seen = _surveyed(partition, context, now)
    if key in done.look.check.lost_to_newer_epoch:
        return replace(seen, stopped_by=StoppedBy.LOST_ELECTION, next_offset=None)
    unread = done.unread.get(str(key))
    return seen if unread is None else replace(seen, stopped_by=StoppedBy.UNREAD, detail=unread)


def _surveyed(partition: SurveyedPartition, context: RunContext, now: datetime) -> Observation:
    unread = partition.unread_reason
    if unread is not None:
        return _by_checkpoints(partition.replica, StoppedBy.UNREAD, unread, context, now)
    bounds, settings = partition.bounds, context.settings
    tail = partition.surveys[-1].tail if partition.surveys else None
    has_tail = tail not in (None, TailKind.ZERO)  # zeros are padding
    why = stopped_by(bounds, settings.read_policy, has_tail=has_tail)
    return replace(
        _by_checkpoints(partition.replica, why, None, context, now),
        log_start_offset=bounds.log_start_offset,
        high_watermark=bounds.high_watermark,
        last_stable_offset=bounds.last_stable_offset,
        log_end_offset=bounds.log_end_offset,
        next_offset=bounds.next_offset,
        not_ingested=tuple(unread_ranges(partition, settings)),
    )


def _by_checkpoints(
    replica: Replica, why: StoppedBy, detail: str | None, context: RunContext, now: datetime
) -> Observation:
    """Return an observation by the checkpoint files alone."""
    return Observation(
        key=replica.key,
        broker_id=replica.broker_id,
        log_start_offset=replica.log_start_offset,
        high_watermark=replica.checkpoints.high_watermark,
        stopped_by=why,
        detail=detail,
        observed_at=now,
        run_id=context.run_id,
    )


def _carried(
    held: Observation, log: Sequence[Replica], context: RunContext, now: datetime
) -> Observation:
    """Return an earlier observation that still holds, with the current log start and time."""
    start = log_start_of(copy_seen(held, log), held.log_end_offset or 0, [])
    is_in_future = held.waiting_since is not None and held.waiting_since > now
    if start == held.log_start_offset and not is_in_future:
        return held
    seen = replace(held, log_start_offset=start, observed_at=now, run_id=context.run_id)
    return seen.after(held)
