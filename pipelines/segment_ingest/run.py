"""The order of an ingest run, and nothing else. Effect."""

import time
import uuid
from collections.abc import Callable, Sequence

from lake.delta_commit import recover
from lake.delta_tables import LakeTables
from lake.engine import Engine
from lake.errors import StorageError
from lake.storage import Storage
from pipelines.segment_ingest.errors import WrongSourceError
from pipelines.segment_ingest.execute import RunContext, decode_settings, published, run_wave
from pipelines.segment_ingest.planning.coverage import check_isolation, with_known_id
from pipelines.segment_ingest.planning.plan import (
    RangePlan,
    SurveyedPartition,
    Wave,
    plan_ranges,
    plan_waves,
)
from pipelines.segment_ingest.progress import RunReporter
from pipelines.segment_ingest.repairing.repair import expected_repairs, repair
from pipelines.segment_ingest.same_logs.conflicts import (
    ConflictRows,
    clashes_with_lake,
    clashes_with_siblings,
    commit_conflicts,
)
from pipelines.segment_ingest.same_logs.replica_compare import ConflictCount
from pipelines.segment_ingest.same_logs.replicas import copies_by_partition, likely, notes_of
from pipelines.segment_ingest.same_logs.same_log import check_logs
from pipelines.segment_ingest.settings import Settings
from pipelines.segment_ingest.sources.discover import Discovery, check_apart, discover
from pipelines.segment_ingest.sources.partition_log import Replica
from pipelines.segment_ingest.sources.second_look import readable_again
from pipelines.segment_ingest.summary import IngestSummary
from pipelines.segment_ingest.surveying.copy_survey import partition_of, survey_copies

_MOST_ROUNDS = 5


def ingest(
    sources: Sequence[str],
    lake: str,
    storage: Storage,
    settings: Settings,
    engine: Engine,
    reporter: RunReporter,
    *,
    run_id: str | None = None,
    dry_run: bool = False,
    after: Callable[[str], None] = lambda step: None,
) -> IngestSummary:
    """Take what is new in the sources into the lake's tables, exactly once.

    Args:
        storage: serves the places of the sources and of the lake.
        engine: runs the tasks; the caller opens and closes it.
        run_id: a label for the rows; made up when None.
        dry_run: plan only; nothing is written, not even the tables.
        after: called with the name of each step of a commit, for tests that stop there.

    Raises:
        WrongSourceError, LakeFolderError, IsolationConflictError, UnsafeStoreError: a wrong call;
            nothing was touched.
        LakeError: the lake or a worker failed; what was committed stays, run again.
    """
    started = time.monotonic()
    reporter.step("listing the sources")
    lake_path = storage.locate(lake)
    discovery = discover(sources, storage, settings)
    check_apart(discovery, storage, lake_path)
    tables = LakeTables(lake_path, storage)
    summary = IngestSummary(run_id or uuid.uuid4().hex, discovery.source_id, lake_path, dry_run)
    summary.notes += discovery.notes
    summary.left_out |= discovery.unreadable
    if not discovery.replicas:
        summary.notes.append(_nothing_selected(settings))
    if discovery.replicas and not dry_run:
        # First: a place that cannot be a lake is told before the work.
        tables.create_missing(is_single_writer=settings.write.single_writer)
        summary.recovered_topics += recover(tables, discovery.source_id)
    context = RunContext(
        tables,
        discovery.source_id,
        summary.run_id,
        settings,
        engine,
        reporter,
        after,
        time.time_ns() // 1000,
    )
    _take(discovery.replicas, context, summary)
    if summary.left_out:
        _take_again(sources, discovery, context, summary)
    if tables.exists():
        _repair(discovery.replicas, context, summary)
    reporter.clear()
    summary.check_limits(settings)
    summary.seconds = round(time.monotonic() - started, 3)
    return summary


def _repair(replicas: Sequence[Replica], context: RunContext, summary: IngestSummary) -> None:
    """Fill gaps from logs that are not refused, or say what would be filled."""
    logs = [each for each in replicas if str(each.key) not in summary.refused]
    if not summary.is_dry_run:
        repair(logs, context, summary)
        return
    topics = {each.key.topic for each in logs}
    expected = expected_repairs(topics, logs, context, summary, is_replay=False)
    summary.planned_repairs, summary.planned_repair_offsets = expected


def _nothing_selected(settings: Settings) -> str:
    globs = ", ".join(settings.select.topics)
    if globs:
        return f"no topic of the sources is selected by {globs} (each glob is an option of its own)"
    return "the sources hold no partition of a topic that is not internal"


