"""Half-open ranges of offsets as arrays of shape (n, 2), for millions of ranges.

"Rising ranges" are sorted and do not touch, as `offset_ranges.merged` returns them.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from seglake.kafka_log.offset_ranges import OffsetRange

RangeArray = NDArray[np.int64]


def range_array(ranges: Iterable[OffsetRange]) -> RangeArray:
    """Return half-open ranges as an array of shape (n, 2), in the given order."""
    return np.array([*ranges], np.int64).reshape(-1, 2)


def merged_ranges(ranges: RangeArray) -> RangeArray:
    """Sort nonempty ranges, and join those that overlap or are adjacent."""
    if not len(ranges):
        return ranges
    in_order = ranges[np.argsort(ranges[:, 0], kind="stable")]
    stops = np.maximum.accumulate(in_order[:, 1])
    is_first = np.concatenate(([True], in_order[1:, 0] > stops[:-1]))
    is_last = np.concatenate((is_first[1:], [True]))
    return np.stack((in_order[is_first, 0], stops[is_last]), axis=1)


def intersected(ones: RangeArray, others: RangeArray) -> RangeArray:
    """Return the offsets that two arrays of rising ranges share, as rising ranges."""
    first = np.searchsorted(others[:, 1], ones[:, 0], side="right")
    counts = np.maximum(np.searchsorted(others[:, 0], ones[:, 1]) - first, 0)
    one = np.repeat(np.arange(len(ones)), counts)
    other = np.arange(len(one)) + np.repeat(first - (np.cumsum(counts) - counts), counts)
    starts = np.maximum(ones[one, 0], others[other, 0])
    return np.stack((starts, np.minimum(ones[one, 1], others[other, 1])), axis=1)


def are_shared(ranges: RangeArray, others: RangeArray) -> NDArray[np.bool_]:
    """Return for each range whether it overlaps one of `others`, which are rising ranges."""
    first = np.searchsorted(others[:, 1], ranges[:, 0], side="right")
    found: NDArray[np.bool_] = first < np.searchsorted(others[:, 0], ranges[:, 1])
    return found
