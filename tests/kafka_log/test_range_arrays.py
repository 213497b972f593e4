"""Ranges of offsets as arrays: what each answers, against sets of offsets."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from seglake.kafka_log.range_arrays import (
    RangeArray,
    are_shared,
    intersected,
    merged_ranges,
    range_array,
)

_RANGES = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 9)).map(lambda each: (each[0], sum(each))),
    max_size=8,
)


def _offsets(ranges: RangeArray) -> set[int]:
    return {offset for start, stop in ranges.tolist() for offset in range(start, stop)}


def _is_rising(ranges: RangeArray, least_gap: int) -> bool:
    return bool((ranges[1:, 0] - ranges[:-1, 1] >= least_gap).all()) and bool(
        (ranges[:, 0] < ranges[:, 1]).all()
    )


@given(_RANGES)
def test_ranges_that_overlap_or_touch_become_one(ranges: list[tuple[int, int]]) -> None:
    found = merged_ranges(range_array(ranges))
    assert _offsets(found) == _offsets(range_array(ranges))
    assert _is_rising(found, 1)


@given(_RANGES, _RANGES)
def test_what_two_arrays_share(ones: list[tuple[int, int]], others: list[tuple[int, int]]) -> None:
    one, other = merged_ranges(range_array(ones)), merged_ranges(range_array(others))
    found = intersected(one, other)
    assert _offsets(found) == _offsets(one) & _offsets(other)
    assert _is_rising(found, 0)


@given(_RANGES, _RANGES)
def test_which_ranges_share_an_offset(
    ranges: list[tuple[int, int]], others: list[tuple[int, int]]
) -> None:
    other = merged_ranges(range_array(others))
    expected = [bool({*range(*each)} & _offsets(other)) for each in ranges]
    assert are_shared(range_array(ranges), other).tolist() == expected


def test_ranges_reach_the_greatest_offset() -> None:
    greatest = np.iinfo(np.int64).max
    ranges = range_array([(0, greatest)])
    assert intersected(ranges, range_array([(5, 7), (9, greatest)])).tolist() == [
        [5, 7],
        [9, greatest],
    ]
