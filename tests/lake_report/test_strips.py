"""Which offsets are in which state, and how coarse they are drawn."""

import numpy as np

from seglake.pipelines.lake_report.gap_pieces import GapPiece
from seglake.pipelines.lake_report.model import Offsets, OffsetState
from seglake.pipelines.lake_report.strips import (
    MOST_RANGES,
    coarser,
    offsets_by_state,
    within_budget,
)
from support.reports import ledger_of, ledger_row


def _piece(cause: str, *ranges: tuple[int, int], attempt_id: str = "attempt1") -> GapPiece:
    starts, stops = np.array(ranges, np.int64).T
    return GapPiece(cause, attempt_id, starts, stops)


def test_near_ranges_are_drawn_as_one_and_counted_exactly() -> None:
    ledger, log = ledger_of(ledger_row(0, 1_000_000))
    ranges = [(start, start + 10) for start in range(900_000, 0, -100)]
    found = offsets_by_state(ledger.of(log), [_piece("compacted", *ranges)], None)
    compacted = found[OffsetState.COMPACTED]
    assert compacted == Offsets(90_000, ((100, 900_010),))
    assert found[OffsetState.INGESTED].count == 910_000


def test_ranges_far_apart_stay_apart() -> None:
    ledger, log = ledger_of(ledger_row(0, 1_000_000))
    pieces = [_piece("missing", (700_000, 700_001)), _piece("missing", (5, 9))]
    found = offsets_by_state(ledger.of(log), pieces, None)
    assert found[OffsetState.MISSING] == Offsets(5, ((5, 9), (700_000, 700_001)))


def test_range_inside_of_another_ends_nothing() -> None:
    ledger, log = ledger_of(ledger_row(0, 10))
    pieces = [_piece("missing", (0, 8), (1, 2))]
    assert offsets_by_state(ledger.of(log), pieces, None)[OffsetState.MISSING].ranges == ((0, 8),)


def test_joining_keeps_first_and_last_offset() -> None:
    assert coarser([(0, 2), (3, 5), (9, 10)], 1) == ((0, 5), (9, 10))


def test_many_strips_share_a_budget_and_keep_their_counts() -> None:
    ranges = tuple((start, start + 1) for start in range(0, 2 * MOST_RANGES, 2))
    strip = {OffsetState.MISSING: Offsets(MOST_RANGES, ranges)}
    quiet = {OffsetState.INGESTED: Offsets(9, ((0, 9),))}
    found = within_budget([strip] * 10 + [quiet], 200)
    assert sum(len(o.ranges) for each in found for o in each.values()) <= 200
    assert {each[OffsetState.MISSING].count for each in found[:-1]} == {MOST_RANGES}
    assert found[-1] == quiet
