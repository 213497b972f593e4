"""Arrays that are kept from one flush to the next."""

import numpy as np

from seglake.segment_codec.kernels.arrays import (
    KeptArrays,
    header_arrays,
    no_header_arrays,
    row_arrays,
)


def test_memory_is_taken_again_only_for_more() -> None:
    kept = KeptArrays()
    first = kept.empty("offsets", 8, np.int64)
    assert np.shares_memory(first, kept.empty("offsets", 3, np.int64))
    more = kept.empty("offsets", 9, np.int64)
    assert (len(more), np.shares_memory(first, more)) == (9, False)


def test_no_two_arrays_of_a_flush_share_memory() -> None:
    kept = KeptArrays()
    headers = header_arrays(kept, row_capacity=4, header_capacity=3, byte_capacity=9)
    arrays = [*row_arrays(kept, 4), *headers]
    for place, array in enumerate(arrays):
        assert not any(np.shares_memory(array, other) for other in arrays[:place])
    assert [len(array) for array in headers] == [5, 4, 9, 4, 9, 3]


def test_rows_without_headers_have_stops_all_the_same() -> None:
    assert no_header_arrays(3).row_stops.tolist() == [0, 0, 0, 0]
