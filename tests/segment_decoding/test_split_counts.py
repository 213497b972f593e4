"""Sums of offsets and sizes are exact, however large the numbers are."""

import numpy as np
import pytest

from seglake.segment_decoding.split_counts import exact_sum

_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([], id="none"),
        pytest.param([3, 4, -9], id="small"),
        pytest.param([_MOST], id="one that just fits"),
        pytest.param([_MOST, 1], id="one above 64 bits"),
        pytest.param([_LEAST, -1], id="one below 64 bits"),
        pytest.param([1 << 62] * 3, id="alike and large"),
        pytest.param([_MOST, _MOST, _LEAST, _LEAST, -5], id="of both signs"),
    ],
)
def test_sum_is_that_of_pythons_ints(values: list[int]) -> None:
    assert exact_sum(np.array(values, np.int64)) == sum(values)
