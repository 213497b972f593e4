"""Counts of the records that a run recovered, and of the offsets that the lake still lacks."""

from collections.abc import Iterable, Sequence

from seglake.findings.loss_causes import LOSS_OF_GAP, NO_LOSS_OF_GAP, Loss, NoLoss, losses_of_log
from seglake.findings.recovery import PartitionRecovery, Recovery
from seglake.findings.unread_places import recovery_with
from seglake.grouping import grouped
from seglake.ingest_steps.committing.range_result import RangeResult, by_partition
from seglake.ingest_steps.report.gap_report import gaps_of_run
from seglake.ingest_steps.report.refills import refilled_gaps
from seglake.ingest_steps.report.run_facts import RunFacts
from seglake.kafka_log.gap_ranges import GapRanges, GapsByCause
from seglake.kafka_log.observation import Observation
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import merged
from seglake.log_tables.current_gaps import CurrentGap
from seglake.log_tables.source_ledger import SourceLedger


def recovery_of(facts: RunFacts) -> Recovery:
    """Return each partition's records of this run, and the offsets that the lake lacks after it."""
    ledger, repairs = facts.ledger, facts.repairs
    by_key = by_partition(facts.committed)
    filled = by_partition((*repairs.results, *repairs.refills))
    gaps = gaps_of_run(facts.committed, repairs.rounds)
    refilled = refilled_gaps(repairs.refills)
    partitions = [
        PartitionRecovery(
            name=str(log.key),
            records=(records := sum(result.totals.records for result in both)),
            open_records=sum(result.open_rows for result in both),
            has_earlier=not own and bool(ledger.of(log.key).covered),
            lost=_lost(log, ledger, repairs.standing.get(log.key, ())),
            no_loss=_no_loss(own, records, gaps.get(log.key, {}), refilled.get(log.key, {})),
            tails=facts.tails.get(log.key, {}),
        )
        for log in facts.observations
        for own in [by_key.get(log.key, [])]
        for both in [[*own, *filled.get(log.key, ())]]
    ]
    return recovery_with(partitions, facts.places.of_run)


def _lost(
    seen: Observation, ledger: SourceLedger, standing: Iterable[CurrentGap]
) -> dict[Loss, GapRanges]:
    known = [gap for gap in standing if gap.cause in LOSS_OF_GAP]
    gaps = grouped((LOSS_OF_GAP[gap.cause], gap.offsets) for gap in known)
    if lost := ledger.of(seen.key).superseded:
        gaps[Loss.SUPERSEDED] = [*lost]
    found = {loss: GapRanges.of(merged(ranges)) for loss, ranges in gaps.items()}
    return found | losses_of_log(seen, ledger.of(seen.key).covered)


def _no_loss(
    committed: Sequence[RangeResult],
    records: int,
    gaps: GapsByCause,
    refilled: GapsByCause,
) -> dict[NoLoss, int]:
    """Return the number of offsets for which it is correct to have no record, by cause.

    `refilled` counts the offsets of gaps that older copies filled; they are subtracted.
    """
    counts = {kept: gaps[cause].offsets for cause, kept in NO_LOSS_OF_GAP.items() if cause in gaps}
    if not committed:
        return counts
    compacted = refilled.get(GapCause.COMPACTED, GapRanges(0, 0))
    counts[NoLoss.COMPACTED] = max(counts.get(NoLoss.COMPACTED, 0) - compacted.offsets, 0)
    ranges = merged(result.offsets for result in committed)
    covered = sum(stop - start for start, stop in ranges)
    in_batches = covered - sum(found.offsets for found in gaps.values())
    in_batches += sum(found.offsets for found in refilled.values())
    counts[NoLoss.WITHOUT_RECORD] = max(in_batches - records, 0)
    return {kept: count for kept, count in counts.items() if count}
