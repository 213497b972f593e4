"""Parts of the compiled loop over JSON: strings, numbers and words, as RFC 8259 writes them.

A reading part returns the index after the token, or the negative complement (`~p`) of the index of
the byte that fits no token.
"""

import numpy as np

from seglake.compiled_loops import Array, Int, inlined
from seglake.value_codec.kernels.parts import after_character

ESCAPED, LONE_SURROGATE, NOT_UTF8 = 1, 2, 4
"""Facts of a string: it has escapes; an escape is half a surrogate pair; it is not UTF-8."""

_LARGEST = 0x7FFFFFFFFFFFFFFF
_QUOTE, _BACKSLASH, _SMALL_U = 0x22, 0x5C, 0x75


@inlined
def after_space(data: Array, p: Int, stop: Int) -> Int:
    """Return the index of the next byte that is no white space."""
    while p < stop and (data[p] == 32 or data[p] == 10 or data[p] == 13 or data[p] == 9):
        p += 1
    return p


@inlined
def hex_digits(data: Array, p: Int, stop: Int) -> Int:
    """Return the value of four hexadecimal digits, or -1."""
    if stop - p < 4:
        return np.int64(-1)
    value = np.int64(0)
    for index in range(p, p + 4):
        byte = np.int64(data[index])
        if 48 <= byte <= 57:
            value = value * 16 + byte - 48
        elif 65 <= (byte & 0xDF) <= 70:
            value = value * 16 + (byte & 0xDF) - 55
        else:
            return np.int64(-1)
    return value


@inlined
def escape(data: Array, p: Int, stop: Int) -> tuple[Int, Int]:
    """Read an escape that begins at `p` with a backslash.

    Returns:
        The index after it, or ~(index of the faulty byte); and its code point, which is a surrogate
        if the other half of a pair is missing.
    """
    if p + 1 >= stop:
        return ~stop, np.int64(0)
    name = np.int64(data[p + 1])
    if name == _SMALL_U:
        code = hex_digits(data, p + 2, stop)
        if code < 0:
            return ~p, code
        if (code & 0xFC00) == 0xD800 and stop - p >= 12 and data[p + 6] == _BACKSLASH:
            low = hex_digits(data, p + 8, stop) if data[p + 7] == _SMALL_U else np.int64(-1)
            if low >= 0 and (low & 0xFC00) == 0xDC00:
                return p + 12, 0x10000 + ((code & 0x3FF) << 10) + (low & 0x3FF)
        return p + 6, code
    code = np.int64(-1)
    if name in (_QUOTE, _BACKSLASH, 47):
        code = name
    elif name == 98:
        code = np.int64(8)
    elif name == 102:
        code = np.int64(12)
    elif name == 110:
        code = np.int64(10)
    elif name == 114:
        code = np.int64(13)
    elif name == 116:
        code = np.int64(9)
    return (p + 2 if code >= 0 else ~p), code


@inlined
def string(data: Array, p: Int, stop: Int) -> tuple[Int, Int]:
    """Read a string, from the byte after its first quote.

    Returns:
        The index after the last quote, or ~(index of the faulty byte); and the string's facts.
    """
    facts = np.int64(0)
    while p < stop:
        byte = np.int64(data[p])
        if byte == _QUOTE:
            return p + 1, facts
        if byte == _BACKSLASH:
            after, code = escape(data, p, stop)
            if after < 0:
                return after, facts
            facts |= ESCAPED
            if (code & 0x1FF800) == 0xD800:
                facts |= LONE_SURROGATE
            p = after
        elif byte >= 0x80:
            after = after_character(data, p, stop)
            if after < 0:
                return ~p, np.int64(NOT_UTF8)
            p = after
        elif byte < 0x20:
            return ~p, facts
        else:
            p += 1
    return ~stop, facts


@inlined
def after_digits(data: Array, p: Int, stop: Int) -> Int:
    """Return the index of the next byte that is no digit."""
    while p < stop and 48 <= data[p] <= 57:
        p += 1
    return p


@inlined
def after_number(data: Array, p: Int, stop: Int) -> tuple[Int, Int]:
    """Read a number.

    Returns:
        The index after it, or ~(index of the faulty byte); and 1 if it is written as an integer.
    """
    if data[p] == 45:
        p += 1
    q = after_digits(data, p, stop)
    if q == p:
        return ~p, np.int64(0)
    if data[p] == 48:
        q = p + 1
    is_integer = np.int64(1)
    if q < stop and data[q] == 46:
        is_integer, p = np.int64(0), q + 1
        q = after_digits(data, p, stop)
        if q == p:
            return ~p, is_integer
    if q < stop and (data[q] == 101 or data[q] == 69):
        is_integer, p = np.int64(0), q + 1
        if p < stop and (data[p] == 43 or data[p] == 45):
            p += 1
        q = after_digits(data, p, stop)
        if q == p:
            return ~p, is_integer
    return q, is_integer


@inlined
def integer(data: Array, p: Int, stop: Int) -> tuple[Int, Int]:
    """Return the value of an integer's digits, and 1 if it fits an int64."""
    is_negative = data[p] == 45
    if is_negative:
        p += 1
    value = np.uint64(0)
    if stop - p > 19:
        return np.int64(0), np.int64(0)
    for index in range(p, stop):
        value = value * np.uint64(10) + np.uint64(data[index] - 48)
    if value > np.uint64(_LARGEST) + np.uint64(is_negative):
        return np.int64(0), np.int64(0)
    return (np.int64(~value + np.uint64(1)) if is_negative else np.int64(value)), np.int64(1)


@inlined
def after_word(data: Array, p: Int, stop: Int, word: tuple[int, ...]) -> Int:
    """Return the index after a word, or ~(index of the first byte that differs)."""
    for byte in word:
        if p >= stop or data[p] != byte:
            return ~p
        p += 1
    return p


@inlined
def put_character(out: Array, at: Int, code: Int) -> Int:
    """Write a code point as UTF-8, and return the index after it."""
    if code < 0x80:
        out[at] = code
        return at + 1
    more = np.int64(1) + (code >= 0x800) + (code >= 0x10000)
    out[at] = (0xFF00 >> (more + 1)) & 0xFF | (code >> (6 * more))
    for index in range(more):
        out[at + 1 + index] = 0x80 | ((code >> (6 * (more - 1 - index))) & 0x3F)
    return at + 1 + more


@inlined
def put_string(data: Array, p: Int, stop: Int, out: Array, at: Int) -> Int:
    """Write a string without its escapes, and return the index after it."""
    while p < stop:
        if data[p] == 0x5C:
            p, code = escape(data, p, stop)
            at = put_character(out, at, code)
        else:
            out[at] = data[p]
            at += 1
            p += 1
    return at
