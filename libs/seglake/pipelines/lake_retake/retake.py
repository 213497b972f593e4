"""Steps of a retake: ingests ranges that lost an election from the winning log."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace

from seglake.findings.kinds import FindingKind
from seglake.findings.shown_offsets import shown_ranges
from seglake.ingest_steps.committing.range_result import RangeResult
from seglake.ingest_steps.committing.wave import (
    WaveResult,
    planned_waves,
    run_waves,
)
from seglake.ingest_steps.repair.repair import repair
from seglake.ingest_steps.report.tier_gaps import standing_tier_gaps, tier_gap_reasons
from seglake.ingest_steps.run_context import (
    RunContext,
    ScanContext,
    check_apart,
    list_of_lake,
    opened_lake,
    published,
)
from seglake.kafka_log.leader_epochs import OPEN_END
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.read_policy import Isolation
from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.lake.delta_commit import recover
from seglake.log_tables.source_ledger import SourceLedger
from seglake.pipelines.lake_retake.retake_ledger import RetakeLedger
from seglake.pipelines.lake_retake.retake_plan import (
    NOTHING_YET,
    RetakePlan,
    Selection,
    planned,
    requested_ranges_of,
    selected_keys,
)
from seglake.pipelines.lake_retake.retake_summary import RetakeSummary
from seglake.settings.topic_selection import check_selection

_MOST_ROUNDS = 5


def retake(
    sources: Sequence[str], lake: str, scan: ScanContext, *, selection: Selection
) -> RetakeSummary:
    """Ingest ranges again whose rows in the lake lost an election, exactly once.

    Args:
        sources: log dirs with the winning logs: paths or URIs.
        lake: the lake's path or URI.
        scan: context with the storage of sources and lake; the caller closes its engine.
        selection: the partitions of the selected topics.

    Raises:
        WrongCallError: the lake, a source or the selection is wrong. Nothing has been changed.
        SeglakeError: the lake or a worker failed. Earlier commits are kept; run it again.
    """
    started = time.monotonic()
    tables = opened_lake(lake, scan)
    scan.reporter.step("listing the sources")
    discovery = list_of_lake(sources, scan, tables)
    check_apart(discovery, scan.storage, tables.lake_path)
    context = RunContext.begun(_of_whole_logs(scan), tables, discovery.source_id)
    _, ledger = published(context, [])
    missing, notes = check_selection(ledger.topics, context.settings.select, place="lake")
    keys = selected_keys(ledger, selection, context)
    if not scan.is_dry_run:
        recover(tables, context.source_id, sorted(_topics_of(keys)), after=context.after)
    summary = RetakeSummary(scan.run_id, tables.lake_path, scan.is_dry_run, partitions=len(keys))
    summary.findings.add_reasons(FindingKind.LEFT_OUT, {**discovery.not_read, **missing})
    summary.findings.add_reasons(FindingKind.UNPROVED_TIER, discovery.unproved_tiers)
    for isolation in Isolation:
        own = {key for key in keys if ledger.isolations.get(key.topic) == isolation}
        replicas = [each for each in discovery.replicas if each.key.topic in _topics_of(own)]
        _retake(own, replicas, selection, context.with_isolation(isolation), summary)
    summary.close(context.settings.limits, discovery.replicas, notes)
    summary.seconds = round(time.monotonic() - started, 3)
    return summary


def _of_whole_logs(scan: ScanContext) -> ScanContext:
    """Return the context without a time window, because superseded ranges are ingested whole."""
    select = replace(scan.settings.select, from_timestamp=None, to_timestamp=None)
    return replace(scan, settings=replace(scan.settings, select=select))


def _topics_of(keys: Iterable[PartitionKey]) -> set[str]:
    return {key.topic for key in keys}


def _retake(
    keys: set[PartitionKey],
    replicas: Sequence[Replica],
    selection: Selection,
    context: RunContext,
    summary: RetakeSummary,
) -> None:
    """Retake the partitions of topics with one isolation level, and fill the remaining gaps."""
    lost, rounds = keys, 0
    whole = {key: [(0, OPEN_END)] for key in keys} if selection.is_whole else {}
    committed: list[RangeResult] = []
    left_out: dict[str, str] = {}
    while lost and rounds < _MOST_ROUNDS:
        for key in lost:
            left_out.pop(str(key), None)  # a later round tries again
        if rounds:
            topics = sorted(_topics_of(lost))
            recover(context.tables, context.source_id, topics, after=context.after)
        done = _round(lost, whole, replicas, context, summary)
        committed += done.committed
        left_out |= done.left_out
        lost, rounds = {key for key in lost if key.topic in done.lost}, rounds + 1
    for topic in sorted(_topics_of(lost)):
        left_out[topic] = f"{topic}: concurrent runs kept committing first; run again"
    summary.findings.add_reasons(FindingKind.LEFT_OUT, left_out)
    if context.is_dry_run:
        return
    _, ledger = published(context, [])
    _name_waiting(keys - lost, ledger, summary)
    searched = replicas if committed else ()
    repairs = repair(searched, context)
    summary.add_findings(committed, repairs, context.settings)
    absent = standing_tier_gaps(searched, [repairs.absent], repairs.standing, ledger)
    summary.findings.add_reasons(FindingKind.LEFT_OUT, tier_gap_reasons(absent))


def _name_waiting(keys: set[PartitionKey], ledger: SourceLedger, summary: RetakeSummary) -> None:
    """Add a reason for each superseded range above the offset up to which its log may be read."""
    for key in sorted(keys, key=str):
        ranges = ledger.of(key).superseded
        if ranges and str(key) not in summary.left_out:
            shown = shown_ranges(ranges)
            reason = f"{key}: {shown} waits: {NOTHING_YET}"
            summary.findings.add_reasons(FindingKind.LEFT_OUT, {str(key): reason})


def _round(
    keys: set[PartitionKey],
    whole: dict[PartitionKey, list[OffsetRange]],
    replicas: Sequence[Replica],
    context: RunContext,
    summary: RetakeSummary,
) -> WaveResult:
    """Plan and execute one round.

    Args:
        keys: the partitions to retake.
        whole: offsets still to ingest, for each partition whose current rows are replaced, too. The
            round removes the offsets that it has ingested.
        replicas: the sources' replicas.
        context: the run.
        summary: the plan and the results are added to it.
    """
    generations, ledger = published(context, sorted(_topics_of(keys)))
    requested = requested_ranges_of(keys, whole, ledger)
    plan = planned(replicas, requested, ledger, context) if requested else RetakePlan()
    summary.findings.add_texts(FindingKind.NOTE, plan.notes)
    if context.is_dry_run:
        summary.add_plan(plan, context.settings)
        return WaveResult(left_out=plan.left_out)
    waves = planned_waves(plan.ranges, context)
    retakes = {retake.key: retake for retake in plan.retakes}
    rows = RetakeLedger(retakes, ledger, generations, context, whole)
    done = run_waves(waves, generations, context, rows)
    lost = done.lost.union(rows.release())
    summary.add(done.committed, rows.released)
    return replace(done, lost=lost, left_out={**plan.left_out, **done.left_out})
