"""One round of a run: lists, surveys, judges, plans and commits its partitions.

A run has several rounds if another run commits to a topic first, or if a broker deletes or cleans
segments that are being read.
"""

import logging
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from seglake.grouping import grouped
from seglake.ingest_steps.committing.concurrent_ranges import ConcurrentRange
from seglake.ingest_steps.committing.election_rows import SupersededRange
from seglake.ingest_steps.committing.range_result import RangeResult, by_partition
from seglake.ingest_steps.committing.wave import (
    WaveResult,
    planned_waves,
    run_waves,
)
from seglake.ingest_steps.planning.isolation import check_isolation
from seglake.ingest_steps.planning.log_ends import plan_ends
from seglake.ingest_steps.planning.partitions import (
    JudgedPartition,
    ListedPartition,
    SurveyedPartition,
    listed_partitions,
)
from seglake.ingest_steps.planning.plan import RangePlan, Wave, plan_ranges
from seglake.ingest_steps.planning.replica_survey import survey_partitions
from seglake.ingest_steps.planning.unread_data import (
    NOTHING_UNREAD,
    UnreadData,
    unread_data,
)
from seglake.ingest_steps.replica_conflicts.conflicts import (
    ConflictRows,
    clashes_with_lake,
    clashes_with_replicas,
    commit_conflicts,
)
from seglake.ingest_steps.replica_conflicts.elections import lost_elections
from seglake.ingest_steps.replica_conflicts.log_check import judge
from seglake.ingest_steps.run_context import RunContext, published
from seglake.kafka_log.log_identity import ShorterLog, lagging_notes
from seglake.kafka_log.observation import has_moved
from seglake.kafka_log.offset_ranges import merged
from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.kafka_log.replica_selection import notes_of
from seglake.kafka_log.short_logs import ShortLog
from seglake.lake.delta_commit import recover
from seglake.log_tables.batch_lookup import IngestedBatches
from seglake.log_tables.observation_rows import NewestObservations, newest_observations
from seglake.log_tables.source_ledger import SourceLedger
from seglake.segment_decoding.conflict_counts import ConflictCount, ConflictKind, counted

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class PlannedPartition(JudgedPartition):
    """Judged partition with the ranges to ingest, and with the results after the commits.

    Attributes:
        ranges: ranges by rising offsets; a last range without offsets records damage at the end of
            the log.
        superseded: offset ranges whose rows in the tables lost an election to this log.
        left: data that is or should be on the disks, but is unreadable.
        unread: why the partition was not fully read and committed; None if it was.
        committed: ranges that are in the tables now; empty in a dry run.
        conflicts: number of other replicas' batches that differ from those in the tables.
    """

    ranges: tuple[RangePlan, ...]
    superseded: tuple[SupersededRange, ...]
    left: UnreadData
    unread: str | None
    committed: tuple[RangeResult, ...] = ()
    conflicts: ConflictCount = field(default_factory=Counter)


@dataclass(frozen=True, kw_only=True)
class Round:
    """A round with its partitions.

    Attributes:
        partitions: the partitions after the round.
        earlier: observations of earlier runs.
        notes: messages for the user that need no action.
        waves: planned waves.
        written_bytes: size of the committed files.
        lost_topics: topics that another run committed first, with the topic's commit counter
            (generation) before that commit.
        concurrent: ranges of these topics that the other run committed.
    """

    partitions: tuple[PlannedPartition, ...]
    earlier: NewestObservations
    notes: tuple[str, ...]
    waves: tuple[Wave, ...]
    written_bytes: int
    lost_topics: Mapping[str, int]
    concurrent: tuple[ConcurrentRange, ...] = ()

    @property
    def ranges(self) -> list[RangePlan]:
        """Return the planned ranges of all partitions."""
        return [plan for each in self.partitions for plan in each.ranges]

    @property
    def committed(self) -> list[RangeResult]:
        """Return the committed ranges of all partitions."""
        return [result for each in self.partitions for result in each.committed]

    @cached_property
    def same(self) -> list[SurveyedPartition]:
        """Return surveys of partitions that may have new data and whose log is the lake's log."""
        return [*filter(None, (each.same for each in self.partitions))]

    @property
    def unread(self) -> dict[str, str]:
        """Return the reasons for unread partitions, by name."""
        return {str(each.key): each.unread for each in self.partitions if each.unread is not None}


