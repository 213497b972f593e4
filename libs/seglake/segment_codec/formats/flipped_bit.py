"""Finds the single flipped bit that explains a wrong checksum.

A CRC is linear: flipping a bit changes the checksum by a value that depends only on the number of
bits after this bit. For the last bit this value is the polynomial; for each earlier bit the
register advances by one step. The checksum field itself works like 32 more bits at the end. So the
position of a flipped bit is a discrete logarithm. The baby-step giant-step algorithm finds it in a
time that grows with the square root of the length.

The position is unique below 2^31 bits. Other damage is mistaken for a flipped bit in one of 2^32 /
bits cases: one of 500 for a batch of 1 MiB.
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
    """A bit of a batch: `position` is its byte, from the batch's start; bit 0 is the lowest."""

    position: int
    bit: int


class _Logarithms(NamedTuple):
    """Tables for the discrete logarithm of one polynomial.

    Attributes:
        following: baby steps, for the last `_BABY_STEPS` bits: for each change of the checksum, the
            number of bits after the flipped bit.
        rows: giant step: for each bit of the register, the register's value `_BABY_STEPS` steps
            earlier.
    """

    following: dict[int, int]
    rows: tuple[int, ...]


def flipped_bit(batch: bytes | memoryview) -> FlippedBit | None:
    """Find the bit of a batch or message whose flip makes its checksum valid.

    Args:
        batch: all bytes of a batch or message of magic 0 to 2, with a complete header.

    Returns:
        The bit; None if no single bit explains the checksum, or if it is valid.
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
    return FlippedBit(len(batch) - 1 - following // 8, 7 - following % 8)  # the lowest bit is bit 0


def with_flipped(batch: bytes | memoryview, flipped: FlippedBit) -> bytes:
    r"""Return a copy of a batch with one bit flipped.

    >>> with_flipped(b"\x00\x00", FlippedBit(position=1, bit=7))
    b'\x00\x80'
    """
    changed = bytearray(batch)
    changed[flipped.position] ^= 1 << flipped.bit
    return bytes(changed)


def _following_bits(difference: int, polynomial: int, bit_count: int) -> int | None:
    """Return how many bits follow the bit whose flip makes this difference; None if no bit does."""
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
    """Return the tables of a polynomial, which are cached."""
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
    """Return the CRC register one bit earlier: undo the shift, and the XOR if there was one."""
    if value & _HIGHEST:
        return ((value ^ polynomial) << 1 | 1) & _REGISTER
    return value << 1


def _product(rows: tuple[int, ...], value: int) -> int:
    """Multiply a CRC register by the matrix over GF(2) that has these rows."""
    result = 0
    while value:
        lowest = value & -value
        result ^= rows[lowest.bit_length() - 1]
        value ^= lowest
    return result
