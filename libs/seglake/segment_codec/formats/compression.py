"""Decompresses the payload of a batch, up to a size limit.

The formats do not limit the decompressed size, and the size in a frame's header may be false. So
each function here stops at `max_bytes` without allocating more.
"""

import struct
from collections.abc import Callable

import snappy

from seglake.segment_codec.formats._gzip import decompress_gzip
from seglake.segment_codec.formats._lz4 import decompress_lz4
from seglake.segment_codec.formats._zstd import decompress_zstd
from seglake.segment_codec.formats.codec import Codec
from seglake.segment_codec.formats.errors import DefectCode, DefectError, limit_exceeded


def decompress(codec: Codec, data: memoryview, *, magic: int, max_bytes: int) -> bytes | memoryview:
    """Decompress a payload; return `data` itself if it is not compressed.

    Args:
        codec: the codec in the attributes of the batch or wrapper.
        data: the whole payload.
        magic: magic of the batch or wrapper; lz4 frames in magic 0 have a wrong header checksum.
        max_bytes: highest accepted size of the result.

    Raises:
        DefectError: the stream is damaged or truncated (decompression_failed), or expands to more
            than `max_bytes` (decompression_limit).
    """
    if codec is Codec.LZ4 and magic == 0:
        return decompress_lz4(data, max_bytes, checks_header=False)
    return DECOMPRESSORS[codec](data, max_bytes)


def _failed(reason: object) -> DefectError:
    """Return the DefectError for a snappy payload that cannot be decompressed, with the reason."""
    return DefectError(DefectCode.DECOMPRESSION_FAILED, f"snappy: {reason}")


_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER_BYTES = 16
_BLOCK_LENGTH = struct.Struct(">i")
(_NEXT_STREAM,) = _BLOCK_LENGTH.unpack_from(_XERIAL_MAGIC)  # streams may be concatenated


def _snappy(data: memoryview, max_bytes: int) -> bytes:
    """Decompress a xerial stream, or one raw block if the stream's magic is missing.

    The two version numbers after the magic are ignored, since some writers store them
    little-endian.
    """
    if len(data) < _XERIAL_HEADER_BYTES or data[:8] != _XERIAL_MAGIC:
        return _snappy_block(data, max_bytes, max_bytes)
    parts: list[bytes] = []
    room = max_bytes
    position = _XERIAL_HEADER_BYTES
    while position + _BLOCK_LENGTH.size <= len(data):
        (length,) = _BLOCK_LENGTH.unpack_from(data, position)
        if length == _NEXT_STREAM:
            position += _XERIAL_HEADER_BYTES
            if position > len(data):
                raise _failed("the header of a concatenated stream is cut")
            continue
        position += _BLOCK_LENGTH.size
        if not 0 <= length <= len(data) - position:
            raise _failed(f"a block of {length} bytes in {len(data) - position}")
        parts.append(_snappy_block(data[position : position + length], room, max_bytes))
        room -= len(parts[-1])
        position += length
    return b"".join(parts)


def _snappy_block(block: memoryview, room: int, max_bytes: int) -> bytes:
    """Decompress one raw block to at most `room` bytes."""
    claimed, shift = 0, 0
    for byte in block[:5]:
        claimed |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    else:
        raise _failed("a block does not begin with its length")
    if claimed > room:
        raise limit_exceeded(max_bytes)
    try:
        plain: bytes = snappy.uncompress(block)
    except (snappy.UncompressError, ValueError) as error:
        raise _failed(error.__cause__ or error) from None
    return plain


# Functions for magic 1 and 2; the second argument is `max_bytes`.
DECOMPRESSORS: dict[Codec, Callable[[memoryview, int], bytes | memoryview]] = {
    Codec.NONE: lambda data, _: data,
    Codec.GZIP: decompress_gzip,
    Codec.SNAPPY: _snappy,
    Codec.LZ4: decompress_lz4,
    Codec.ZSTD: decompress_zstd,
}
