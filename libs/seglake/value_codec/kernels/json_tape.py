"""Compiled loop that reads many JSON texts into a tape: a node for each value, with its path.

A path is a place in the type: the root, a member of an object, or all items of an array. While
types are inferred, new keys make new paths; while values are read, only known ones count, and
values at other paths are checked and get no node.
"""

import numpy as np

from seglake.compiled_loops import Array, Int, compiled, inlined
from seglake.value_codec.kernels.json_operations import (
    ARRAY,
    BAD_JSON,
    BAD_UTF8,
    BIG_NUMBER,
    CLOSED,
    DEEPEST,
    DEPTH,
    ESCAPED_STRING,
    FALSE,
    FLOAT,
    INTEGER,
    MAP,
    NO_PATH,
    NULL,
    OBJECT,
    ODD_STRING,
    OK,
    STRING,
    TRUE,
    Work,
)
from seglake.value_codec.kernels.json_paths import path_of_items, path_of_member
from seglake.value_codec.kernels.json_tokens import (
    ESCAPED,
    LONE_SURROGATE,
    NOT_UTF8,
    after_number,
    after_space,
    after_word,
    integer,
    put_string,
    string,
)

_VALUE, _KEY, _ITEM, _AFTER = range(4)  # kinds of what may come next in a text
# path of a member whose key cannot be a column's name; a null there counts as a value, too
_NO_NAME = NO_PATH - 1
_STATE, _DEPTH, _PATH, _KEY_START, _KEY_END = range(5)  # indexes of the array `Work.at`


@inlined
def _path_of_key(data: Array, parent: Int, facts: Int, work: Work) -> Int:
    """Return the path of the member whose key was read; NO_PATH or _NO_NAME if there is none."""
    paths, p, end = work.paths, work.at[_KEY_START], work.at[_KEY_END]
    if parent < 0 or paths.modes[parent] == CLOSED:
        return np.int64(NO_PATH)
    if facts & LONE_SURROGATE:
        return np.int64(_NO_NAME)
    if paths.modes[parent] == MAP:
        return np.int64(paths.items[parent])
    if facts & ESCAPED:
        stop = put_string(data, p, end, work.scratch, 0)
        return path_of_member(paths, parent, work.scratch, 0, stop)
    return path_of_member(paths, parent, data, p, end)


@inlined
def _scalar(data: Array, p: Int, stop: Int) -> tuple[Int, Int, Int, Int]:
    """Read a string, number or word.

    Returns:
        The index after it, or ~(index of the faulty byte); the kind of node; the value of an
        integer; and the facts of a string (see `json_tokens`).
    """
    byte = np.int64(data[p])
    value, facts, kind = np.int64(0), np.int64(0), np.int64(NULL)
    if byte == 0x22:
        q, facts = string(data, p + 1, stop)
        kind = np.int64(STRING)
        if facts & LONE_SURROGATE:
            kind = np.int64(ODD_STRING)
        elif facts & ESCAPED:
            kind = np.int64(ESCAPED_STRING)
    elif byte == 45 or 48 <= byte <= 57:
        q, is_integer = after_number(data, p, stop)
        kind = np.int64(FLOAT)
        if is_integer and q >= 0:
            value, is_small = integer(data, p, q)
            kind = np.int64(INTEGER if is_small else BIG_NUMBER)
    elif byte == 116:
        q, kind = after_word(data, p, stop, (116, 114, 117, 101)), np.int64(TRUE)
    elif byte == 102:
        q, kind = after_word(data, p, stop, (102, 97, 108, 115, 101)), np.int64(FALSE)
    elif byte == 110:
        q = after_word(data, p, stop, (110, 117, 108, 108))
    else:
        q = ~p
    return q, kind, value, facts


@inlined
def _add(work: Work, kind: Int, start: Int, end: Int) -> Int:
    """Add a node at the path that is being read, and return it."""
    tape, at = work.tape, work.at
    node, depth = np.int64(tape.used[0]), at[_DEPTH]
    tape.kinds[node], tape.paths[node] = kind, at[_PATH]
    tape.parents[node] = work.stack.nodes[depth - 1] if depth else np.int64(-1)
    tape.starts[node], tape.ends[node] = start, end
    tape.key_starts[node], tape.key_ends[node] = at[_KEY_START], at[_KEY_END]
    tape.used[0] = node + 1
    return node


@inlined
def _after(data: Array, p: Int, work: Work) -> Int:
    """Read the comma or the closing bracket after a value.

    Returns:
        The index after it, or ~(index of the faulty byte).
    """
    stack, at = work.stack, work.at
    if at[_DEPTH] == 0:
        return ~p
    top = at[_DEPTH] - 1
    is_object = stack.are_objects[top]
    if data[p] == (125 if is_object else 93):
        node = stack.nodes[top]
        if node >= 0:
            work.tape.ends[node], work.tape.values[node] = p + 1, stack.counts[top]
        at[_DEPTH] = top
        return p + 1
    if data[p] != 44:
        return ~p
    at[_STATE] = _KEY if is_object else _ITEM
    return p + 1


