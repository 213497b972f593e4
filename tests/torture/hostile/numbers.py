"""Numbers that lie, and varints that are longer than they need to be."""

from random import Random

from support.encoder import varint

_EXTREMES = (0, -1, 1, -2, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 127, 128, 32_768, 65_536)


def lie(random: Random, right: int, bits: int) -> int:
    """A signed number of so many bits that is not, or hardly, the right one."""
    way = random.random()
    if way < 0.5:
        return _signed(random.choice(_EXTREMES), bits)
    if way < 0.8:
        return _signed(right + random.choice((-2, -1, 1, 2, 7, 1 << bits - 1)), bits)
    return _signed(random.getrandbits(bits), bits)


def packed(number: int, size_bytes: int) -> bytes:
    """A number as it lies in a header, cut to the size of the field."""
    return (number & (1 << 8 * size_bytes) - 1).to_bytes(size_bytes, "big")


def hostile_varint(random: Random, right: int, share: float, bits: int = 32) -> bytes:
    """A varint: the right one, or in so large a share of cases a lie, or too long for its value."""
    if random.random() >= share:
        return varint(right)
    if random.random() < 0.6:
        return varint(lie(random, right, bits))
    return _padded(varint(right), random.randint(1, 10))


def _padded(short: bytes, surplus: int) -> bytes:
    """The same number in more bytes than it needs; past five, or ten, it is none."""
    return short[:-1] + bytes([short[-1] | 0x80]) + b"\x80" * (surplus - 1) + b"\0"


def _signed(number: int, bits: int) -> int:
    return (number + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
