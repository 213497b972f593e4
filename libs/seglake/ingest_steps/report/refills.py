"""Counts of records from older copies, and a summary's lines on them."""

from collections import Counter
from collections.abc import Iterable, Mapping

from seglake.findings.shown_offsets import GapsByPartition, named_counts
from seglake.grouping import grouped
from seglake.ingest_steps.committing.range_result import RangeResult
from seglake.ingest_steps.repair.repair_result import RepairResult
from seglake.ingest_steps.report.gap_report import GapsByPlace, joined_places
from seglake.kafka_log.gap_ranges import GapRanges, ranges_joined, tallied
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import common_ranges, merged, without
from seglake.kafka_log.replica import PartitionKey
from seglake.printable import show_count


def refilled_records(repairs: RepairResult) -> dict[str, int]:
    """Return, by partition, the number of records that were or would be ingested from older copies.

    Records of open transactions are not counted, because no cleaner has removed them.
    """
    found = Counter(repairs.expected)
    for result in repairs.refills:
        found[str(result.key)] += result.totals.records - result.open_rows
    return {name: count for name, count in found.items() if count}


def with_refills(gaps: GapsByPlace, repairs: RepairResult) -> dict[str, GapsByPartition]:
    """Return a run's recorded gaps after its refills.

    Refilled offsets are no longer gaps. An unfilled gap may get another cause: damage in the copy
    that the refill read.
    """
    refills = repairs.refills
    damaged = joined_places(gaps, *(_damaged(result, repairs) for result in refills))
    return _without_refilled(damaged, refills)


def _damaged(refill: RangeResult, repairs: RepairResult) -> GapsByPlace:
    """Return the unfilled gaps at whose offsets the copy is damaged, too."""
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


def refilled_gaps(
    refills: Iterable[RangeResult],
) -> dict[PartitionKey, dict[GapCause, GapRanges]]:
    """Return the number of gaps and offsets that older copies filled, by partition and cause."""
    filled: dict[PartitionKey, dict[GapCause, GapRanges]] = {}
    for result in refills:
        found = filled.setdefault(result.key, {})
        for sign, gaps in ((1, result.plan.standing_gaps), (-1, result.gaps)):
            for gap in gaps:
                known = found.get(gap.cause, GapRanges(0, 0))
                size = gap.next_offset - gap.start_offset
                found[gap.cause] = GapRanges(known.gaps + sign, known.offsets + sign * size)
    return filled


def _without_refilled(
    gaps: GapsByPlace, refills: Iterable[RangeResult]
) -> dict[str, GapsByPartition]:
    """Return the gaps, reduced by the compacted offsets that a refill has filled."""
    filled = grouped(
        (str(key), found[GapCause.COMPACTED])
        for key, found in refilled_gaps(refills).items()
        if GapCause.COMPACTED in found
    )
    kept: dict[str, GapRanges] = {}
    for name, found in gaps.get(GapCause.COMPACTED, {}).items():
        less = ranges_joined(filled.get(name, ()))
        if found.offsets > less.offsets:
            kept[name] = GapRanges(max(found.gaps - less.gaps, 0), found.offsets - less.offsets)
    return {
        cause: kept if cause == GapCause.COMPACTED else found
        for cause, found in gaps.items()
        if cause != GapCause.COMPACTED or kept
    }


def shown_refills(refilled: Mapping[str, int], *, is_dry_run: bool) -> list[str]:
    """Return the line on records that were or would be ingested from older copies."""
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
        f"left in older copies: {show_count(count, 'record')} that are compacted in the lake, "
        f"{places}; the same call with --older-copies ingests them"
    ]


def older_copies_note(offsets: Mapping[str, int]) -> list[str]:
    """Return the note on replicas that are less compacted than the ingested ones."""
    if not offsets:
        return []
    count = show_count(sum(offsets.values()), "offset")
    return [
        f"up to {count} that are compacted in the lake may be in less compacted replicas: "
        f"{named_counts(offsets)}; --older-copies ingests them"
    ]
