"""Compiled loop that finds which values begin with the same bytes."""

import numpy as np

from seglake.compiled_loops import Array, Int, compiled, inlined

_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@inlined
def _are_equal(data: Array, p: Int, q: Int, size: Int) -> Int:
    for index in range(size):
        if data[p + index] != data[q + index]:
            return np.int64(0)
    return np.int64(1)


@inlined
def _slot(data: Array, p: Int, size: Int, mask: Int) -> Int:
    """Return the first place in a table for some bytes."""
    found = np.uint64(size)
    for index in range(size):
        found = (found ^ np.uint64(data[p + index])) * _FACTOR
    return np.int64(found >> np.uint64(32)) & mask


@compiled
def group_heads(
    data: Array,
    starts: Array,
    ends: Array,
    sizes: Array,
    table: Array,
    firsts: Array,
    groups: Array,
) -> Int:
    """Find the distinct heads of values, and return how many there are.

    Args:
        data: bytes of all values.
        starts: index of each value's first byte.
        ends: index after each value's last byte.
        sizes: number of bytes of a head, by its first byte.
        table: zeros; their number is a power of two, and more than the number of values.
        firsts: is set to the start of the first value with each head.
        groups: is set to the number of each value's head; -1 for a value that is shorter.
    """
    count = np.int64(0)
    last = np.int64(-1)
    for row in range(starts.shape[0]):
        p = starts[row]
        groups[row] = -1
        if p >= ends[row] or sizes[data[p]] > ends[row] - p:
            continue
        size = sizes[data[p]]
        # Values with one head often follow each other.
        if last < 0 or not _are_equal(data, firsts[last], p, size):
            slot = _slot(data, p, size, table.shape[0] - 1)
            while table[slot] > 0 and not _are_equal(data, firsts[table[slot] - 1], p, size):
                slot = (slot + 1) & (table.shape[0] - 1)
            if table[slot] == 0:
                firsts[count] = p
                count += 1
                table[slot] = count
            last = np.int64(table[slot]) - 1
        groups[row] = last
    return count
