"""Makes the summary of a run from the results of its steps."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from seglake.ingest_steps.committing.range_result import RangeResult, counts_by_name
from seglake.ingest_steps.report.gap_report import (
    GapsByPlace,
    expected_gaps,
    offset_count,
    recorded_gaps,
    repaired_gaps,
)
from seglake.ingest_steps.report.ingest_summary import (
    IngestSummary,
    PlannedWork,
    RunCounts,
)
from seglake.ingest_steps.report.limits import limits_crossed
from seglake.ingest_steps.report.planned_ranges import planned_ranges
from seglake.ingest_steps.report.recovered import recovery_of
from seglake.ingest_steps.report.refills import (
    refilled_records,
    with_refills,
)
from seglake.ingest_steps.report.run_facts import RunFacts
from seglake.ingest_steps.report.run_findings import findings_of
from seglake.ingest_steps.report.too_large import log_dirs_of, too_large
from seglake.kafka_log.offset_gaps import GapCause

_ODD_ROWS: Mapping[str, Callable[[RangeResult], int]] = {
    "open_rows": lambda result: result.open_rows,
    "replaced_header_names": lambda result: result.totals.replaced_header_names,
    "unread_internal": lambda result: result.totals.unread_internal,
    "unsettled_internal": lambda result: result.totals.unsettled_internal,
    "redacted": lambda result: result.totals.redacted,
}


def summarize(facts: RunFacts) -> IngestSummary:
    """Return the summary of a run."""
    context, repairs, committed = facts.context, facts.repairs, facts.committed
    both = [*committed, *repairs.results, *repairs.refills]
    gaps = with_refills(recorded_gaps(committed, repairs.rounds), repairs)
    if context.is_dry_run:
        gaps = expected_gaps(facts.planned)
    odd_rows, damaged = _odd_rows(both), damaged_spans(both)
    defects, planned = defect_counts(both), _planned(facts)
    expected = {range_.partition: 1 for range_ in planned.planned_ranges if range_.is_damage}
    limits = context.settings.limits
    findings = findings_of(facts, gaps)
    findings.add(limits_crossed(limits, damaged or expected, gaps, facts.short_logs))
    log_dirs = log_dirs_of(facts.discovery.replicas, damaged)
    limit_bytes, lake = limits.max_decompressed_batch_bytes, context.tables.lake_path
    findings.add(too_large(defects, limit_bytes, lake, log_dirs))
    return IngestSummary(
        run_id=context.run_id,
        source_id=context.source_id,
        lake=lake,
        is_dry_run=context.is_dry_run,
        seconds=facts.seconds,
        planned=planned,
        counts=_counts(facts, both, gaps, odd_rows),
        findings=findings,
        defects=defects,
        damaged=damaged,
        mended=dict(repairs.mended),
        gaps=gaps,
        repaired=repaired_gaps(repairs),
        refilled=refilled_records(repairs),
        left_in_copies=dict(repairs.left_records),
        salvaged=facts.salvaged,
        odd_rows=odd_rows,
        internal_topics_left_out=sorted(
            filter(context.settings.select.leaves_out_internal, facts.discovery.topics)
        ),
        recovered_topics=list(facts.recovered_topics),
        topics=sorted({result.key.topic for result in both}),
        ingested_partitions={str(result.key) for result in both},
        recovery=recovery_of(facts),
    )


def _planned(facts: RunFacts) -> PlannedWork:
    rounds, fills, ranges = facts.rounds, facts.repairs.planned_fills, facts.planned
    waves = [wave for done in rounds for wave in done.waves]
    return PlannedWork(
        partitions=max(len(done.partitions) for done in rounds)
        + len(facts.discovery.left_out_partitions),
        partitions_with_news=sum(len({plan.key for plan in done.ranges}) for done in rounds),
        tasks=sum(len(wave.tasks) for wave in waves),
        planned_bytes=sum(wave.size_bytes for wave in waves),
        planned_offsets=sum(plan.next_offset - plan.start_offset for plan in ranges),
        planned_repairs=len(fills),
        planned_repair_offsets=sum(fill.filled_offsets for fill in fills),
        planned_ranges=planned_ranges(ranges) if facts.context.is_dry_run else [],
        planned_fills=list(fills),
    )


def _counts(
    facts: RunFacts,
    both: Sequence[RangeResult],
    gaps: GapsByPlace,
    odd_rows: Mapping[str, Mapping[str, int]],
) -> RunCounts:
    repairs = facts.repairs
    totals = [result.totals for result in both]
    reports = [report for result in both for report in result.reports]
    quarantined_bytes = sum(report.bytes.in_quarantine for report in reports)
    return RunCounts(
        read_bytes=sum(report.bytes.read for report in reports),
        written_bytes=sum(done.written_bytes for done in facts.rounds) + repairs.written_bytes,
        records=sum(total.records for total in totals),
        batches=sum(total.batches for total in totals),
        quarantined=sum(total.quarantined_batches for total in totals),
        quarantined_bytes=quarantined_bytes,
        repaired_gaps=len(repairs.results),
        repaired_records=sum(result.totals.records for result in repairs.results),
        refilled_records=sum(refilled_records(replace(repairs, expected={})).values()),
        missing_offsets=offset_count(gaps.get(GapCause.MISSING, {})),
        **{name: sum(counts.values()) for name, counts in odd_rows.items()},
    )


def _odd_rows(committed: Sequence[RangeResult]) -> dict[str, dict[str, int]]:
    """Return the number of unusual rows by their name in `RunCounts`, and by partition."""
    found = {name: counts_by_name(committed, count_of) for name, count_of in _ODD_ROWS.items()}
    return {name: counts for name, counts in found.items() if counts}


def defect_counts(results: Iterable[RangeResult]) -> dict[str, int]:
    """Return the number of quarantined byte spans by defect code."""
    counts: Counter[str] = Counter()
    for result in results:
        for report in result.reports:
            counts.update(dict(report.defects))
    return dict(counts)


def damaged_spans(results: Iterable[RangeResult]) -> dict[str, int]:
    """Return the number of quarantined byte spans by partition."""
    return counts_by_name(results, lambda result: result.totals.quarantined_batches)
