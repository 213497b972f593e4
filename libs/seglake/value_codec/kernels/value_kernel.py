"""Compiled loop that runs a program over many values: it checks them and stores their entries."""

from typing import Any

import numpy as np

from seglake.compiled_loops import Array, Int, compiled, inlined
from seglake.value_codec.kernels.entries import (
    entry_of,
    forget_value,
    store_decimal,
    store_range,
    store_word,
)
from seglake.value_codec.kernels.operations import (
    BAD_BOOLEAN,
    BAD_ENUM,
    BAD_UNION_BRANCH,
    BAD_UTF8,
    BAD_VARINT,
    BEGIN,
    BLOCKS,
    BOOLEAN,
    BYTES,
    CALL,
    DECIMAL,
    DECIMAL_OVERFLOW,
    DEEPEST,
    DEPTH,
    DOUBLE,
    END,
    ENUM,
    FINISH,
    FIXED,
    FIXED_DECIMAL,
    FLOAT,
    INT,
    INT_WITHIN,
    ITEM_LEVEL,
    JUMP,
    LEVEL,
    LONG,
    LONG_WITHIN,
    MOST_EMPTY_ITEMS,
    NEXT,
    NO_ROOM,
    OK,
    RETURN,
    SHORT,
    STRING,
    TIMESTAMP_RANGE,
    TOO_LARGE,
    TRAILING_BYTES,
    UNION,
)
from seglake.value_codec.kernels.parts import block, has_digits, is_utf8, items, varlong

_LEAST_INT, _GREATEST_INT = -(1 << 31), (1 << 31) - 1


@inlined
def _number(
    code: Array, pc: Int, data: Array, p: Int, stop: Int, words: Array, at: Int
) -> tuple[Int, Int, Int]:
    """Read an int or a long, and store it at `words[at]`, unless that is negative.

    Returns:
        The index after it, or the negative outcome if it cannot be read; the index of the byte that
        decides; and the outcome if it can be read but its value is out of range, else OK.
    """
    operation = code[pc, 0]
    value, q = varlong(data, p, stop)
    if q < 0:
        return q, p, OK
    is_within = operation in (INT_WITHIN, LONG_WITHIN)
    if operation in (INT, INT_WITHIN) and (value < _LEAST_INT or value > _GREATEST_INT):
        return np.int64(-BAD_VARINT), p, OK
    if is_within and (value < code[pc, 1] or value > code[pc, 2]):
        return q, p, TIMESTAMP_RANGE
    if at >= 0:
        words[at] = value
    return q, p, OK


@inlined
def _bytes(
    code: Array, pc: Int, data: Array, p: Int, stop: Int, powers: Array, words: Array, at: Int
) -> tuple[Int, Int, Int]:
    """Read and store bytes, a string or a decimal; return the same three values as `_number`."""
    length, q = varlong(data, p, stop)
    if q < 0:
        return q, p, OK
    if length < 0:
        return np.int64(-BAD_VARINT), p, OK
    if length > stop - q:
        return np.int64(-SHORT), q, OK
    end = q + length
    if code[pc, 0] == STRING and not is_utf8(data, q, end):
        return np.int64(-BAD_UTF8), q, OK
    if code[pc, 0] == DECIMAL and not has_digits(data, q, end, powers, code[pc, 1]):
        return end, p, DECIMAL_OVERFLOW
    if at >= 0 and code[pc, 0] == DECIMAL:
        store_decimal(words, at, data, q, end)
    elif at >= 0:
        store_range(words, at, q, end)
    return end, p, OK


@inlined
def _fixed(
    code: Array, pc: Int, data: Array, p: Int, stop: Int, powers: Array, words: Array, at: Int
) -> tuple[Int, Int, Int]:
    """Read and store as many bytes as the schema says; return three values as `_number` does."""
    end = p + code[pc, 1]
    if end > stop:
        return np.int64(-SHORT), p, OK
    if code[pc, 0] == FIXED_DECIMAL and not has_digits(data, p, end, powers, code[pc, 2]):
        return end, p, DECIMAL_OVERFLOW
    if at >= 0 and code[pc, 0] == FIXED_DECIMAL:
        store_decimal(words, at, data, p, end)
    elif at >= 0 and code[pc, 0] == FIXED:
        store_range(words, at, p, end)
    elif at >= 0:
        store_word(words, at, data, p, code[pc, 1])
    return end, p, OK


