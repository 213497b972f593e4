"""Which offsets are in which state, and how coarse they are drawn."""

from seglake.kafka_log.gap_ranges import GapRanges
from seglake.pipelines.lake_report.model import OffsetState
from seglake.pipelines.lake_report.strips import (
    MOST_RANGES,
    coarser,
    offsets_by_state,
    within_budget,
)
from support.lakes import Row
from support.reports import ledger_of, ledger_row


def _gap(cause: str, start: int, stop: int, offsets: int) -> Row:
    return {"cause": cause, "start_offset": start, "next_offset": stop, "offsets": offsets}


def test_gaps_are_drawn_as_ranges_and_counted_exactly() -> None:
    ledger, log = ledger_of(ledger_row(0, 1_000_000))
    gaps = [_gap("compacted", 100, 900_010, 90_000), _gap("missing", 5, 9, 4)]
    found = offsets_by_state(ledger.of(log), gaps, None)
    assert found[OffsetState.COMPACTED] == GapRanges(1, 90_000, ((100, 900_010),))
    assert found[OffsetState.MISSING] == GapRanges(1, 4, ((5, 9),))
    assert found[OffsetState.INGESTED].offsets == 909_996


def test_joining_keeps_first_and_last_offset() -> None:
    assert coarser([(0, 2), (3, 5), (9, 10)], 1) == ((0, 5), (9, 10))


def test_range_inside_of_another_ends_nothing() -> None:
    assert coarser([(0, 8), (1, 2), (9, 10)], 0) == ((0, 8), (9, 10))


def test_many_strips_share_a_budget_and_keep_their_counts() -> None:
    ranges = tuple((start, start + 1) for start in range(0, 2 * MOST_RANGES, 2))
    strip = {OffsetState.MISSING: GapRanges.of(ranges)}
    quiet = {OffsetState.INGESTED: GapRanges(1, 9, ((0, 9),))}
    found = within_budget([strip] * 10 + [quiet], 200)
    assert sum(len(o.ranges) for each in found for o in each.values()) <= 200
    assert {each[OffsetState.MISSING].offsets for each in found[:-1]} == {MOST_RANGES}
    assert found[-1] == quiet
