"""Makes the summary of a run from what its steps found and did. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from seglake.kafka_log.replica import Replica
from seglake.log_dirs.discovery import Discovery
from seglake.pipelines.segment_ingest.committing.range_result import RangeResult
from seglake.pipelines.segment_ingest.planning.plan import RangePlan
from seglake.pipelines.segment_ingest.repair.repair import RepairResult
from seglake.pipelines.segment_ingest.replica_conflicts.replica_compare import ConflictCount
from seglake.pipelines.segment_ingest.report.ingest_summary import (
    Findings,
    IngestSummary,
    PlannedWork,
    RunCounts,
)
from seglake.pipelines.segment_ingest.report.round_result import RoundResult
from seglake.pipelines.segment_ingest.report.unread import still_open, unread_ranges
from seglake.pipelines.segment_ingest.run_context import RunContext
from seglake.pipelines.settings.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What is known of a run besides its rounds."""

    context: RunContext
    discovery: Discovery
    recovered_topics: tuple[str, ...]
    seconds: float


def summarize(
    facts: RunFacts,
    rounds: Sequence[RoundResult],
    unread: Mapping[str, str],
    repairs: RepairResult,
) -> IngestSummary:
    """Put together what a person should know of a run.

    Args:
        unread: what no round could read, with the reason.
    """
    context = facts.context
    committed = [result for done in rounds for result in done.committed]
    both = [*committed, *repairs.results]
    counts = _counts(rounds, committed, repairs)
    return IngestSummary(
        run_id=context.run_id,
        source_id=context.source_id,
        lake=context.tables.lake_path,
        is_dry_run=context.is_dry_run,
        seconds=facts.seconds,
        planned=_planned(rounds, repairs),
        counts=counts,
        findings=_findings(facts, rounds, unread, repairs, counts),
        defects=_defects(both),
        damaged=_damaged(both),
        recovered_topics=list(facts.recovered_topics),
        topics=sorted({result.plan.key.topic for result in both}),
        taken={str(result.plan.key) for result in both},
    )


def _planned(rounds: Sequence[RoundResult], repairs: RepairResult) -> PlannedWork:
    plans = [done.plan for done in rounds]
    ranges = [plan for done in plans for plan in done.ranges]
    return PlannedWork(
        partitions=max(len(plan.logs) for plan in plans),
        partitions_with_news=sum(len({planned.key for planned in plan.ranges}) for plan in plans),
        tasks=sum(plan.task_count for plan in plans),
        planned_bytes=sum(plan.size_bytes for plan in plans),
        planned_offsets=sum(plan.next_offset - plan.start_offset for plan in ranges),
        planned_repairs=repairs.planned_gaps,
        planned_repair_offsets=repairs.planned_offsets,
    )


def _counts(
    rounds: Sequence[RoundResult], committed: Sequence[RangeResult], repairs: RepairResult
) -> RunCounts:
    both = [*committed, *repairs.results]
    totals = [result.totals for result in both]
    internal = [result.totals for result in committed]
    reports = [report for result in both for report in result.reports]
    quarantined_bytes = sum(report.bytes.quarantined for report in reports)
    return RunCounts(
        read_bytes=sum(report.bytes.sound for report in reports) + quarantined_bytes,
        written_bytes=sum(done.written_bytes for done in rounds) + repairs.written_bytes,
        records=sum(total.records for total in totals),
        batches=sum(total.batches for total in totals),
        quarantined=sum(total.quarantined_batches for total in totals),
        quarantined_bytes=quarantined_bytes,
        repaired_gaps=len(repairs.results),
        repaired_records=sum(result.totals.records for result in repairs.results),
        missing_offsets=sum(result.missing_offsets for result in committed),
        open_rows=sum(report.open_rows for result in committed for report in result.reports),
        replaced_header_names=sum(total.replaced_header_names for total in internal),
        unread_internal=sum(total.unread_internal for total in internal),
        unsettled_internal=sum(total.unsettled_internal for total in internal),
        redacted=sum(total.redacted for total in internal),
    )


