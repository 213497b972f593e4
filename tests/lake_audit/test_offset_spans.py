"""Holes and overlaps, against a slow twin that counts offset by offset."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from seglake.kafka_log.replica import PartitionKey
from seglake.lake.parquet_rows import HIGHEST, LOWEST
from seglake.pipelines.lake_audit.ledger import LakePartition, LedgerRange, PartitionLedger
from seglake.pipelines.lake_audit.offset_spans import Spans, span_problems
from seglake.pipelines.lake_audit.problems import ProblemKind

_RANGES = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 8)).map(lambda pair: (pair[0], sum(pair))),
    max_size=6,
)
_PARTITION = LakePartition("c", PartitionKey("orders", 0, None))


def _ledger(ranges: list[tuple[int, int]]) -> PartitionLedger:
    rows = (LedgerRange(*offset_range, "ingest", 1, "attempt") for offset_range in ranges)
    return PartitionLedger(_PARTITION, tuple(rows))


@example(covered=[(0, 1), (2, 3)], spans=[(0, 3)], cell=(0, 0))
@given(_RANGES, _RANGES, st.tuples(st.integers(0, 40), st.integers(0, 40)))
def test_holes_and_overlaps_are_found_as_by_counting_each_offset(
    covered: list[tuple[int, int]], spans: list[tuple[int, int]], cell: tuple[int, int]
) -> None:
    blocks = _ledger(covered).covered()
    # A span counts in the block where it ends; one that ends in none is another problem.
    ends = [(start, stop, int(blocks.index_of(np.array([stop - 1]))[0])) for start, stop in spans]
    inside = [(max(start, blocks.starts[at]), stop) for start, stop, at in ends if at >= 0]
    low, high = min(cell), max(cell)
    counts = {
        offset: sum(start <= offset < stop for start, stop in inside)
        for offset in range(low, high + 1)
        if any(start <= offset < stop for start, stop in covered)
    }
    starts, stops = zip(*spans, strict=True) if spans else ((), ())
    table = Spans(
        np.array(starts, np.int64),
        np.array(stops, np.int64),
        np.zeros(len(spans), np.bool_),
        np.zeros(len(spans), np.int64),
    )
    kinds = {problem.kind for problem in span_problems(table, blocks, (low, high))}
    expected = set()
    if 0 in counts.values():
        expected.add(ProblemKind.NOT_ACCOUNTED)
    if any(count > 1 for count in counts.values()):
        expected.add(ProblemKind.OVERLAP)
    assert kinds == expected


def test_whole_log_is_one_cell_too() -> None:
    table = Spans(np.array([0]), np.array([10]), np.array([False]), np.array([0]))
    assert span_problems(table, _ledger([(0, 10)]).covered(), (LOWEST, HIGHEST)) == []
    (problem,) = span_problems(table, _ledger([(0, 12)]).covered(), (LOWEST, HIGHEST))
    assert problem.examples == ("[10, 12)",)


def test_batches_of_a_refill_lie_over_others_but_over_no_gap_and_not_over_each_other() -> None:
    covered = _ledger([(0, 10)]).covered()

    def found(*spans: tuple[int, int, bool, int]) -> set[ProblemKind]:
        table = Spans(*map(np.array, zip((0, 6, False, 0), (6, 10, True, 0), *spans, strict=True)))
        return {problem.kind for problem in span_problems(table, covered, (LOWEST, HIGHEST))}

    assert found((0, 6, False, 2)) == found((2, 4, False, 2), (2, 4, False, 3)) == set()
    assert found((4, 7, False, 2)) == {ProblemKind.OVERLAP}
    assert found((0, 4, False, 2), (3, 6, False, 2)) == {ProblemKind.OVERLAP}
    assert found((0, 4, False, 0)) == {ProblemKind.OVERLAP}
