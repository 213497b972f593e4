"""The order of an ingest run, and nothing else. Effect."""

import time
import uuid
from collections.abc import Callable, Sequence

from seglake.kafka_log.replica import Replica
from seglake.kafka_log.replica_selection import (
    likely,
    notes_of,
    replicas_by_partition,
)
from seglake.lake.delta_commit import recover
from seglake.lake.delta_tables import LakeTables
from seglake.log_dirs.discovery import Discovery, check_apart
from seglake.log_dirs.errors import WrongSourceError
from seglake.log_dirs.relisting import retryable_replicas
from seglake.log_tables.coverage import Coverage, with_known_id
from seglake.pipelines.segment_ingest.committing.wave import WaveResult, run_wave
from seglake.pipelines.segment_ingest.planning.isolation import check_isolation
from seglake.pipelines.segment_ingest.planning.plan import (
    RangePlan,
    SurveyedPartition,
    Wave,
    plan_ranges,
    plan_waves,
)
from seglake.pipelines.segment_ingest.planning.replica_survey import survey_partitions
from seglake.pipelines.segment_ingest.repair.repair import RepairResult, expected_repairs, repair
from seglake.pipelines.segment_ingest.replica_conflicts.conflicts import (
    ConflictRows,
    clashes_with_lake,
    clashes_with_replicas,
    commit_conflicts,
)
from seglake.pipelines.segment_ingest.replica_conflicts.log_check import LogCheck, check_logs
from seglake.pipelines.segment_ingest.replica_conflicts.replica_compare import ConflictCount
from seglake.pipelines.segment_ingest.report.ingest_summary import IngestSummary
from seglake.pipelines.segment_ingest.report.round_result import PlannedRound, RoundResult
from seglake.pipelines.segment_ingest.report.run_report import RunFacts, summarize
from seglake.pipelines.segment_ingest.run_context import (
    RunContext,
    ScanContext,
    decode_settings,
    list_sources,
    published,
)
from seglake.storage.errors import StorageError

_MOST_ROUNDS = 5


def ingest(
    sources: Sequence[str],
    lake: str,
    scan: ScanContext,
    *,
    run_id: str | None = None,
    dry_run: bool = False,
    after: Callable[[str], None] = lambda step: None,
) -> IngestSummary:
    """Ingest what is new in the sources into the lake's tables, exactly once.

    Args:
        scan: its storage serves the sources and the lake; the caller opens and closes its engine.
        run_id: a label for the rows; made up when None.
        dry_run: plan only; nothing is written, not even the tables.
        after: called with the name of each step of a commit, for tests that stop there.

    Raises:
        WrongSourceError, LakeFolderError, IsolationConflictError, UnsafeStoreError: a wrong call;
            nothing was touched.
        SeglakeError: the lake or a worker failed; what was committed stays, run again.
    """
    started = time.monotonic()
    scan.reporter.step("listing the sources")
    lake_path = scan.storage.locate(lake)
    discovery = list_sources(sources, scan)
    check_apart(discovery, scan.storage, lake_path)
    context = RunContext(
        scan=scan,
        tables=LakeTables(lake_path, scan.storage),
        source_id=discovery.source_id,
        run_id=run_id or uuid.uuid4().hex,
        started_at_us=time.time_ns() // 1000,
        after=after,
        is_dry_run=dry_run,
    )
    recovered = _opened(context) if discovery.replicas and not dry_run else ()
    rounds, unread = _ingested(sources, discovery, context)
    refused = {name for done in rounds for name in done.plan.refused}
    readable = [replica for replica in discovery.replicas if str(replica.key) not in refused]
    repairs = _repaired(readable, context) if context.tables.exists() else RepairResult()
    scan.reporter.clear()
    facts = RunFacts(
        context=context,
        discovery=discovery,
        recovered_topics=recovered,
        seconds=round(time.monotonic() - started, 3),
    )
    return summarize(facts, rounds, {**unread, **repairs.unread}, repairs)


def _opened(context: RunContext) -> tuple[str, ...]:
    """Make the tables, and complete what an earlier run left; its topics.

    First of all: a place that cannot be a lake is an error before the work.
    """
    context.tables.create_missing(is_single_writer=context.settings.write.single_writer)
    return recover(context.tables, context.source_id)


def _ingested(
    sources: Sequence[str], discovery: Discovery, context: RunContext
) -> tuple[list[RoundResult], dict[str, str]]:
    """All rounds of a run, and what none of them could read, with the reason."""
    unread = dict(discovery.unreadable)
    rounds = _rounds(discovery.replicas, context, unread)
    if unread:
        retried = _retryable(sources, discovery, context, unread)
        for replica in retried:
            unread.pop(str(replica.key), None)
        rounds += _rounds(retried, context, unread) if retried else []
    return rounds, unread


def _rounds(
    replicas: Sequence[Replica], context: RunContext, unread: dict[str, str]
) -> list[RoundResult]:
    """Plan and execute, and again what another run took meanwhile."""
    rounds: list[RoundResult] = []
    for _ in range(_MOST_ROUNDS):
        done = _round(replicas, context)
        rounds.append(done)
        unread |= {**done.plan.unread, **done.unread}
        if not done.lost_topics:
            return rounds
        replicas = [replica for replica in replicas if replica.key.topic in done.lost_topics]
        recover(context.tables, context.source_id, sorted(done.lost_topics))
    for topic in sorted(rounds[-1].lost_topics):
        unread[topic] = f"{topic}: concurrent runs kept committing first; run again"
    return rounds


