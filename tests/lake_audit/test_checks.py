"""The checks of one partition against slow twins that go offset by offset."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seglake.lake.parquet_rows import HIGHEST, LOWEST
from seglake.pipelines.lake_audit.gap_rows import GapCollector, are_current, generations
from seglake.pipelines.lake_audit.ledger import LakePartition, LedgerRange, PartitionLedger
from seglake.pipelines.lake_audit.offset_spans import Spans, span_problems
from seglake.pipelines.lake_audit.problems import ProblemKind
from seglake.pipelines.lake_audit.quarantine_checks import Damage

_RANGES = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 8)).map(lambda pair: (pair[0], sum(pair))),
    max_size=6,
)
_PARTITION = LakePartition("c", "orders", 0, None)


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
    ends = [(start, stop, blocks.index_of_one(stop - 1)) for start, stop in spans]
    inside = [(max(start, blocks.starts[at]), stop) for start, stop, at in ends if at >= 0]
    low, high = min(cell), max(cell)
    counts = {
        offset: sum(start <= offset < stop for start, stop in inside)
        for offset in range(low, high + 1)
        if any(start <= offset < stop for start, stop in covered)
    }
    starts, stops = zip(*spans, strict=True) if spans else ((), ())
    table = Spans(
        np.array(starts, np.int64), np.array(stops, np.int64), np.zeros(len(spans), np.bool_)
    )
    kinds = {problem.kind for problem in span_problems(table, blocks, (low, high))}
    expected = set()
    if 0 in counts.values():
        expected.add(ProblemKind.NOT_ACCOUNTED)
    if any(count > 1 for count in counts.values()):
        expected.add(ProblemKind.OVERLAP)
    assert kinds == expected


def test_whole_log_is_one_cell_too() -> None:
    table = Spans(np.array([0]), np.array([10]), np.array([False]))
    assert span_problems(table, _ledger([(0, 10)]).covered(), (LOWEST, HIGHEST)) == []
    (problem,) = span_problems(table, _ledger([(0, 12)]).covered(), (LOWEST, HIGHEST))
    assert problem.examples == ("[10, 12)",)


def test_ranges_that_share_offsets_are_one_block_and_those_that_touch_are_not() -> None:
    ledger = _ledger([(0, 10), (10, 20), (12, 15), (30, 40)])
    assert ledger.blocks().starts.tolist() == [0, 10, 30]
    assert ledger.covered().starts.tolist() == [0, 30]
    assert ledger.blocks().index_of(np.array([-1, 0, 9, 10, 19, 20, 39, 40])).tolist() == [
        *(-1, 0, 0, 1, 1, -1, 2, -1)
    ]


@pytest.mark.parametrize(
    ("gap", "is_current"),
    [
        ((0, 5, "first"), True),  # no repair holds its start
        ((10, 20, "first"), False),  # a later repair does
        ((12, 14, "second"), True),  # of that repair
        ((12, 14, "third"), True),  # of a later one
        ((12, 14, "unknown"), False),  # nobody knows how old it is, and it was repaired
        ((22, 25, "unknown"), True),
    ],
)
def test_a_gap_is_current_unless_a_later_repair_holds_its_start(
    gap: tuple[int, int, str], *, is_current: bool
) -> None:
    ranges = (
        LedgerRange(0, 30, "ingest", 1, "first"),
        LedgerRange(10, 20, "repair", 2, "second"),
        LedgerRange(12, 14, "ingest", 3, "third"),
    )
    start, stop, attempt = gap
    collector = GapCollector()
    collector.add(
        pa.table(
            {
                "start_offset": [start],
                "next_offset": [stop],
                "cause": ["missing"],
                "detail": pa.array([None], pa.string()),
                "attempt_id": [attempt],
            }
        )
    )
    rows = collector.rows()
    assert are_current(rows, generations(rows, ranges), ranges).tolist() == [is_current]


def _damage(*spans: tuple[int | None, int | None]) -> Damage:
    found = Damage()
    for position, (previous, following) in enumerate(spans):
        row = {
            "broker_id": 0,
            "segment": "orders-0/0.log",
            "position": position,
            "raw_sha256": "x",
            "length_bytes": 7,
            "defect_code": "crc_mismatch",
            "resolution": None,
            "previous_offset": previous,
            "next_offset": following,
        }
        found.add(pa.Table.from_pylist([row]))
    found.finish()
    return found


@given(
    st.lists(st.tuples(st.none() | st.integers(0, 30), st.none() | st.integers(0, 30)), max_size=5),
    st.tuples(st.integers(0, 30), st.integers(1, 8)),
)
def test_damage_explains_a_gap_that_lies_where_it_hides_offsets(
    spans: list[tuple[int | None, int | None]], gap: tuple[int, int]
) -> None:
    start, stop = gap[0], sum(gap)
    damage = _damage(*spans)
    near = [
        span
        for span in spans
        if (span[0] is None or span[0] < stop) and (span[1] is None or span[1] > start)
    ]
    assert damage.explains(np.array([start]), np.array([stop])).tolist() == [bool(near)]
    assert len(damage.near(start, stop)) == len(near)


def test_a_span_that_two_runs_met_counts_twice_and_a_resolution_does_not() -> None:
    one = _damage((0, 5))
    assert one.sums()[:2] == (1, 7)
    row = {
        "broker_id": 0,
        "segment": "orders-0/0.log",
        "position": 0,
        "raw_sha256": "x",
        "length_bytes": 7,
        "defect_code": "crc_mismatch",
        "previous_offset": 0,
        "next_offset": 5,
    }
    one.add(pa.Table.from_pylist([row | {"resolution": None}]))
    one.add(pa.Table.from_pylist([row | {"resolution": "sibling"}]))
    one.finish()
    assert (one.sums().spans, one.sums().size_bytes, one.sums().resolved) == (2, 14, 1)