@inlined
def _rest(
    code: Array, pc: Int, data: Array, p: Int, stop: Int, powers: Array, words: Array, at: Int
) -> tuple[Int, Int, Int]:
    """Read and store all bytes that are left; return three values as `_number` does."""
    if code[pc, 1] > 0 and not has_digits(data, p, stop, powers, code[pc, 1]):
        return stop, p, DECIMAL_OVERFLOW
    if at >= 0 and code[pc, 1] > 0:
        store_decimal(words, at, data, p, stop)
    elif at >= 0:
        store_range(words, at, p, stop)
    return stop, p, OK


@inlined
def _index(data: Array, p: Int, stop: Int, count: Int, fault: Int) -> tuple[Int, Int]:
    """Read a number below `count`; return it, and the index after it or the negative outcome."""
    index, q = varlong(data, p, stop)
    if q >= 0 and (index < 0 or index >= count):
        return np.int64(0), np.int64(-fault)
    return index, q


@inlined
def _scalar(
    code: Array, pc: Int, data: Array, p: Int, stop: Int, powers: Array, columns: Array
) -> Any:
    """Read and store a scalar; return three values as `_number` does."""
    operation, words, at = code[pc, 0], columns.words, entry_of(code, pc, columns)
    if operation in (INT, LONG):
        return _number(code, pc, data, p, stop, words, at)
    if operation in (STRING, BYTES, DECIMAL):
        return _bytes(code, pc, data, p, stop, powers, words, at)
    if operation in (FIXED, FIXED_DECIMAL, FLOAT, DOUBLE):
        return _fixed(code, pc, data, p, stop, powers, words, at)
    if operation in (INT_WITHIN, LONG_WITHIN):
        return _number(code, pc, data, p, stop, words, at)
    if operation == ENUM:
        index, q = _index(data, p, stop, code[pc, 1], BAD_ENUM)
        if at >= 0:
            words[at] = index
        return q, p, OK
    if operation == BOOLEAN:
        if p >= stop:
            return np.int64(-SHORT), p, OK
        if at >= 0:
            words[at] = data[p]
        return (np.int64(-BAD_BOOLEAN) if data[p] > 1 else p + 1), p, OK
    return _rest(code, pc, data, p, stop, powers, words, at)  # operation RAW


@inlined
def _begun(code: Array, pc: Int, columns: Array, count: Int) -> Int:
    """Store that items begin; return 0 if there is no room for their entries."""
    level = code[pc, ITEM_LEVEL]
    if level < 0:
        return np.int64(1)
    if count > columns.room[level] - columns.entries[level]:
        return np.int64(0)
    at = entry_of(code, pc, columns)
    if at >= 0:
        columns.words[at] += count
    return np.int64(1)


@inlined
def _empty_items(
    code: Array, pc: Int, data: Array, p: Int, stop: Int, most: Int, columns: Array
) -> tuple[Int, Int, Int]:
    """Skip an array whose items have no bytes, and store their number.

    Returns:
        The index after the array or the negative outcome, the byte that decides it, and the number
        of items.
    """
    start, total = p, np.int64(0)
    while True:
        count, q = block(data, p, stop)
        if q < 0:
            return q, p, total
        if count > most - total:
            return np.int64(-TOO_LARGE), p, total
        total += count
        p = q
        if count == 0:
            break
    if not _begun(code, pc, columns, total):
        return np.int64(-NO_ROOM), start, total
    if code[pc, ITEM_LEVEL] >= 0:
        columns.entries[code[pc, ITEM_LEVEL]] += total
    return p, p, total


@inlined
def _items(
    code: Array, pc: Int, data: Array, p: Int, stop: Int, stack: Array, depth: Int, columns: Array
) -> tuple[Int, Int, Int]:
    """Begin an array or a map, or end one of its items; return three values of `items`."""
    if code[pc, 0] == NEXT and code[pc, ITEM_LEVEL] >= 0:
        columns.entries[code[pc, ITEM_LEVEL]] += 1
    after, q, depth, count = items(code, pc, data, p, stop, stack, depth)
    if q >= 0 and count > 0 and not _begun(code, pc, columns, count):
        q = np.int64(-NO_ROOM)
    return after, q, depth