def _retryable(
    sources: Sequence[str], discovery: Discovery, context: RunContext, unread: dict[str, str]
) -> Sequence[Replica]:
    """List again what could not be read because its broker deleted or cleaned it."""
    try:
        now = list_sources(sources, context.scan)
    except (WrongSourceError, StorageError):
        return ()  # the source is gone: what was left out waits
    return retryable_replicas(discovery.replicas, now.replicas, unread)


def _round(replicas: Sequence[Replica], context: RunContext) -> RoundResult:
    """Survey, plan, and, unless it is a dry run, decode and commit."""
    topics = sorted({replica.key.topic for replica in replicas})
    generations, coverage = published(context, topics)
    check_isolation(topics, coverage, context.settings)
    # With the ids that the ledger knows, for copies of one partition must be seen as such.
    logs = replicas_by_partition(with_known_id(replica, coverage) for replica in replicas)
    partitions = survey_partitions(logs, coverage, context.scan)
    check = _checked(logs, partitions, coverage, context)
    same = [partition for partition in partitions if partition.key not in check.refused]
    wanted = [partition for partition in same if partition.key not in check.lost_to_newer_epoch]
    new = ConflictRows(clashes_with_replicas(wanted, context), context)
    old = ConflictRows(clashes_with_lake(same, coverage, context), context)
    notes = (
        *notes_of(logs, [partition.choice for partition in same]),
        *check.notes,
        *_shorter_notes(check, old),
    )
    unread = _unread(wanted)
    ranges = [
        plan
        for partition in wanted
        if str(partition.key) not in unread
        for plan in plan_ranges(partition, context.settings)
    ]
    waves = _waves(ranges, context)
    plan = PlannedRound(
        logs=tuple(logs),
        partitions=tuple(same),
        notes=notes,
        refused={str(key): reason for key, reason in check.refused.items()},
        unread=unread,
        ranges=tuple(ranges),
        size_bytes=sum(wave.size_bytes for wave in waves),
        task_count=sum(len(wave.tasks) for wave in waves),
    )
    if context.is_dry_run:
        return RoundResult(plan=plan, conflicts=(new.expected(), old.expected()))
    results = _run_waves(waves, generations, new, context)
    lost = {topic for result in results for topic in result.lost}
    lost |= set(commit_conflicts(old, generations, context))
    return RoundResult(
        plan=plan,
        committed=tuple(done for result in results for done in result.committed),
        unread={name: why for result in results for name, why in result.left_out.items()},
        conflicts=(new.recorded, old.recorded),
        written_bytes=sum(result.written_bytes for result in results),
        lost_topics=frozenset(lost),
    )


def _checked(
    logs: Sequence[Sequence[Replica]],
    partitions: Sequence[SurveyedPartition],
    coverage: Coverage,
    context: RunContext,
) -> LogCheck:
    """See that each log is still the one that the lake has."""
    chosen = {partition.key: partition.replica for partition in partitions}
    shown = [chosen.get(replicas[0].key) or likely(replicas) for replicas in logs]
    return check_logs(shown, partitions, coverage, context)


def _unread(partitions: Sequence[SurveyedPartition]) -> dict[str, str]:
    """The partitions with a segment that could not be read, with the reason."""
    return {
        str(partition.key): f"{partition.key}: {survey.missing}"
        for partition in partitions
        for survey in reversed(partition.surveys)  # the first of several is the one that is named
        if survey.missing is not None
    }


def _waves(ranges: Sequence[RangePlan], context: RunContext) -> list[Wave]:
    write, read = context.settings.write, context.settings.read
    return plan_waves(ranges, write.wave_bytes, read.split_bytes, decode_settings(context))


def _shorter_notes(check: LogCheck, conflicts: ConflictRows) -> list[str]:
    """What to say of logs that end below what was ingested."""
    expected = conflicts.expected()
    notes = []
    for shorter in check.shorter:
        count = expected.get(shorter.replica.key, ConflictCount())
        notes.append(shorter.note(has_won=count.contradicts > 0, has_lost=count.lost > 0))
    return notes


def _run_waves(
    waves: Sequence[Wave],
    generations: dict[str, int],
    conflicts: ConflictRows,
    context: RunContext,
) -> list[WaveResult]:
    """Decode and commit wave by wave."""
    if waves:
        context.reporter.step(f"decoding {sum(len(wave.tasks) for wave in waves)} tasks")
    results = []
    for wave in waves:
        result = run_wave(wave, generations, context, extra_files=conflicts.of_ranges)
        conflicts.settle(result.lost)
        results.append(result)
    return results


def _repaired(replicas: Sequence[Replica], context: RunContext) -> RepairResult:
    """Fill gaps from logs that are not refused, or say what would be filled."""
    if not context.is_dry_run:
        return repair(replicas, context)
    topics = {replica.key.topic for replica in replicas}
    return expected_repairs(topics, replicas, context, is_replay=False)
