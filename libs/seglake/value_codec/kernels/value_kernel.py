"""Compiled loop that runs a program over many values, and finds which values decode."""

from typing import Any

import numpy as np

from seglake.compiled_loops import Array, Int, compiled, inlined
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
    LONG,
    LONG_WITHIN,
    MOST_EMPTY_ITEMS,
    NEXT,
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
def _number(code: Array, pc: Int, data: Array, p: Int, stop: Int) -> tuple[Int, Int, Int]:
    """Read an int or a long.

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
    return q, p, OK


@inlined
def _bytes(
    code: Array, pc: Int, data: Array, p: Int, stop: Int, powers: Array
) -> tuple[Int, Int, Int]:
    """Read bytes, a string or a decimal; return the same three values as `_number`."""
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
    return end, p, OK


@inlined
def _fixed(
    code: Array, pc: Int, data: Array, p: Int, stop: Int, powers: Array
) -> tuple[Int, Int, Int]:
    """Read as many bytes as the schema says; return a triple of the form that `_number` returns."""
    end = p + code[pc, 1]
    if end > stop:
        return np.int64(-SHORT), p, OK
    if code[pc, 0] == FIXED_DECIMAL and not has_digits(data, p, end, powers, code[pc, 2]):
        return end, p, DECIMAL_OVERFLOW
    return end, p, OK


@inlined
def _index(data: Array, p: Int, stop: Int, count: Int, fault: Int) -> tuple[Int, Int]:
    """Read a number below `count`; return it, and the index after it or the negative outcome."""
    index, q = varlong(data, p, stop)
    if q >= 0 and (index < 0 or index >= count):
        return np.int64(0), np.int64(-fault)
    return index, q


@inlined
def _scalar(code: Array, pc: Int, data: Array, p: Int, stop: Int, powers: Array) -> Any:
    """Read a scalar; return a triple of the form that `_number` returns."""
    operation = code[pc, 0]
    if operation in (INT, LONG):
        return _number(code, pc, data, p, stop)
    if operation in (STRING, BYTES, DECIMAL):
        return _bytes(code, pc, data, p, stop, powers)
    if operation in (FIXED, FIXED_DECIMAL, FLOAT, DOUBLE):
        return _fixed(code, pc, data, p, stop, powers)
    if operation in (INT_WITHIN, LONG_WITHIN):
        return _number(code, pc, data, p, stop)
    if operation == ENUM:
        _, q = _index(data, p, stop, code[pc, 1], BAD_ENUM)
        return q, p, OK
    if operation == BOOLEAN:
        if p >= stop:
            return np.int64(-SHORT), p, OK
        return (np.int64(-BAD_BOOLEAN) if data[p] > 1 else p + 1), p, OK
    is_sound = code[pc, 1] == 0 or has_digits(data, p, stop, powers, code[pc, 1])
    return stop, p, (OK if is_sound else DECIMAL_OVERFLOW)  # operation RAW


@inlined
def _empty_items(data: Array, p: Int, stop: Int, most: Int) -> tuple[Int, Int, Int]:
    """Skip an array whose items have no bytes.

    Returns:
        The index after the array or the fault, the place of the fault, and the number of items.
    """
    total = np.int64(0)
    while True:
        count, q = block(data, p, stop)
        if q < 0:
            return q, p, total
        if count > most - total:
            return np.int64(-TOO_LARGE), p, total
        total += count
        p = q
        if count == 0:
            return p, p, total


@inlined
def _value(
    program: Array, data: Array, p: Int, stop: Int, powers: Array, stack: Array, totals: Array
) -> tuple[Int, Int]:
    """Return the outcome of one value and the index of the byte that decides it."""
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
            branch, q = _index(data, p, stop, code[pc, 1], BAD_UNION_BRANCH)
            if q < 0:
                return -q, p
            p, pc = q, program.targets[code[pc, 2] + branch, 0]
        elif operation == BLOCKS and code[pc, 2] == 1:
            q, at, count = _empty_items(data, p, stop, left_empty)
            if q < 0:
                return -q, at
            left_empty -= count
            if code[pc, ITEM_LEVEL] >= 0:
                totals[code[pc, ITEM_LEVEL]] += count
            p, pc = q, code[pc, 1]
        elif operation in (BLOCKS, NEXT):
            level = code[pc, ITEM_LEVEL]
            pc, q, depth, count = items(code, pc, data, p, stop, stack, depth)
            if q < 0:
                return -q, p
            if level >= 0:
                totals[level] += count
            p = q
        elif operation in (BEGIN, FINISH):
            pc += 1
        else:
            q, at, fault = _scalar(code, pc, data, p, stop, powers)
            if q < 0:
                return -q, at
            if fault != OK and late == OK:
                late, late_at = np.int64(fault), at
            p, pc = q, pc + 1


@compiled
def check_values(
    program: Array,
    data: Array,
    starts: Array,
    stops: Array,
    powers: Array,
    stack: Array,
    verdicts: Array,
    totals: Array,
) -> None:
    """Run a program over values.

    Args:
        program: a `Program`: the compiled schema of the values.
        data: bytes of all values.
        starts: index of each value's first byte.
        stops: index after each value's last byte, at most the size of `data`.
        powers: the upper and the lower 64 bits of 10 ** digits, for each number of digits up to 38.
        stack: room for DEEPEST numbers.
        verdicts: is set to the outcome of each value, and in a second row to the index of the byte
            that decides it.
        totals: for each level, the number of items is added; items of faulty values may count.
    """
    for row in range(starts.shape[0]):
        outcome, at = _value(program, data, starts[row], stops[row], powers, stack, totals)
        verdicts[0, row] = outcome
        verdicts[1, row] = at
