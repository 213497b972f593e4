"""Counts and lines of a summary on records from older copies. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping

from seglake.findings.offset_places import GapsByPartition, named_counts
from seglake.ingest_steps.committing.range_result import RangeResult
from seglake.ingest_steps.repair.repair_result import RepairResult
from seglake.ingest_steps.report.gap_report import GapsByPlace, joined_places
from seglake.kafka_log.gap_ranges import GapRanges, tallied
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import common_ranges, merged, without
from seglake.progress.run_reporter import show_count


def refilled_records(repairs: RepairResult) -> dict[str, int]:
    """Return the number of records that older copies brought, or would bring, by partition.

    Records of open transactions are not counted: no cleaner removed them.
    """
    found = Counter(repairs.expected)
    for result in repairs.refills:
        open_rows = sum(report.open_rows for report in result.reports)
        found[str(result.key)] += result.totals.records - open_rows
    return {name: count for name, count in found.items() if count}


def with_refills(gaps: GapsByPlace, repairs: RepairResult) -> dict[str, GapsByPartition]:
    """Return a run's recorded gaps after its refills.

    Refilled offsets leave the cleaner's gaps; damage of a copy may explain the rest.
    """
    refills = repairs.refills
    damaged = joined_places(gaps, *(_damaged(result, repairs) for result in refills))
    return _without_refilled(damaged, refills)


def _damaged(refill: RangeResult, repairs: RepairResult) -> GapsByPlace:
    """Return the gaps that only a refill explains by damage, and that no repair filled."""
    before, after, standing = (
        merged(gap.offsets for gap in gaps if gap.cause is GapCause.QUARANTINED)
        for gaps in (
            refill.plan.standing_gaps,
            refill.gaps,
            repairs.standing.get(refill.key, ()),
        )
    )
    damaged = common_ranges(without(after, *before), standing)
    found = tallied((GapCause.QUARANTINED, *offsets) for offsets in damaged)
    return {str(cause): {str(refill.key): gaps} for cause, gaps in found.items()}


def _without_refilled(
    gaps: GapsByPlace, refills: Iterable[RangeResult]
) -> dict[str, GapsByPartition]:
    """Return the gaps with refilled offsets subtracted from those of the log cleaner."""
    left = dict(gaps.get(GapCause.COMPACTED, {}))
    for result in refills:
        name = str(result.key)
        before, after = (
            [gap.next_offset - gap.start_offset for gap in of if gap.cause is GapCause.COMPACTED]
            for of in (result.plan.standing_gaps, result.gaps)
        )
        if name in left:
            filled = sum(before) - sum(after)
            left[name] = GapRanges(
                max(left[name].gaps - len(before) + len(after), 0),
                max(left[name].offsets - filled, 0),
            )
    kept = {name: found for name, found in left.items() if found.offsets}
    return {
        cause: kept if cause == GapCause.COMPACTED else found
        for cause, found in gaps.items()
        if cause != GapCause.COMPACTED or kept
    }


def shown_refills(refilled: Mapping[str, int], *, is_dry_run: bool) -> list[str]:
    """Return the line on records that older copies brought, or would bring."""
    if not refilled:
        return []
    count, places = sum(refilled.values()), named_counts(refilled)
    heading = "would be ingested from older copies" if is_dry_run else "ingested from older copies"
    return [f"{heading}: {show_count(count, 'record')} in {places}"]


def shown_left_in_copies(left: Mapping[str, int]) -> list[str]:
    """Return the line on records that older copies still have, and how to ingest them."""
    if not left:
        return []
    count, places = sum(left.values()), named_counts(left)
    return [
        f"left in older copies: {show_count(count, 'record')} that the lake calls compacted, "
        f"{places}; the same call with --older-copies ingests them"
    ]


def older_copies_note(offsets: Mapping[str, int]) -> list[str]:
    """Return the note on replicas that are less compacted than the ingested ones."""
    if not offsets:
        return []
    count = show_count(sum(offsets.values()), "offset")
    return [
        f"up to {count} that the lake calls compacted may still be in replicas whose cleaner is "
        f"behind: {named_counts(offsets)}; --older-copies ingests what they have"
    ]
