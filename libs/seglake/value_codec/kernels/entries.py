"""Loops over the entries of columns: those that store an entry, empty entries, and copy texts.

All entries are zero before; an entry without a value stays zero.
"""

import numpy as np

from seglake.compiled_loops import Array, Int, compiled, inlined
from seglake.value_codec.kernels.operations import LEVEL, SLOT, Run
from seglake.value_codec.kernels.parts import word_at


@inlined
def entry_of(run: Run, pc: Int) -> Int:
    """Return the index of the first word where a row's value is stored; -1 for nowhere."""
    slot, columns = run.code[pc, SLOT], run.columns
    if slot < 0:
        return np.int64(-1)
    return columns.slots[slot] + columns.widths[slot] * columns.entries[run.code[pc, LEVEL]]


@inlined
def store_word(words: Array, at: Int, data: Array, p: Int, size: Int) -> None:
    """Store a little-endian number."""
    if size == 8:
        words[at] = np.int64(word_at(data, p))
    else:
        value = np.uint64(data[p])
        for index in range(1, size):
            value |= np.uint64(data[p + index]) << np.uint64(8 * index)
        words[at] = np.int64(value)


@inlined
def store_decimal(run: Run, at: Int, p: Int, end: Int, digits: Int) -> Int:
    """Store a big-endian number as a lower and an upper word; return 0 if it has more digits."""
    data, sign = run.data, np.uint64(0)
    if p < end and data[p] >= 0x80:
        sign = ~sign
    while p < end and data[p] == sign & np.uint64(0xFF):
        p += 1
    if end - p > 16:
        return np.int64(0)
    upper, lower = np.uint64(0), np.uint64(0)
    for index in range(p, end):
        # The bitwise complement of a negative number is its absolute value less one.
        upper = (upper << np.uint64(8)) | (lower >> np.uint64(56))
        lower = (lower << np.uint64(8)) | (np.uint64(data[index]) ^ (sign & np.uint64(0xFF)))
    most_upper, most_lower = run.powers[digits, 0], run.powers[digits, 1]
    if sign != 0:
        most_lower -= np.uint64(1)  # no power's lower half is 0
    if upper > most_upper or (upper == most_upper and lower >= most_lower):
        return np.int64(0)
    if at >= 0:
        run.columns.words[at] = np.int64(lower ^ sign)
        run.columns.words[at + 1] = np.int64(upper ^ sign)
    return np.int64(1)


@inlined
def forget_value(columns: Array) -> None:
    """Make the entries of the current value zero again, as if it had none."""
    for slot in range(columns.widths.shape[0]):
        level, width = columns.levels[slot], columns.widths[slot]
        end = columns.slots[slot] + width * (columns.entries[level] + 1)
        for word in range(
            columns.slots[slot] + width * columns.kept[level], min(end, columns.slots[slot + 1])
        ):
            columns.words[word] = 0
    for number in range(columns.flag_levels.shape[0]):
        level, start = columns.flag_levels[number], columns.flag_starts[number]
        end = min(start + columns.entries[level] + 1, columns.flag_starts[number + 1])
        for index in range(start + columns.kept[level], end):
            columns.flags[index] = 0
    for level in range(columns.entries.shape[0]):
        columns.entries[level] = columns.kept[level]


@compiled
def copy_ranges(ranges: Array, data: Array, offsets: Array, content: Array) -> None:
    """Copy ranges of bytes one after another.

    Args:
        ranges: start and length of each.
        data: the bytes.
        offsets: is set to the index, in `content`, of each range's copy, and the index after all.
        content: receives the copies.
    """
    at = np.int64(0)
    for row in range(ranges.shape[0]):
        offsets[row] = at
        start, end = ranges[row, 0], ranges[row, 0] + ranges[row, 1]
        to = at
        # Eight bytes at once: what follows the range is overwritten by the next one.
        while start < end and start + 8 <= data.shape[0] and to + 8 <= content.shape[0]:
            word = word_at(data, start)
            for index in range(8):
                content[to + index] = np.uint8(word >> np.uint64(8 * index))
            start, to = start + 8, to + 8
        for index in range(end - start):
            content[to + index] = data[start + index]
        at += ranges[row, 1]
    offsets[ranges.shape[0]] = at
