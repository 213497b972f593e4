"""Parts of the compiled loop: integers and UTF-8.

numba checks no bounds, so every index is compared with its end before it is used. A reading part
returns the index after the bytes read, or the negative outcome.
"""

import numpy as np

from seglake.compiled_loops import Array, Int, inlined
from seglake.value_codec.kernels.operations import BAD_VARINT, SHORT

_LARGEST_SHIFT = 63
_HIGH_BITS = np.uint64(0x8080808080808080)
_SMALLEST = -(1 << 63)


@inlined
def word_at(data: Array, p: Int) -> Int:
    """Return the little-endian number of 8 bytes; LLVM reads them at once."""
    value = np.uint64(data[p])
    for index in range(1, 8):
        value |= np.uint64(data[p + index]) << np.uint64(8 * index)
    return value


@inlined
def varlong(data: Array, p: Int, stop: Int) -> tuple[Int, Int]:
    """Return a zig-zag varint and the index after it, or (_, outcome); it has at most 64 bits."""
    value = np.int64(0)
    shift = np.int64(0)
    while p < stop:
        byte = np.int64(data[p])
        p += 1
        if shift == _LARGEST_SHIFT and byte > 1:
            return np.int64(0), np.int64(-BAD_VARINT)
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return ((value >> 1) & 0x7FFFFFFFFFFFFFFF) ^ -(value & 1), p
        shift += 7
    return np.int64(0), np.int64(-SHORT)


@inlined
def block(data: Array, p: Int, stop: Int) -> tuple[Int, Int]:
    """Return the number of items of a block and the index of the first, or (_, outcome)."""
    count, q = varlong(data, p, stop)
    if q < 0 or count >= 0:
        return count, q
    if count == _SMALLEST:
        return np.int64(0), np.int64(-BAD_VARINT)
    _, q = varlong(data, q, stop)  # skip the block's size in bytes
    return -count, q


@inlined
def after_character(data: Array, p: Int, stop: Int) -> Int:
    """Return the index after a character of several bytes, or -1 if it is no UTF-8."""
    first = np.int64(data[p])
    more = np.int64(1) + (first >= 0xE0) + (first >= 0xF0)
    if first < 0xC2 or first > 0xF4 or more > stop - p - 1:
        return np.int64(-1)
    code = first & (0x3F >> more)
    for index in range(p + 1, p + 1 + more):
        if data[index] & 0xC0 != 0x80:
            return np.int64(-1)
        code = (code << 6) | (np.int64(data[index]) & 0x3F)
    is_overlong = more > 1 and code >> (5 * more + 1) == 0
    is_surrogate = code >> 11 == 0x1B
    return np.int64(-1) if is_overlong or is_surrogate or code > 0x10FFFF else p + 1 + more


@inlined
def is_utf8(data: Array, p: Int, stop: Int) -> Int:
    """Return 1 for well-formed UTF-8, else 0: surrogates and overlong sequences are refused."""
    while p < stop:
        while stop - p >= 8:  # eight characters of ASCII at once
            if word_at(data, p) & _HIGH_BITS != 0:
                break
            p += 8
        if p == stop:
            break
        if data[p] < 0x80:
            p += 1
            continue
        p = after_character(data, p, stop)
        if p < 0:
            return np.int64(0)
    return np.int64(1)
