"""Finds the one bit whose flip explains a wrong checksum. Pure.

A CRC is linear: each bit of the covered bytes, if flipped, changes the checksum by a value that
depends only on how many bits follow it. The last bit changes it by the polynomial, and each bit
before by one step of the register more. The checksum's own field works like 32 more bits at the
end. So the place of a flipped bit is a discrete logarithm, found in steps that grow with the square
root of the length (baby steps and giant steps).

The places are unique below 2^31 bits. Other damage looks like one flipped bit by chance in one of
2^32 / bits cases: one of 500 for a batch of 1 MiB.
"""

import struct
from functools import lru_cache
from typing import NamedTuple

from seglake.segment_codec.formats import message_set, record_batch
from seglake.segment_codec.formats.checksum import CASTAGNOLI, IEEE, crc32, crc32c

_CRC = struct.Struct(">I")
_BABY_STEPS = 1 << 12
_REGISTER = (1 << 32) - 1
_HIGHEST = 1 << 31
_MOST_BITS = (1 << 31) - 64
_MAGIC_PLACE = 16


class FlippedBit(NamedTuple):
    """A bit of a batch: `position` of its byte, from the batch's first; `bit` 0 is the lowest."""

    position: int
    bit: int


class _Logarithms(NamedTuple):
    """Baby steps and giant step of the discrete logarithm of one polynomial.

    Attributes:
        following: number of bits after a flipped one, by its difference, for the last
            `_BABY_STEPS`.
        rows: for each bit of a register, its value `_BABY_STEPS` steps earlier.
    """

    following: dict[int, int]
    rows: tuple[int, ...]


def flipped_bit(batch: bytes | memoryview) -> FlippedBit | None:
    """Return the bit of a batch or message whose flip makes its checksum right.

    Args:
        batch: all bytes of a batch or message of magic 0 to 2, with a whole header.

    Returns:
        None if no single bit explains the checksum, or if it is right already.
    """
    if batch[_MAGIC_PLACE] == 2:
        start, polynomial = record_batch.CHECKSUM_START, CASTAGNOLI
        field, computed = record_batch.CRC_START, crc32c(batch[start:], 0)
    else:
        start, polynomial = message_set.CHECKSUM_START, IEEE
        field, computed = message_set.CRC_START, crc32(batch[start:], 0)
    difference = computed ^ _CRC.unpack_from(batch, field)[0]
    if difference == 0:
        return None
    if difference & (difference - 1) == 0:
        place = difference.bit_length() - 1
        return FlippedBit(field + _CRC.size - 1 - place // 8, place % 8)
    following = _following_bits(difference, polynomial, 8 * (len(batch) - start))
    if following is None:
        return None
    return FlippedBit(len(batch) - 1 - following // 8, 7 - following % 8)  # the lowest bit is first


def with_flipped(batch: bytes | memoryview, flipped: FlippedBit) -> bytes:
    r"""Return a copy of a batch with one bit flipped.

    >>> with_flipped(b"\x00\x00", FlippedBit(position=1, bit=7))
    b'\x00\x80'
    """
    changed = bytearray(batch)
    changed[flipped.position] ^= 1 << flipped.bit
    return bytes(changed)


def _following_bits(difference: int, polynomial: int, bit_count: int) -> int | None:
    """Return the number of bits after the one whose flip makes this difference, or None."""
    if bit_count > _MOST_BITS:
        return None
    table = _logarithms(polynomial)
    for before in range(0, bit_count, _BABY_STEPS):
        found = table.following.get(difference)
        if found is not None:
            return before + found if before + found < bit_count else None
        difference = _product(table.rows, difference)
    return None


@lru_cache(maxsize=2)
def _logarithms(polynomial: int) -> _Logarithms:
    """Return the tables of one polynomial; cached."""
    following: dict[int, int] = {}
    value = polynomial
    for count in range(_BABY_STEPS):
        following[value] = count
        value = (value >> 1) ^ (polynomial if value & 1 else 0)
    rows = tuple(_undone(1 << place, polynomial) for place in range(32))
    for _ in range(_BABY_STEPS.bit_length() - 1):
        rows = tuple(_product(rows, row) for row in rows)
    return _Logarithms(following, rows)


def _undone(value: int, polynomial: int) -> int:
    """Return the register one step earlier; its highest bit shows a step with the polynomial."""
    if value & _HIGHEST:
        return ((value ^ polynomial) << 1 | 1) & _REGISTER
    return value << 1


def _product(rows: tuple[int, ...], value: int) -> int:
    """Return a register multiplied by a matrix of bits, given by its rows."""
    result = 0
    while value:
        lowest = value & -value
        result ^= rows[lowest.bit_length() - 1]
        value ^= lowest
    return result
