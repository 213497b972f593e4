"""Compiled loop that runs a program over many values: it checks them and stores their entries."""

from typing import Any

import numpy as np

from seglake.compiled_loops import Array, Int, compiled, inlined
from seglake.value_codec.kernels.entries import entry_of, forget_value, store_decimal, store_word
from seglake.value_codec.kernels.operations import (
    BAD_BOOLEAN,
    BAD_ENUM,
    BAD_UNION_BRANCH,
    BAD_UTF8,
    BAD_VARINT,
    BEGIN,
    BLOCKS,
    BOOLEAN,
    CALL,
    DECIMAL_OVERFLOW,
    DEEPEST,
    DEPTH,
    END,
    ENUM,
    FINISH,
    FIXED,
    INT,
    ITEM_LEVEL,
    JUMP,
    LEVEL,
    LONG,
    MOST_EMPTY_ITEMS,
    NEXT,
    NO_ROOM,
    OK,
    RAW,
    RETURN,
    SHORT,
    STRING,
    TIMESTAMP_RANGE,
    TOO_LARGE,
    TRAILING_BYTES,
    UNION,
    WORD,
    Run,
)
from seglake.value_codec.kernels.parts import block, is_utf8, varlong

_LEAST_INT, _GREATEST_INT = -(1 << 31), (1 << 31) - 1


@inlined
def _number(run: Run, pc: Int, p: Int, stop: Int, at: Int) -> tuple[Int, Int, Int]:
    """Read an int or a long, and store it at `words[at]`, unless that is negative.

    Returns:
        The index after it, or the negative outcome if it cannot be read; the index of the byte that
        decides; and the outcome if it can be read but its value is out of range, else OK.
    """
    value, q = varlong(run.data, p, stop)
    if q < 0:
        return q, p, OK
    if run.code[pc, 0] == INT and (value < _LEAST_INT or value > _GREATEST_INT):
        return np.int64(-BAD_VARINT), p, OK
    if value < run.code[pc, 1] or value > run.code[pc, 2]:
        return q, p, TIMESTAMP_RANGE
    if at >= 0:
        run.columns.words[at] = value
    return q, p, OK


@inlined
def _bytes(run: Run, pc: Int, p: Int, stop: Int, at: Int) -> tuple[Int, Int, Int]:
    """Read and store bytes, a string or a decimal; return the same three values as `_number`."""
    operation, digits = run.code[pc, 0], run.code[pc, 2]
    start, end = p, stop  # of operation RAW
    if operation == FIXED:
        end = p + run.code[pc, 1]
        if end > stop:
            return np.int64(-SHORT), p, OK
    elif operation != RAW:
        length, start = varlong(run.data, p, stop)
        if start < 0:
            return start, p, OK
        if length < 0:
            return np.int64(-BAD_VARINT), p, OK
        if length > stop - start:
            return np.int64(-SHORT), start, OK
        end = start + length
    if operation == STRING and not is_utf8(run.data, start, end):
        return np.int64(-BAD_UTF8), start, OK
    if digits > 0:
        return end, p, OK if store_decimal(run, at, start, end, digits) else DECIMAL_OVERFLOW
    if at >= 0:
        run.columns.words[at] = start
        run.columns.words[at + 1] = end - start
    return end, p, OK


@inlined
def _index(data: Array, p: Int, stop: Int, count: Int, fault: Int) -> tuple[Int, Int]:
    """Read a number below `count`; return it, and the index after it or the negative outcome."""
    index, q = varlong(data, p, stop)
    if q >= 0 and (index < 0 or index >= count):
        return np.int64(0), np.int64(-fault)
    return index, q


@inlined
def _scalar(run: Run, pc: Int, p: Int, stop: Int) -> Any:
    """Read and store a scalar; return three values as `_number` does."""
    operation, words, at = run.code[pc, 0], run.columns.words, entry_of(run, pc)
    if operation in (INT, LONG):
        return _number(run, pc, p, stop, at)
    if operation == WORD:
        end = p + run.code[pc, 1]
        if end > stop:
            return np.int64(-SHORT), p, OK
        if at >= 0:
            store_word(words, at, run.data, p, run.code[pc, 1])
        return end, p, OK
    if operation == ENUM:
        index, q = _index(run.data, p, stop, run.code[pc, 1], BAD_ENUM)
        if at >= 0:
            words[at] = index
        return q, p, OK
    if operation == BOOLEAN:
        if p >= stop:
            return np.int64(-SHORT), p, OK
        if at >= 0:
            words[at] = run.data[p]
        return (np.int64(-BAD_BOOLEAN) if run.data[p] > 1 else p + 1), p, OK
    return _bytes(run, pc, p, stop, at)


@inlined
def _begun(run: Run, pc: Int, count: Int) -> Int:
    """Store that items begin; return 0 if there is no room for their entries."""
    level, columns = run.code[pc, ITEM_LEVEL], run.columns
    if level < 0:
        return np.int64(1)
    if count > columns.room[level] - columns.entries[level]:
        return np.int64(0)
    at = entry_of(run, pc)
    if at >= 0:
        columns.words[at] += count
    return np.int64(1)


