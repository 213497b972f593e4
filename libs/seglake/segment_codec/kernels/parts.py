"""Building blocks of the compiled loops: integers, varints, CRC-32 and Arrow's binary views.

numba does not check bounds, so the loops compare each index with its end before they use it.
Kernels never raise errors; they return a status, see `faults`.

A binary view is four int32: the length, followed by up to twelve bytes, or by the first four bytes,
the number of the buffer (always 0) and the position in the buffer.
"""

import numpy as np

from seglake.compiled_loops import Array, Int, compiled, inlined
from seglake.segment_codec.formats.checksum import IEEE, slicing_tables
from seglake.segment_codec.kernels.faults import VARINT

_CRC32 = slicing_tables(IEEE)
_NO_VALUE = -(1 << 62)  # no 32-bit length or delta has this value


@inlined
def varint(data: Array, p: Int, stop: Int) -> tuple[Int, Int]:
    """Return a 32-bit zig-zag varint and the index after it, or (_, -VARINT) for a fault."""
    value = np.int64(0)
    shift = 0
    while p < stop and shift < 35:
        byte = np.int64(data[p])
        p += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= 0xFFFFFFFF
            return (value >> 1) ^ -(value & 1), p
        shift += 7
    return np.int64(_NO_VALUE), np.int64(-VARINT)


@inlined
def varlong(data: Array, p: Int, stop: Int) -> tuple[Int, Int]:
    """Return a 64-bit zig-zag varint and the index after it, or (_, -VARINT) for a fault."""
    value = np.int64(0)
    shift = 0
    while p < stop and shift < 70:
        byte = np.int64(data[p])
        p += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return ((value >> 1) & 0x7FFFFFFFFFFFFFFF) ^ -(value & 1), p
        shift += 7
    return np.int64(_NO_VALUE), np.int64(-VARINT)


@inlined
def int32(data: Array, p: Int) -> Int:
    """Return the big-endian int32 at p, as int64; the caller must check the bounds."""
    return np.int64(
        np.int32(
            np.uint32(data[p]) << 24
            | np.uint32(data[p + 1]) << 16
            | np.uint32(data[p + 2]) << 8
            | np.uint32(data[p + 3])
        )
    )


@inlined
def int64(data: Array, p: Int) -> Int:
    """Return the big-endian int64 at p; the caller must check the bounds."""
    value = np.uint64(0)
    for i in range(8):
        value = value << np.uint64(8) | np.uint64(data[p + i])
    return np.int64(value)


@inlined
def set_view(views: Array, row: Int, data: Array, p: Int, length: Int) -> None:
    """Write the binary view of the bytes [p, p + length) of data to a row of views (n, 4)."""
    views[row, 0] = length
    views[row, 1] = 0
    views[row, 2] = 0
    views[row, 3] = 0
    if length <= 12:
        for i in range(length):
            views[row, 1 + (i >> 2)] |= np.int32(data[p + i]) << np.int32((i & 3) * 8)
    else:
        for i in range(4):
            views[row, 1] |= np.int32(data[p + i]) << np.int32(i * 8)
        views[row, 3] = p


@inlined
def copy(target: Array, at: Int, data: Array, p: Int, length: Int) -> None:
    """Copy `length` bytes from data at p to target at `at`."""
    for i in range(length):
        target[at + i] = data[p + i]


@inlined
def checksum(tables: Array, data: Array, start: Int, stop: Int) -> Int:
    """Return the CRC of data[start:stop], by the tables of `slicing_tables`."""
    crc = np.uint32(0xFFFFFFFF)
    p = start
    while p + 8 <= stop:
        low = crc ^ (
            np.uint32(data[p])
            | np.uint32(data[p + 1]) << 8
            | np.uint32(data[p + 2]) << 16
            | np.uint32(data[p + 3]) << 24
        )
        crc = np.uint32(
            tables[7, low & 0xFF]
            ^ tables[6, low >> 8 & 0xFF]
            ^ tables[5, low >> 16 & 0xFF]
            ^ tables[4, low >> 24 & 0xFF]
            ^ tables[3, data[p + 4]]
            ^ tables[2, data[p + 5]]
            ^ tables[1, data[p + 6]]
            ^ tables[0, data[p + 7]]
        )
        p += 8
    while p < stop:
        crc = np.uint32(tables[0, (crc ^ data[p]) & 0xFF] ^ (crc >> 8))
        p += 1
    return np.uint32(crc ^ np.uint32(0xFFFFFFFF))


@inlined
def crc32(data: Array, start: Int, stop: Int) -> Int:
    """Return the CRC-32 (zlib's) of data[start:stop]."""
    return checksum(_CRC32, data, start, stop)


@compiled
def product(left: int, right: int, polynomial: int) -> int:
    """Multiply two polynomials modulo a checksum's polynomial; all are 32 bits, bit-reversed."""
    found = 0
    while left:
        if left & 0x80000000:
            found ^= right
        left = left << 1 & 0xFFFFFFFF
        right = right >> 1 ^ (polynomial if right & 1 else 0)
    return found