def ingest_round(replicas: Sequence[Replica], context: RunContext) -> Round:
    """List, survey, judge and plan the partitions, then decode and commit.

    A dry run ends after the plan.
    """
    topics = sorted({replica.key.topic for replica in replicas})
    context.reporter.step("reading the ledger")
    generations, ledger = published(context, topics)
    check_isolation(topics, ledger, context.settings)
    lake = IngestedBatches(context.tables, context.source_id, ledger)
    listed, earlier = _listed(replicas, ledger, lake, context)
    surveyed = survey_partitions(listed, context)
    judged = judge(listed, surveyed, lake, context)
    new = ConflictRows(clashes_with_replicas(judged, context), generations, context)
    old = ConflictRows(clashes_with_lake(judged, context), generations, context)
    planned = _planned(judged, old, context)
    ranges = sorted((plan for each in planned for plan in each.ranges), key=lambda of: of.is_end)
    waves = planned_waves(ranges, context)
    notes = (*_notes(planned, old, context), *other_clusters_notes(ranges, ledger, context))
    _log_plan(planned, waves)
    if context.is_dry_run:
        done, conflicts = WaveResult(), counted([*new.unlisted().items(), *old.unlisted().items()])
    else:
        done = _committed(planned, waves, new, old, generations, context)
        conflicts = counted([*new.recorded.items(), *old.recorded.items()])
    return Round(
        partitions=tuple(_ingested(planned, done, conflicts)),
        earlier=earlier,
        notes=notes,
        waves=tuple(waves),
        written_bytes=done.written_bytes,
        lost_topics={topic: generations[topic] for topic in done.lost},
    )


def _listed(
    replicas: Iterable[Replica], ledger: SourceLedger, lake: IngestedBatches, context: RunContext
) -> tuple[list[ListedPartition], NewestObservations]:
    """Return the partitions, each with its earlier observation."""
    logs = listed_partitions(replicas, ledger, context.storage, lake)
    keys = [log.key for log in logs]
    earlier = newest_observations(context.tables, context.source_id, keys, ledger)
    upper_bound = context.settings.read.upper_bound
    listed = [
        log._replace(earlier=seen, has_moved=has_moved(seen, log.replicas, upper_bound))
        for log in logs
        for seen in [earlier.by_key.get(log.key)]
    ]
    return listed, earlier


def _planned(
    judged: Sequence[JudgedPartition], old: ConflictRows, context: RunContext
) -> list[PlannedPartition]:
    readable = filter(None, (each.readable for each in judged))
    ends = {plan.key: plan for plan in plan_ends(readable, context)}
    planned: list[PlannedPartition] = []
    for each in judged:
        same, ingestible, end = each.same, each.ingestible, ends.get(each.key)
        why = None if ingestible is None else ingestible.unread_reason
        ranges = [] if ingestible is None or why else plan_ranges(ingestible, context.settings)
        is_away = each.refusal or each.has_lost
        planned.append(
            PlannedPartition(
                **vars(each),
                ranges=(*ranges, *([] if end is None else [end])),
                superseded=() if same is None else lost_elections(same, old.clashes, context),
                left=NOTHING_UNREAD if is_away else unread_data(each.listed, each.surveyed),
                unread=f"{each.key}: {why}" if why else None,
            )
        )
    return planned


def _log_plan(planned: Sequence[PlannedPartition], waves: Sequence[Wave]) -> None:
    # There may be many partitions: format these lines only if they are logged.
    if not _LOG.isEnabledFor(logging.DEBUG):
        return
    for each in planned:
        if each.refusal:
            _LOG.debug("%s: refused: %s", each.key, each.refusal)
        elif each.unread is not None:
            _LOG.debug("unread: %s", each.unread)
        copies = len(each.listed.replicas)
        for plan in each.ranges:
            offsets = (plan.start_offset, plan.next_offset)
            _LOG.debug(
                "%s: to ingest [%d, %d) copies=%d from %s",
                *(each.key, *offsets, copies, each.replica.folder),
            )
    _LOG.debug(
        "round planned: partitions=%d surveyed=%d ranges=%d waves=%d bytes=%d",
        *(len(planned), sum(each.surveyed is not None for each in planned)),
        *(sum(len(each.ranges) for each in planned), len(waves)),
        sum(wave.size_bytes for wave in waves),
    )


def _notes(
    planned: Sequence[PlannedPartition], old: ConflictRows, context: RunContext
) -> Iterator[str]:
    same = filter(None, (each.same for each in planned))
    yield from notes_of((each.listed.replicas for each in planned), (each.choice for each in same))
    for each in planned:
        yield from each.notes
    yield from _shorter_notes(planned, old, wants_older=context.settings.read.older_copies)