def _take(replicas: Sequence[Replica], context: RunContext, summary: IngestSummary) -> None:
    """Plan and execute, and again what another run took meanwhile."""
    for _ in range(_MOST_ROUNDS):
        lost = _round(replicas, context, summary)
        if not lost:
            return
        replicas = [replica for replica in replicas if replica.key.topic in lost]
        recover(context.tables, context.source_id, sorted(lost))
    for topic in sorted(lost):
        summary.left_out[topic] = f"{topic}: other runs kept taking it; run again"


def _take_again(
    sources: Sequence[str], discovery: Discovery, context: RunContext, summary: IngestSummary
) -> None:
    """List and take once more what could not be read because its broker deleted or cleaned it."""
    try:
        now = discover(sources, context.storage, context.settings)
    except (WrongSourceError, StorageError):
        return  # the source is gone: what was left out waits
    replicas = readable_again(discovery.replicas, now.replicas, summary.left_out)
    if replicas:
        for replica in replicas:
            summary.left_out.pop(str(replica.key), None)
        _take(replicas, context, summary)


def _round(replicas: Sequence[Replica], context: RunContext, summary: IngestSummary) -> set[str]:
    """Plan and execute once; the topics that another run took meanwhile."""
    topics = sorted({replica.key.topic for replica in replicas})
    generations, coverage = published(context, topics)
    check_isolation(topics, coverage, context.settings)
    # With the ids that the ledger knows, for copies of one partition must be seen as such.
    logs = copies_by_partition(with_known_id(replica, coverage) for replica in replicas)
    choices = survey_copies(logs, coverage, context)
    partitions = [partition_of(choice, coverage, context.settings) for choice in choices]
    read = {each.chosen.key: each.chosen for each in choices}
    shown = [read.get(copies[0].key) or likely(copies) for copies in logs]
    check = check_logs(shown, partitions, coverage, context)
    partitions = [each for each in partitions if each.replica.key not in check.refused]
    choices = [each for each in choices if each.chosen.key not in check.refused]
    summary.refused |= {str(key): reason for key, reason in check.refused.items()}
    notes = [*notes_of(logs, choices), *check.notes]
    summary.begin_round(logs, partitions, notes, context.settings)
    partitions = [each for each in partitions if each.replica.key not in check.outvoted]
    ranges = _ranges(partitions, context.settings, summary)
    waves = _waves(ranges, context, summary)
    new = ConflictRows(clashes_with_siblings(partitions, context), context)
    old = ConflictRows(clashes_with_lake(choices, coverage, context), context)
    parted = old.expected()
    for shorter in check.shorter:
        count = parted.get(shorter.replica.key, ConflictCount())
        summary.note([shorter.note(has_won=count.contradicts > 0, has_lost=count.lost > 0)])
    if summary.is_dry_run:
        for each in ranges:
            summary.take(each, each.next_offset)
        summary.add_conflicts(new.expected(), old.expected())
        return set()
    lost = _run_waves(waves, generations, new, context, summary)
    lost |= set(commit_conflicts(old, generations, context))
    summary.add_conflicts(new.recorded, old.recorded)
    return lost


def _run_waves(
    waves: Sequence[Wave],
    generations: dict[str, int],
    conflicts: ConflictRows,
    context: RunContext,
    summary: IngestSummary,
) -> set[str]:
    """Decode and commit wave by wave; the topics that another run took meanwhile."""
    if waves:
        context.reporter.step(f"decoding {sum(len(wave.tasks) for wave in waves)} tasks")
    lost: set[str] = set()
    for wave in waves:
        result = run_wave(wave, generations, context, more_rows=conflicts.of_ranges)
        conflicts.settle(result.lost)
        summary.add(result.committed)
        summary.left_out.update(result.left_out)
        summary.written_bytes += result.written_bytes
        taken = {each.plan.partition.replica.key.topic for each in result.committed}
        summary.topics = sorted({*summary.topics, *taken})
        lost |= set(result.lost)
    return lost


def _ranges(
    partitions: Sequence[SurveyedPartition], settings: Settings, summary: IngestSummary
) -> list[RangePlan]:
    ranges: list[RangePlan] = []
    for partition in partitions:
        name = str(partition.replica.key)
        gone = [survey.missing for survey in partition.surveys if survey.missing is not None]
        if gone:
            summary.left_out[name] = f"{name}: {gone[0]}"
            continue
        own = plan_ranges(partition, settings)
        summary.partitions_with_news += bool(own)
        ranges += own
    return ranges


def _waves(ranges: Sequence[RangePlan], context: RunContext, summary: IngestSummary) -> list[Wave]:
    settings = context.settings
    waves = plan_waves(
        ranges,
        settings.write.wave_bytes,
        settings.read.split_bytes,
        decode_settings(context),
    )
    summary.planned_bytes += sum(wave.size_bytes for wave in waves)
    summary.planned_offsets += sum(each.next_offset - each.start_offset for each in ranges)
    summary.tasks += sum(len(wave.tasks) for wave in waves)
    return waves
