"""Compiled loops that fill columns with the values that `check_values` found valid.

Nothing is checked again. All entries are zero before; an entry without a value stays zero.
"""

import numpy as np

from seglake.compiled_loops import Array, Int, compiled, inlined
from seglake.value_codec.kernels.operations import (
    BEGIN,
    BLOCKS,
    BOOLEAN,
    BYTES,
    CALL,
    DECIMAL,
    DOUBLE,
    END,
    ENUM,
    FINISH,
    FIXED_DECIMAL,
    FLOAT,
    INT,
    INT_WITHIN,
    ITEM_LEVEL,
    JUMP,
    LEVEL,
    LONG,
    LONG_WITHIN,
    NEXT,
    OK,
    RAW,
    RETURN,
    SLOT,
    STRING,
    UNION,
)
from seglake.value_codec.kernels.parts import block, items, varlong


@inlined
def _word(data: Array, p: Int, count: Int) -> Int:
    """Return the little-endian number of up to 8 bytes at p."""
    value = np.uint64(0)
    for index in range(count):
        value |= np.uint64(data[p + index]) << np.uint64(8 * index)
    return np.int64(value)


@inlined
def _decimal(words: Array, at: Int, data: Array, p: Int, end: Int) -> None:
    """Store a big-endian number, which fits 128 bits, as a lower and an upper word."""
    sign = np.uint64(0)
    if p < end and data[p] >= 0x80:
        sign = ~sign
    upper, lower = sign, sign
    for index in range(max(p, end - 16), end):
        upper = (upper << np.uint64(8)) | (lower >> np.uint64(56))
        lower = (lower << np.uint64(8)) | np.uint64(data[index])
    words[at] = np.int64(lower)
    words[at + 1] = np.int64(upper)


@inlined
def _range(words: Array, at: Int, p: Int, end: Int) -> None:
    words[at] = p
    words[at + 1] = end - p


@inlined
def _scalar(
    code: Array, pc: Int, data: Array, p: Int, stop: Int, words: Array, slot: Int, entry: Int
) -> Int:
    """Read and store a value without parts; return the index after it.

    Args:
        code: the program.
        pc: its row.
        data: the bytes.
        p: index of the value.
        stop: index after the whole value.
        words: the entries.
        slot: index of the slot's first entry; -1 to store nothing.
        entry: number of the entry.
    """
    operation = code[pc, 0]
    if operation in (INT, LONG, ENUM, INT_WITHIN, LONG_WITHIN):
        value, q = varlong(data, p, stop)
        if slot >= 0:
            words[slot + entry] = value
        return q
    if operation in (STRING, BYTES, DECIMAL):
        length, q = varlong(data, p, stop)
        end = q + length
    elif operation == RAW:
        q, end = p, stop
    elif operation == BOOLEAN:
        q, end = p, p + 1
    else:
        q, end = p, p + code[pc, 1]
    if slot >= 0:
        if operation in (DOUBLE, FLOAT, BOOLEAN):
            words[slot + entry] = _word(data, p, end - p)
        elif operation in (DECIMAL, FIXED_DECIMAL) or (operation == RAW and code[pc, 1] > 0):
            _decimal(words, slot + 2 * entry, data, q, end)
        else:
            _range(words, slot + 2 * entry, q, end)
    return end


@inlined
def _empty_items(data: Array, p: Int, stop: Int) -> tuple[Int, Int]:
    """Return the number of items without bytes, and the index after their array."""
    total = np.int64(0)
    while True:
        count, p = block(data, p, stop)
        if count == 0:
            return total, p
        total += count


@inlined
def _value(
    program: Array,
    data: Array,
    p: Int,
    stop: Int,
    stack: Array,
    columns: Array,
    next_entries: Array,
) -> None:
    """Store one value; count the entries of its lists' items."""
    code, words, slots = program.code, columns.words, columns.slots
    pc, depth = np.int64(0), np.int64(0)
    while code[pc, 0] != END:
        operation, number = code[pc, 0], code[pc, SLOT]
        slot = slots[number] if number >= 0 else np.int64(-1)
        entry = next_entries[code[pc, LEVEL]]
        if operation == RETURN:
            depth, pc = depth - 1, stack[depth - 1]
        elif operation == JUMP:
            pc = code[pc, 1]
        elif operation == CALL:
            stack[depth] = pc + 1
            depth, pc = depth + 1, code[pc, 1]
        elif operation == UNION:
            branch, p = varlong(data, p, stop)
            target = code[pc, 2] + branch
            flags = program.targets[target, 1]
            if flags >= 0:
                columns.flags[columns.flag_starts[flags] + entry] = 1
            pc = program.targets[target, 0]
        elif operation == BLOCKS and code[pc, 2] == 1:
            count, p = _empty_items(data, p, stop)
            if slot >= 0:
                words[slot + entry] = count
                next_entries[code[pc, ITEM_LEVEL]] += count
            pc = code[pc, 1]
        elif operation in (BLOCKS, NEXT):
            if operation == NEXT and slot >= 0:
                next_entries[code[pc, ITEM_LEVEL]] += 1
            pc, p, depth, count = items(code, pc, data, p, stop, stack, depth)
            if slot >= 0:
                words[slot + entry] += count
        else:
            if operation == BEGIN:
                words[slot + 2 * entry] = p
            elif operation == FINISH:
                words[slot + 2 * entry + 1] = p - words[slot + 2 * entry]
            else:
                p = _scalar(code, pc, data, p, stop, words, slot, entry)
            pc += 1


@compiled
def fill_columns(
    program: Array,
    data: Array,
    starts: Array,
    stops: Array,
    outcomes: Array,
    stack: Array,
    columns: Array,
    next_entries: Array,
) -> None:
    """Decode the valid values into columns.

    Args:
        program: a `Program`: the compiled schema of the values.
        data: bytes of all values.
        starts: index of each value's first byte.
        stops: index after each value's last byte.
        outcomes: the outcome of each value, from `check_values`.
        stack: room for DEEPEST numbers.
        columns: `StoredColumns`, all zero, with room for the totals of `check_values`.
        next_entries: the next entry of each level, all zero.
    """
    for row in range(starts.shape[0]):
        if outcomes[row] == OK:
            next_entries[0] = row
            _value(program, data, starts[row], stops[row], stack, columns, next_entries)


@compiled
def copy_ranges(ranges: Array, data: Array, offsets: Array, content: Array) -> None:
    """Copy ranges of bytes one after another.

    Args:
        ranges: start and length of each.
        data: the bytes.
        offsets: index, in `content`, of each range's copy.
        content: receives the copies.
    """
    for row in range(ranges.shape[0]):
        start, at = ranges[row, 0], offsets[row]
        for index in range(ranges[row, 1]):
            content[at + index] = data[start + index]
