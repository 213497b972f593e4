"""Gives the compiled loops their arguments in one form, so that numba compiles them only once."""

import numpy as np
from numpy.typing import NDArray

from seglake.value_codec.bodies import Bodies


def in_one_form(found: Bodies) -> Bodies:
    """Return bodies with contiguous arrays of one type."""
    content = np.ascontiguousarray(found.data).view()
    content.flags.writeable = False
    bounds = (np.require(each, np.int64, ["C", "W"]) for each in found[1:])
    return Bodies(content, *bounds)


def grouped_heads(
    found: Bodies, sizes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the distinct heads of values.

    Args:
        found: the values.
        sizes: number of bytes of a head, by its first byte.

    Returns:
        The number of each value's head, -1 for a value that is shorter; and where the first value
        with each head starts.
    """
    from seglake.value_codec.kernels.head_kernel import group_heads  # imports numba, 0.2 s

    table = np.zeros(1 << len(found.starts).bit_length(), np.int32)
    firsts, groups = np.empty((2, len(found.starts)), np.int64)
    count = group_heads(*in_one_form(found), sizes, table, firsts, groups)
    return groups, firsts[:count]
