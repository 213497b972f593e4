"""Makes the summary of a run from what its steps found and did. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from seglake.kafka_log.observation import Observation, StoppedBy
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import subtracted
from seglake.kafka_log.replica import PartitionKey
from seglake.kafka_log.short_logs import ShortLog
from seglake.log_dirs.discovery import Discovery
from seglake.log_tables.source_ledger import SourceLedger
from seglake.pipelines.losing_tails import TailsOfPartition
from seglake.pipelines.offset_places import shown_range
from seglake.pipelines.progress import show_count
from seglake.pipelines.recovery import Recovery
from seglake.pipelines.segment_ingest.committing.range_result import RangeResult
from seglake.pipelines.segment_ingest.repair.repair import RepairResult
from seglake.pipelines.segment_ingest.repair.salvaged import Salvaged
from seglake.pipelines.segment_ingest.replica_conflicts.replica_compare import (
    ConflictCount,
    counted,
)
from seglake.pipelines.segment_ingest.report.doubts import (
    doubts_of_logs,
    left_out_doubts,
    taken_doubts,
)
from seglake.pipelines.segment_ingest.report.gap_report import (
    GapsByPlace,
    expected_gaps,
    offset_count,
    recorded_gaps,
    repaired_gaps,
)
from seglake.pipelines.segment_ingest.report.ingest_summary import (
    Findings,
    IngestSummary,
    PlannedWork,
    RunCounts,
)
from seglake.pipelines.segment_ingest.report.left_out import LeftOut, final_partitions
from seglake.pipelines.segment_ingest.report.limits import limits_crossed
from seglake.pipelines.segment_ingest.report.planned_ranges import planned_ranges
from seglake.pipelines.segment_ingest.report.recovered import recovery_of
from seglake.pipelines.segment_ingest.report.refills import (
    behind_note,
    refilled_records,
    with_refills,
)
from seglake.pipelines.segment_ingest.report.round_result import RoundResult
from seglake.pipelines.segment_ingest.report.stuck import stuck_partitions
from seglake.pipelines.segment_ingest.report.too_large import log_dirs_of, too_large
from seglake.pipelines.segment_ingest.report.unread import (
    UnreadRange,
    leaves_out,
    lost_tails,
    still_open,
)
from seglake.pipelines.segment_ingest.run_context import RunContext
from seglake.pipelines.settings.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """Facts of a run for its summary.

    Attributes:
        left: files and ranges of the sources that were not read.
        short_logs: logs that end below their proved end.
        ledger: the lake's ledger after the run.
        tails: losing tails in quarantine after the run.
    """

    context: RunContext
    discovery: Discovery
    recovered_topics: Sequence[str]
    rounds: Sequence[RoundResult]
    repairs: RepairResult
    left: LeftOut
    salvaged: Salvaged
    notes: Sequence[str]
    short_logs: Sequence[ShortLog]
    observations: Sequence[Observation]
    ledger: SourceLedger
    tails: Mapping[PartitionKey, TailsOfPartition]
    now: datetime
    seconds: float


def summarize(facts: RunFacts) -> IngestSummary:
    """Put together what a person should know of a run."""
    context, rounds, repairs = facts.context, facts.rounds, facts.repairs
    committed = [result for done in rounds for result in done.committed]
    both = [*committed, *repairs.results, *repairs.refills.results]
    gaps = with_refills(recorded_gaps(committed, repairs.rounds), repairs)
    if context.is_dry_run:
        gaps = expected_gaps(plan for done in rounds for plan in done.ranges)
    odd_rows, damaged = _odd_rows(both), damaged_spans(both)
    defects, planned = defect_counts(both), _planned(facts)
    expected = {range_.partition: 1 for range_ in planned.planned_ranges if range_.is_damage}
    limits = context.settings.limits
    crossed = limits_crossed(limits, damaged or expected, gaps, facts.short_logs)
    findings = _findings(facts, crossed, gaps)
    return IngestSummary(
        run_id=context.run_id,
        source_id=context.source_id,
        lake=context.tables.lake_path,
        is_dry_run=context.is_dry_run,
        seconds=facts.seconds,
        planned=planned,
        counts=_counts(facts, both, gaps, odd_rows),
        findings=replace(findings, too_large=_too_large(facts, defects, damaged)),
        defects=defects,
        damaged=damaged,
        mended=dict(repairs.mended),
        gaps=gaps,
        repaired=repaired_gaps(repairs),
        refilled=refilled_records(repairs.refills),
        left_in_copies=dict(repairs.left.records),
        salvaged=facts.salvaged,
        odd_rows=odd_rows,
        internal_topics_left_out=sorted(
            filter(context.settings.select.leaves_out_internal, facts.discovery.topics)
        ),
        recovered_topics=list(facts.recovered_topics),
        topics=sorted({result.key.topic for result in both}),
        taken={str(result.key) for result in both},
        recovery=_recovery(facts, committed),
    )


def _recovery(facts: RunFacts, committed: Sequence[RangeResult]) -> Recovery:
    repairs = facts.repairs
    return recovery_of(
        facts.observations,
        facts.ledger,
        facts.left.places,
        committed,
        repairs,
        facts.tails,
    )


def _too_large(
    facts: RunFacts, defects: Mapping[str, int], damaged: Mapping[str, int]
) -> list[str]:
    limit_bytes = facts.context.settings.limits.max_decompressed_batch_bytes
    replicas = [each for each in facts.discovery.replicas if str(each.key) in damaged]
    return too_large(defects, limit_bytes, facts.context.tables.lake_path, log_dirs_of(replicas))


def _planned(facts: RunFacts) -> PlannedWork:
    rounds, fills = facts.rounds, facts.repairs.planned_fills
    ranges = [plan for done in rounds for plan in done.ranges]
    waves = [wave for done in rounds for wave in done.waves]
    return PlannedWork(
        partitions=max(len(done.look.listed) for done in rounds)
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
        refilled_records=sum(refilled_records(replace(repairs.refills, expected={})).values()),
        missing_offsets=offset_count(gaps.get(GapCause.MISSING, {})),
        **{name: sum(counts.values()) for name, counts in odd_rows.items()},
    )


def _odd_rows(committed: Iterable[RangeResult]) -> dict[str, dict[str, int]]:
    """Count odd rows by the names of `RunCounts`, and by partition."""
    found: dict[str, Counter[str]] = {}
    for result in committed:
        totals = result.totals
        for name, count in {
            "open_rows": sum(report.open_rows for report in result.reports),
            "replaced_header_names": totals.replaced_header_names,
            "unread_internal": totals.unread_internal,
            "unsettled_internal": totals.unsettled_internal,
            "redacted": totals.redacted,
        }.items():
            if count:
                found.setdefault(name, Counter())[str(result.key)] += count
    return {name: dict(counts) for name, counts in found.items()}


def defect_counts(results: Iterable[RangeResult]) -> dict[str, int]:
    """Count the quarantined byte spans by defect code."""
    counts: Counter[str] = Counter()
    for result in results:
        for report in result.reports:
            counts.update(dict(report.defects))
    return dict(counts)


def damaged_spans(results: Iterable[RangeResult]) -> dict[str, int]:
    """Count the quarantined byte spans by partition."""
    counts: Counter[str] = Counter()
    for result in results:
        if result.totals.quarantined_batches:
            counts[str(result.key)] += result.totals.quarantined_batches
    return dict(counts)


def _findings(facts: RunFacts, limits: list[str], gaps: GapsByPlace) -> Findings:
    settings, rounds, repairs = facts.context.settings, facts.rounds, facts.repairs
    final = final_partitions(rounds)
    waiting, blocked = _left_ranges(facts)
    open_transactions = [open_ for partition in final for open_ in still_open(partition, settings)]
    lost = {key for done in rounds for key in done.look.check.lost_to_newer_epoch}
    decided = taken_doubts(rounds, is_dry_run=facts.context.is_dry_run)
    return Findings(
        not_ingested_yet=waiting,
        blocked=blocked,
        lost_elections=[
            range_
            for partition in final
            for range_ in lost_tails(partition, settings, has_lost=partition.key in lost)
        ],
        stuck=stuck_partitions(facts.observations, facts.now, settings.limits.stuck_after),
        open_transactions=open_transactions,
        expects_undecided=facts.context.is_dry_run
        and leaves_out(open_transactions, [plan for done in rounds for plan in done.ranges]),
        unknown_outcomes=_once(doubts_of_logs(rounds)),
        ingested_unknown_outcomes=_once(doubt.text for doubt in decided),
        left_out_unknown_outcomes=_once(left_out_doubts(decided, settings)),
        undecided_offsets=offset_count(gaps.get(GapCause.UNDECIDED, {})),
        contradicted=list(repairs.contradicted),
        concurrent_ranges=[
            *(range_ for done in rounds for range_ in done.concurrent),
            *repairs.concurrent,
        ],
        not_on_disk=sorted(facts.short_logs, key=lambda short: (-short.offsets, str(short.key))),
        unread_files=list(facts.left.files),
        left_out=dict(facts.left.reasons),
        refused=dict(facts.left.refused),
        conflicts=_conflicts(rounds),
        superseded=[*_superseded(rounds), *_waiting(rounds)],
        notes=_notes(facts, gaps),
        limits_crossed=limits,
    )


def _left_ranges(facts: RunFacts) -> tuple[list[UnreadRange], list[UnreadRange]]:
    """Return the ranges that wait for a later run, and those that wait for a person."""
    waiting: list[UnreadRange] = []
    blocked: list[UnreadRange] = []
    for seen in facts.observations:
        covered = facts.ledger.of(seen.key).covered
        for left in seen.waiting:
            offsets = left.from_offset, left.log_end_offset
            if offsets[0] < offsets[1] and not subtracted(offsets, covered):
                continue  # an earlier run went to the end of the log
            found = blocked if seen.stopped_by is StoppedBy.NO_HIGH_WATERMARK else waiting
            found.append(UnreadRange(str(seen.key), *left))
    return waiting, blocked


def _conflicts(rounds: Iterable[RoundResult]) -> dict[str, ConflictCount]:
    found = [each for done in rounds for of in done.conflicts for each in of.items()]
    counts = counted((str(key), count) for key, count in found)
    return {name: count for name, count in counts.items() if any(count)}


def _superseded(rounds: Iterable[RoundResult]) -> list[str]:
    return [
        f"{of}: {show_count(of.records, 'record')} lost an election; `seglake retake` ingests what "
        "the log that won has there"
        for done in rounds
        for of in done.superseded
    ]


def _waiting(rounds: Sequence[RoundResult]) -> list[str]:
    """Return the ranges that lost an election before this run and still wait for a retake."""
    return [
        f"{key} {shown_range(*offsets)}: lost an election in an earlier run, and waits for "
        "`seglake retake`"
        for key, offsets in rounds[0].waiting
    ]


def _notes(facts: RunFacts, gaps: GapsByPlace) -> list[str]:
    notes = [*facts.notes, *facts.discovery.notes]
    if not any(map(facts.context.settings.select.takes_topic, facts.discovery.topics)):
        notes.append(_nothing_selected(facts.context.settings))
    for done in facts.rounds:
        notes += done.notes
        notes += [note for partition in done.look.same for note in partition.bounds.notes]
        notes += [note for result in done.committed for note in _zero_tails(result)]
    unproved = _unproved_offsets(facts.rounds, None if facts.context.is_dry_run else gaps)
    behind = behind_note(facts.repairs.left.offsets)
    return _once([*notes, *unproved, *facts.repairs.notes, *behind, *_whole_batches(facts)])


def _whole_batches(facts: RunFacts) -> Iterator[str]:
    """Yield notes that a time window selects whole batches, if the run has ranges to ingest."""
    select = facts.context.settings.select
    if not any(done.ranges for done in facts.rounds):
        return
    if select.from_timestamp is not None:
        yield (
            "--from-timestamp takes whole batches: of a partition's first, and of later ones whose"
            " times are out of order, older records are ingested too"
        )
    if select.to_timestamp is not None:
        yield (
            "--to-timestamp takes whole batches: older records in the first batch that reaches it,"
            " and after it, are not ingested"
        )


def _unproved_offsets(rounds: Iterable[RoundResult], gaps: GapsByPlace | None) -> list[str]:
    """Return the note on batches beside holes, whose unprotected offsets may be wrong.

    Args:
        gaps: recorded gaps, which confirm the holes that headers claim; None for a dry run.
    """
    found = {
        partition.key
        for done in rounds
        for partition in done.look.same
        if any(survey.hole_count for survey in partition.surveys)
        if gaps is None or any(str(partition.key) in of_cause for of_cause in gaps.values())
    }
    if not found:
        return []
    return [
        f"holes between batches are normal in {show_count(len(found), 'compacted partition')}; no "
        "checksum covers the offset of a batch beside one"
    ]


def _nothing_selected(settings: Settings) -> str:
    globs = ", ".join(settings.select.topics)
    if globs:
        return f"no topic of the sources is selected by {globs}"
    return "the sources hold no partition of a topic that is not internal"


def _zero_tails(result: RangeResult) -> list[str]:
    return [
        f"{tail.segment} ends in {show_count(tail.size_bytes, 'zero byte')} at position "
        f"{tail.position}: padding, in which nothing is lost"
        for report in result.reports
        for tail in report.tails
    ]


def _once(texts: Iterable[str]) -> list[str]:
    return [*dict.fromkeys(texts)]