@inlined
def _branch(
    program: Array, pc: Int, data: Array, p: Int, stop: Int, columns: Array
) -> tuple[Int, Int]:
    """Read the branch of a union; return its row, and the index after it or the outcome."""
    code = program.code
    branch, q = _index(data, p, stop, code[pc, 1], BAD_UNION_BRANCH)
    if q < 0:
        return pc, q
    target = code[pc, 2] + branch
    flags = program.targets[target, 1]
    if flags >= 0:
        columns.flags[columns.flag_starts[flags] + columns.entries[code[pc, LEVEL]]] = 1
    return program.targets[target, 0], q


@inlined
def _value(
    program: Array, data: Array, p: Int, stop: Int, powers: Array, stack: Array, columns: Array
) -> tuple[Int, Int]:
    """Store one value; return its outcome, and the index of the byte that decides it."""
    code, pc, depth = program.code, np.int64(0), np.int64(0)
    late, late_at = np.int64(OK), p  # fault that counts only if no other fault follows
    left_empty = stop - p + MOST_EMPTY_ITEMS
    while True:
        operation = code[pc, 0]
        if operation == END:
            return (late, late_at) if p == stop else (np.int64(TRAILING_BYTES), p)
        if operation == RETURN:
            depth, pc = depth - 1, stack[depth - 1]
        elif operation == JUMP:
            pc = code[pc, 1]
        elif operation == CALL:
            if depth == DEEPEST:
                return np.int64(DEPTH), p
            stack[depth] = pc + 1
            depth, pc = depth + 1, code[pc, 1]
        elif operation == UNION:
            pc, q = _branch(program, pc, data, p, stop, columns)
            if q < 0:
                return -q, p
            p = q
        elif operation == BLOCKS and code[pc, 2] == 1:
            q, at, count = _empty_items(code, pc, data, p, stop, left_empty, columns)
            if q < 0:
                return -q, at
            left_empty -= count
            p, pc = q, code[pc, 1]
        elif operation in (BLOCKS, NEXT):
            pc, q, depth = _items(code, pc, data, p, stop, stack, depth, columns)
            if q < 0:
                return -q, p
            p = q
        elif operation in (BEGIN, FINISH):
            at = entry_of(code, pc, columns)
            if at >= 0 and operation == BEGIN:
                columns.words[at] = p
            elif at >= 0:
                columns.words[at + 1] = p - columns.words[at]
            pc += 1
        else:
            q, at, fault = _scalar(code, pc, data, p, stop, powers, columns)
            if q < 0:
                return -q, at
            if fault != OK and late == OK:
                late, late_at = np.int64(fault), at
            p, pc = q, pc + 1


@compiled
def read_values(
    program: Array,
    data: Array,
    starts: Array,
    stops: Array,
    powers: Array,
    stack: Array,
    verdicts: Array,
    columns: Array,
) -> Int:
    """Run a program over values, and return how many there was room for.

    Args:
        program: a `Program`: the compiled schema of the values.
        data: bytes of all values.
        starts: index of each value's first byte.
        stops: index after each value's last byte, at most the size of `data`.
        powers: the upper and the lower 64 bits of 10 ** digits, for each number of digits up to 38.
        stack: room for DEEPEST numbers.
        verdicts: is set to the outcome of each value, and in a second array to the index of the
            byte that decides it.
        columns: `StoredColumns`, all zero; the entries of faulty values stay zero.
    """
    for row in range(starts.shape[0]):
        columns.entries[0] = columns.kept[0] = row
        outcome, at = _value(program, data, starts[row], stops[row], powers, stack, columns)
        if outcome != OK:
            forget_value(columns)
        if outcome == NO_ROOM:
            return row
        for level in range(1, columns.kept.shape[0]):
            columns.kept[level] = columns.entries[level]
        verdicts[0][row] = outcome
        verdicts[1][row] = at
    return starts.shape[0]