@inlined
def _key(data: Array, p: Int, stop: Int, work: Work) -> tuple[Int, Int]:
    """Read a key and its colon.

    Returns:
        The index after them, or ~(index of the faulty byte); and the facts of the key.
    """
    at = work.at
    if data[p] != 0x22:
        return ~p, np.int64(0)
    q, facts = string(data, p + 1, stop)
    if q < 0:
        return q, facts
    at[_KEY_START], at[_KEY_END] = p + 1, q - 1
    parent = np.int64(work.stack.paths[at[_DEPTH] - 1])
    at[_PATH] = _path_of_key(data, parent, facts, work)
    q = after_space(data, q, stop)
    if q >= stop or data[q] != 58:
        return ~q, facts
    at[_STATE] = _VALUE
    return q + 1, facts


@inlined
def _open(data: Array, p: Int, stop: Int, work: Work) -> Int:
    """Read the opening bracket of an object or an array, and return the index after it.

    If the object or array is empty, that is the index of its closing bracket.
    """
    stack, at = work.stack, work.at
    depth, path, node = at[_DEPTH], at[_PATH], np.int64(-1)
    is_object = data[p] == 123
    if path >= 0:
        node = _add(work, OBJECT if is_object else ARRAY, p, p)
    if depth:
        stack.counts[depth - 1] += 1
    stack.nodes[depth], stack.paths[depth] = node, path
    stack.are_objects[depth], stack.counts[depth] = is_object, 0
    at[_DEPTH] = depth + 1
    p = after_space(data, p + 1, stop)
    at[_STATE] = _KEY if is_object else _ITEM
    if p < stop and data[p] == (125 if is_object else 93):
        at[_STATE] = _AFTER
    return p


@inlined
def _value(data: Array, p: Int, stop: Int, work: Work) -> tuple[Int, Int]:
    """Read a string, number or word, and add a node for it if its path is known.

    Returns:
        The index after it, or ~(index of the faulty byte); and the facts of a string.
    """
    at = work.at
    q, kind, value, facts = _scalar(data, p, stop)
    if q < 0:
        return q, facts
    path = at[_PATH]
    if at[_DEPTH] and (path >= 0 or kind != NULL or path == _NO_NAME):
        work.stack.counts[at[_DEPTH] - 1] += 1
    if path >= 0:
        quote = np.int64(kind >= STRING)
        work.tape.values[_add(work, kind, p + quote, q - quote)] = value
    at[_STATE] = _AFTER
    return q, facts


@inlined
def _text(data: Array, p: Int, stop: Int, work: Work) -> tuple[Int, Int]:
    """Read a text into nodes.

    Returns:
        The outcome, and the index of the faulty byte (the end of the text if it is valid).
    """
    at = work.at
    at[_STATE], at[_DEPTH], at[_PATH], at[_KEY_START], at[_KEY_END] = _VALUE, 0, 0, 0, 0
    while True:
        p = after_space(data, p, stop)
        state, facts = at[_STATE], np.int64(0)
        if p >= stop:
            is_done = state == _AFTER and at[_DEPTH] == 0
            return np.int64(OK if is_done else BAD_JSON), stop
        if state == _ITEM:
            at[_PATH] = path_of_items(work.paths, work.stack.paths[at[_DEPTH] - 1])
            at[_STATE] = _VALUE
        if state == _AFTER:
            p = _after(data, p, work)
        elif state == _KEY:
            p, facts = _key(data, p, stop, work)
        elif data[p] == 123 or data[p] == 91:
            if at[_DEPTH] == DEEPEST:
                return np.int64(DEPTH), p
            p = _open(data, p, stop, work)
        else:
            p, facts = _value(data, p, stop, work)
        if p < 0:
            return np.int64(BAD_UTF8 if facts & NOT_UTF8 else BAD_JSON), ~p


@compiled
def read_texts(
    data: Array,
    starts: Array,
    stops: Array,
    work: Work,
    firsts: Array,
    outcomes: Array,
    positions: Array,
) -> None:
    """Read many texts into a tape that has room for all of them.

    Args:
        data: bytes of all texts.
        starts: index of each text's first byte.
        stops: index after each text's last byte.
        work: gets the nodes; the first one of a text is its root.
        firsts: get the root of each text.
        outcomes: get the outcome of each text.
        positions: get the byte of each text that could not be read, -1 for none.
    """
    for row in range(len(starts)):
        first = work.tape.used[0]
        outcome, fault = _text(data, starts[row], stops[row], work)
        firsts[row], outcomes[row], positions[row] = first, outcome, 0
        if outcome != OK:
            positions[row] = fault - starts[row]
            work.tape.used[0] = first


@compiled
def most_nodes(data: Array, starts: Array, stops: Array) -> int:
    """Return a number of nodes that is enough for all of the texts."""
    count = len(starts)
    for row in range(len(starts)):
        for index in range(starts[row], stops[row]):
            byte = data[index]
            count += byte == 44 or byte == 91 or byte == 123
    return count
