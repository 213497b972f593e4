"""Offsets of a partition by state, for the strip that the page draws."""

from collections.abc import Iterable, Mapping, Sequence

from seglake.kafka_log.gap_ranges import GapRanges
from seglake.kafka_log.observation import Observation
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import OffsetRange, subtracted
from seglake.log_tables.partition_ledger import PartitionLedger
from seglake.pipelines.lake_report.ledger import Row
from seglake.pipelines.lake_report.model import OffsetState

MOST_RANGES = 500
"""Maximum number of ranges of one state in one partition; a strip has fewer pixels."""


def offsets_by_state(
    ledger: PartitionLedger, gaps: Sequence[Row], seen: Observation | None
) -> dict[OffsetState, GapRanges]:
    """Return the offsets of a partition by state.

    Args:
        ledger: the partition's ledger.
        gaps: the partition's rows from the query `gap_ranges`.
        seen: the newest observation of the log; None if there is none.
    """
    covered, current = ledger.covered, ledger.current
    exact = {
        OffsetState.SUPERSEDED: ledger.superseded,
        OffsetState.NOT_INGESTED: [] if seen is None else _not_ingested(covered, seen),
    }
    found = {state: GapRanges.of(ranges) for state, ranges in exact.items() if ranges}
    for cause in GapCause:
        own = [row for row in gaps if row["cause"] == cause]
        if own:
            ranges = tuple((row["start_offset"], row["next_offset"]) for row in own)
            count = sum(row["offsets"] for row in own)
            found[OffsetState(str(cause))] = GapRanges(len(ranges), count, ranges)
    if current:
        count = _count(current) - sum(row["offsets"] for row in gaps)
        shown = coarser(current, _extent(covered) // MOST_RANGES)
        found[OffsetState.INGESTED] = GapRanges(len(shown), count, shown)
    return found


def coarser(ranges: Iterable[OffsetRange], tolerance: int) -> tuple[OffsetRange, ...]:
    """Return sorted ranges, joined if they are at most `tolerance` offsets apart.

    Args:
        ranges: at least one range, sorted.
        tolerance: largest distance between joined ranges, in offsets.
    """
    (first, reached), *rest = ranges
    found = []
    for start, stop in rest:
        if start - reached > tolerance:
            found.append((first, reached))
            first = start
        reached = max(reached, stop)
    return (*found, (first, reached))


def within_budget(
    strips: Sequence[Mapping[OffsetState, GapRanges]], most_ranges: int
) -> list[dict[OffsetState, GapRanges]]:
    """Return the strips with ranges joined until all strips together have at most `most_ranges`."""
    result = [dict(strip) for strip in strips]
    most = MOST_RANGES
    while most > 1 and sum(len(o.ranges) for s in result for o in s.values()) > most_ranges:
        most //= 2
        result = [_coarser_strip(strip, most) for strip in result]
    return result


def _coarser_strip(
    strip: Mapping[OffsetState, GapRanges], most: int
) -> dict[OffsetState, GapRanges]:
    extent = _extent([offsets for of_state in strip.values() for offsets in of_state.ranges])
    return {
        state: found if len(found.ranges) <= most else _coarser(found, extent // most)
        for state, found in strip.items()
    }


def _coarser(found: GapRanges, tolerance: int) -> GapRanges:
    ranges = coarser(found.ranges, tolerance)
    return GapRanges(len(ranges), found.offsets, ranges)


def _count(ranges: Iterable[OffsetRange]) -> int:
    return sum(stop - start for start, stop in ranges)


def _not_ingested(covered: Sequence[OffsetRange], seen: Observation) -> list[OffsetRange]:
    """Return the observed offsets above the covered ones, including unreadable offsets."""
    end = seen.log_end_offset if seen.log_end_offset is not None else seen.high_watermark
    start = max(covered[-1][1] if covered else 0, seen.log_start_offset or 0)
    return [] if end is None else subtracted((start, end), covered)


def _extent(ranges: Sequence[OffsetRange]) -> int:
    """Return the number of offsets from the start of the first range to the end of the last."""
    if not ranges:
        return 0
    return max(stop for _, stop in ranges) - min(start for start, _ in ranges)
