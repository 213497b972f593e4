"""Ranges of offsets, against the sets of offsets that they stand for."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from seglake.kafka_log.offset_ranges import OffsetRange, merged, subtracted, without

_RANGES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=8)


def _offsets(ranges: list[OffsetRange]) -> set[int]:
    return {offset for start, stop in ranges for offset in range(start, stop)}


@given(_RANGES)
def test_merged_ranges_hold_the_same_offsets_in_order_and_apart(ranges: list[OffsetRange]) -> None:
    result = merged(ranges)
    assert _offsets(result) == _offsets(ranges)
    assert all(start < stop for start, stop in result)
    assert all(before[1] < after[0] for before, after in pairwise(result))


@given(st.tuples(st.integers(0, 60), st.integers(0, 60)), _RANGES)
def test_what_is_left_of_a_range_is_what_no_other_holds(
    wanted: OffsetRange, covered: list[OffsetRange]
) -> None:
    result = subtracted(wanted, merged(covered))
    assert _offsets(result) == _offsets([wanted]) - _offsets(covered)
    assert all(start < stop for start, stop in result)
    assert result == merged(result)


def test_what_is_left_of_several_ranges_is_what_no_other_holds() -> None:
    assert without([(0, 20), (60, 80)], (5, 70)) == [(0, 5), (70, 80)]