def _shorter_notes(
    planned: Iterable[PlannedPartition], old: ConflictRows, *, wants_older: bool
) -> list[str]:
    """Return notes on logs that end below the ingested ranges but are not refused.

    Lagging and older copies share one note, which a run with older copies omits.
    """
    expected = old.expected()
    notes: list[str] = []
    lagging: list[ShorterLog] = []
    for each in planned:
        shorter = each.shorter
        if shorter is None or each.refusal or each.listed.duplicates:
            continue
        count = expected.get(each.key, Counter())
        elections = each.superseded or each.listed.ledger.superseded
        has_won = bool(count[ConflictKind.CONTRADICTS] or elections)
        has_lost = count[ConflictKind.LOST] > 0
        if has_won or has_lost or shorter.has_older_epoch:
            notes.append(shorter.note(has_won=has_won, has_lost=has_lost))
        elif not wants_older:
            lagging.append(shorter)
    return [*notes, *lagging_notes(lagging)]


def other_clusters_notes(
    ranges: Sequence[RangePlan], ledger: SourceLedger, context: RunContext
) -> list[str]:
    """Return a note if the lake has only rows of other clusters: it may be the wrong lake.

    Args:
        ranges: ranges that the run ingests.
        ledger: ledger of the run's own cluster; if the ledger has rows, the cluster is not new.
        context: the run.
    """
    if not ranges or ledger.topics or not context.tables.exists():
        return []
    others = [other for other in context.tables.source_ids() if other != context.source_id]
    if not others:
        return []
    return [
        f"{context.source_id} is new in this lake, which also has {', '.join(others)}:"
        " the column source_id separates their rows"
    ]


def _committed(
    planned: Sequence[PlannedPartition],
    waves: Sequence[Wave],
    new: ConflictRows,
    old: ConflictRows,
    generations: dict[str, int],
    context: RunContext,
) -> WaveResult:
    """Decode and commit wave by wave; then commit conflicts and superseded older rows."""
    # Complete interrupted commits first: if that fails, the run ends before it writes anything.
    if waves:
        topics = {plan.key.topic for each in planned for plan in each.ranges}
        recover(context.tables, context.source_id, sorted(topics), after=context.after)
    done = run_waves(waves, generations, context, new)
    superseded = [of for each in planned for of in each.superseded]
    lost = commit_conflicts(old, superseded, generations, context)
    return replace(done, lost=done.lost.union(lost))


def _ingested(
    planned: Iterable[PlannedPartition],
    done: WaveResult,
    conflicts: Mapping[PartitionKey, ConflictCount],
) -> Iterator[PlannedPartition]:
    committed = by_partition(done.committed)
    for each in planned:
        yield replace(
            each,
            committed=tuple(committed.get(each.key, ())),
            superseded=() if each.key.topic in done.lost else each.superseded,
            conflicts=conflicts.get(each.key, Counter()),
            unread=done.left_out.get(str(each.key), each.unread),
        )


def last_states(rounds: Iterable[Round]) -> list[PlannedPartition]:
    """Return each partition's state after the last round that read the partition."""
    done = [*rounds]
    if len(done) == 1:
        return [*done[0].partitions]
    last = {str(each.key): each_round for each_round in done for each in each_round.partitions}
    return [
        each
        for each_round in done
        for each in each_round.partitions
        if last[str(each.key)] is each_round
    ]


def short_logs(rounds: Iterable[Round], unread: Container[str]) -> dict[PartitionKey, ShortLog]:
    """Return the logs that end before an offset that they once reached, by partition.

    If the last batch's records have higher offsets than its header, the records' offsets count.

    Args:
        rounds: the rounds of the run.
        unread: partitions that could not be read, which are left out.
    """
    done = [*rounds]
    committed = (result for each in done for result in each.committed)
    # Not by name: a topic that was created again has a log of its own.
    came = grouped((result.key, result.offsets) for result in committed)
    short = {each.key: each.left.short for each in last_states(done)}
    left = (
        log.outside(merged(came.get(key, ())))
        for key, log in short.items()
        if log is not None and str(key) not in unread
    )
    return {log.key: log for log in left if log is not None}


def unmoved(rounds: Iterable[Round]) -> set[PartitionKey]:
    """Return the partitions with an unchanged listing from which nothing was ingested."""
    every = [each for done in rounds for each in done.partitions]
    changed = {each.key for each in every if each.listed.has_moved or each.committed}
    return {each.key for each in every} - changed