def _defects(results: Iterable[RangeResult]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for result in results:
        for report in result.reports:
            counts.update(dict(report.defects))
    return dict(counts)


def _damaged(results: Iterable[RangeResult]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for result in results:
        if result.totals.quarantined_batches:
            counts[str(result.plan.key)] += result.totals.quarantined_batches
    return dict(counts)


def _findings(
    facts: RunFacts,
    rounds: Sequence[RoundResult],
    unread: Mapping[str, str],
    repairs: RepairResult,
    counts: RunCounts,
) -> Findings:
    settings = facts.context.settings
    # A later round speaks only of the topics that it took up again.
    last = {str(log[0].key): done for done in rounds for log in done.plan.logs}
    final = [
        partition
        for done in rounds
        for partition in done.plan.partitions
        if last[str(partition.replica.key)] is done
    ]
    seen = [partition for done in rounds for partition in done.plan.partitions]
    doubts = [doubt.text for partition in seen for doubt in partition.bounds.unknown_outcomes]
    return Findings(
        not_ingested_yet=[
            range_ for partition in final for range_ in unread_ranges(partition, settings)
        ],
        open_transactions=[
            open_ for partition in final for open_ in still_open(partition, settings)
        ],
        unknown_outcomes=_once(doubts),
        ingested_unknown_outcomes=_once(_taken_doubts(rounds, is_dry_run=facts.context.is_dry_run)),
        contradicted=list(repairs.contradicted),
        left_out=dict(unread),
        refused={name: reason for done in rounds for name, reason in done.plan.refused.items()},
        conflicts=_conflicts(rounds),
        notes=_notes(facts, rounds, repairs),
        limits_crossed=limits_crossed(counts, settings),
    )


def _taken_doubts(rounds: Iterable[RoundResult], *, is_dry_run: bool) -> list[str]:
    """What is uncertain in the ranges that were ingested, or would be."""
    taken: list[tuple[RangePlan, int]] = []
    for done in rounds:
        if is_dry_run:
            taken += [(plan, plan.next_offset) for plan in done.plan.ranges]
        else:
            taken += [(result.plan, result.next_offset) for result in done.committed]
    return [
        doubt.text
        for plan, next_offset in taken
        for doubt in (() if plan.bounds is None else plan.bounds.unknown_outcomes)
        if doubt.start_offset < next_offset and plan.start_offset < doubt.next_offset
    ]


def _conflicts(rounds: Iterable[RoundResult]) -> dict[str, ConflictCount]:
    counts: dict[str, ConflictCount] = {}
    for done in rounds:
        for found in done.conflicts:
            for key, count in found.items():
                counts[str(key)] = counts.get(str(key), ConflictCount()).plus(count)
    return counts


def _notes(facts: RunFacts, rounds: Iterable[RoundResult], repairs: RepairResult) -> list[str]:
    notes = [*facts.discovery.notes]
    if not facts.discovery.replicas:
        notes.append(_nothing_selected(facts.context.settings))
    for done in rounds:
        notes += done.plan.notes
        notes += [note for log in done.plan.logs for note in _empty_logs(log)]
        notes += [note for partition in done.plan.partitions for note in partition.bounds.notes]
        notes += [note for result in done.committed for note in _zero_tails(result)]
    return _once([*notes, *repairs.notes])


def _nothing_selected(settings: Settings) -> str:
    globs = ", ".join(settings.select.topics)
    if globs:
        return f"no topic of the sources is selected by {globs} (each glob is an option of its own)"
    return "the sources hold no partition of a topic that is not internal"


def _empty_logs(log: Sequence[Replica]) -> list[str]:
    first = log[0]
    if not first.durable_offset or any(replica.segments for replica in log):
        return []
    return [
        f"{first.folder} holds no segment, though the broker's checkpoints say "
        f"{first.durable_offset} for {first.key}"
    ]


def _zero_tails(result: RangeResult) -> list[str]:
    return [
        f"{tail.segment} ends in {tail.size_bytes} zero bytes at position "
        f"{tail.position}; no offset is missing"
        for report in result.reports
        for tail in report.tails
        if not tail.is_last_segment
    ]


def limits_crossed(counts: RunCounts, settings: Settings) -> list[str]:
    """Which limits of the settings a run crossed, in words."""
    crossed = []
    if settings.limits.fail_on_quarantine and counts.quarantined:
        crossed.append(f"limits.fail_on_quarantine: {counts.quarantined} quarantined")
    if settings.limits.fail_on_unexplained_gap and counts.missing_offsets:
        crossed.append(f"limits.fail_on_unexplained_gap: {counts.missing_offsets} offsets missing")
    return crossed


def _once(texts: Iterable[str]) -> list[str]:
    return [*dict.fromkeys(texts)]
