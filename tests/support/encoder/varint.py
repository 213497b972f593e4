"""Zig-zag varints, as in the records of magic 2."""

_CACHED = 1 << 13


def varint(number: int) -> bytes:
    """Encode a signed number of up to 64 bits; small ones, which are nearly all, from a table."""
    if -_CACHED <= number < _CACHED:
        return _TABLE[number]
    return _encoded(number)


def _encoded(number: int) -> bytes:
    rest = number << 1 if number >= 0 else (-number << 1) - 1
    encoded = bytearray()
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)


# Negative numbers are found from the end of the list.
_TABLE = [_encoded(n) for n in range(_CACHED)] + [_encoded(n) for n in range(-_CACHED, 0)]
