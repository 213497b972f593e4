"""Reads zig-zag varints. Source: apache/kafka 1eb7644, ByteUtils.readVarint and readVarlong."""

from seglake.segment_codec.formats.errors import malformed

MAX_VARINT_BYTES = 5
MAX_VARLONG_BYTES = 10


def read_varint(data: memoryview | bytes, index: int, stop: int) -> tuple[int, int]:
    r"""Return the 32-bit varint at `index` and the index after it; do not read beyond `stop`.

    Numbers near 0 are short, also negative ones:

    >>> [read_varint(data, 0, len(data)) for data in (b"\x03", b"\x04", b"\xac\x02")]
    [(-2, 1), (2, 1), (150, 2)]

    Raises:
        DefectError: the varint is truncated, or longer than five bytes.
    """
    return _read(data, index, stop, MAX_VARINT_BYTES, 32)


def read_varlong(data: memoryview | bytes, index: int, stop: int) -> tuple[int, int]:
    """Return a 64-bit varint of at most ten bytes; otherwise like `read_varint`."""
    return _read(data, index, stop, MAX_VARLONG_BYTES, 64)


def _read(
    data: memoryview | bytes, index: int, stop: int, max_bytes: int, bits: int
) -> tuple[int, int]:
    """Return the zig-zag varint of at most `max_bytes` at `index`, and the index after it."""
    value = 0
    for count in range(max_bytes):
        if index + count >= stop:
            raise malformed("the data end inside a varint")
        byte = data[index + count]
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            value &= (1 << bits) - 1
            return (value >> 1) ^ -(value & 1), index + count + 1
    raise malformed(f"a varint is longer than {max_bytes} bytes")
