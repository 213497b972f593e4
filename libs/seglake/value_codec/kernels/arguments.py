"""Gives the compiled loops their arguments in one form, so that numba compiles them only once."""

import numpy as np
from numpy.typing import NDArray


def in_one_form(
    data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """Return bytes and their bounds as contiguous arrays of one type."""
    content = np.ascontiguousarray(data).view()
    content.flags.writeable = False
    begins, stops = (np.require(each, np.int64, ["C", "W"]) for each in (starts, ends))
    return content, begins, stops


def grouped_heads(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the distinct heads of values.

    Args:
        data: bytes of all values.
        starts: index of each value's first byte.
        ends: index after each value's last byte.
        sizes: number of bytes of a head, by its first byte.

    Returns:
        The number of each value's head, -1 for a value that is shorter; and where the first value
        with each head starts.
    """
    from seglake.value_codec.kernels.head_kernel import group_heads  # imports numba, 0.2 s

    table = np.zeros(1 << len(starts).bit_length(), np.int32)
    firsts, groups = np.empty((2, len(starts)), np.int64)
    count = group_heads(*in_one_form(data, starts, ends), sizes, table, firsts, groups)
    return groups, firsts[:count]