@inlined
def _empty_items(run: Run, pc: Int, p: Int, stop: Int, most: Int) -> tuple[Int, Int, Int]:
    """Skip an array whose items have no bytes, and store their number.

    Returns:
        The index after the array or the negative outcome, the byte that decides it, and the number
        of items.
    """
    start, total = p, np.int64(0)
    while True:
        count, q = block(run.data, p, stop)
        if q < 0:
            return q, p, total
        if count > most - total:
            return np.int64(-TOO_LARGE), p, total
        total += count
        p = q
        if count == 0:
            break
    if not _begun(run, pc, total):
        return np.int64(-NO_ROOM), start, total
    if run.code[pc, ITEM_LEVEL] >= 0:
        run.columns.entries[run.code[pc, ITEM_LEVEL]] += total
    return p, p, total


@inlined
def _items(run: Run, pc: Int, p: Int, stop: Int, depth: Int) -> tuple[Int, Int, Int]:
    """Begin an array or a map, or end one of its items.

    Returns:
        The next row of the program, the index of the next byte or the negative outcome, and the
        depth of the stack, which has the items that are left.
    """
    code, stack = run.code, run.stack
    inside, after = pc + 1, code[pc, 1]  # rows of the first item, and after the loop
    if code[pc, 0] == NEXT:
        inside, after = after, inside
        if code[pc, ITEM_LEVEL] >= 0:
            run.columns.entries[code[pc, ITEM_LEVEL]] += 1
        stack[depth - 1] -= 1
        if stack[depth - 1] > 0:
            return inside, p, depth
        depth -= 1
    elif depth == DEEPEST:
        return pc, np.int64(-DEPTH), depth
    count, q = block(run.data, p, stop)
    if q >= 0 and count > stop - q:
        q = np.int64(-SHORT)  # each item has at least one byte
    if count == 0 or q < 0:
        return after, q, depth
    if not _begun(run, pc, count):
        q = np.int64(-NO_ROOM)
    stack[depth] = count
    return inside, q, depth + 1


@inlined
def _branch(run: Run, pc: Int, p: Int, stop: Int) -> tuple[Int, Int]:
    """Read the branch of a union; return its row, and the index after it or the outcome."""
    columns = run.columns
    branch, q = _index(run.data, p, stop, run.code[pc, 1], BAD_UNION_BRANCH)
    if q < 0:
        return pc, q
    target = run.code[pc, 2] + branch
    flags = run.targets[target, 1]
    if flags >= 0:
        columns.flags[columns.flag_starts[flags] + columns.entries[run.code[pc, LEVEL]]] = 1
    return run.targets[target, 0], q


@inlined
def _value(run: Run, p: Int, stop: Int) -> tuple[Int, Int]:
    """Store one value; return its outcome, and the index of the byte that decides it."""
    code, stack, pc, depth = run.code, run.stack, np.int64(0), np.int64(0)
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
            pc, q = _branch(run, pc, p, stop)
            if q < 0:
                return -q, p
            p = q
        elif operation == BLOCKS and code[pc, 2] == 1:
            q, at, count = _empty_items(run, pc, p, stop, left_empty)
            if q < 0:
                return -q, at
            left_empty -= count
            p, pc = q, code[pc, 1]
        elif operation in (BLOCKS, NEXT):
            pc, q, depth = _items(run, pc, p, stop, depth)
            if q < 0:
                return -q, p
            p = q
        elif operation in (BEGIN, FINISH):
            at = entry_of(run, pc)
            if at >= 0 and operation == BEGIN:
                run.columns.words[at] = p
            elif at >= 0:
                run.columns.words[at + 1] = p - run.columns.words[at]
            pc += 1
        else:
            q, at, fault = _scalar(run, pc, p, stop)
            if q < 0:
                return -q, at
            if fault != OK and late == OK:
                late, late_at = np.int64(fault), at
            p, pc = q, pc + 1


@compiled
def read_values(run: Run, starts: Array, stops: Array, outcomes: Array, places: Array) -> Int:
    """Run a program over values, and return how many there was room for.

    Args:
        run: the program and its arrays.
        starts: index of each value's first byte.
        stops: index after each value's last byte, at most the size of the data.
        outcomes: is set to the outcome of each value.
        places: is set to the index of the byte that decides it.
    """
    columns = run.columns
    for row in range(starts.shape[0]):
        columns.entries[0] = columns.kept[0] = row
        outcome, at = _value(run, starts[row], stops[row])
        if outcome != OK:
            forget_value(columns)
        if outcome == NO_ROOM:
            return row
        for level in range(1, columns.kept.shape[0]):
            columns.kept[level] = columns.entries[level]
        outcomes[row] = outcome
        places[row] = at
    return starts.shape[0]
