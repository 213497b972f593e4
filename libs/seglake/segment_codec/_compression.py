"""Bounded decompression of what a batch carries.

Nothing on disk bounds how far a payload expands, and a frame may lie about its size: every path
here stops at `max_bytes` without allocating more.
"""

import struct
import zlib
from collections.abc import Callable
from functools import cache

import lz4.frame
import snappy

from seglake.segment_codec._zstd import decompress_zstd, limit_exceeded
from seglake.segment_codec.codec import Codec
from seglake.segment_codec.errors import DefectCode, DefectError


def decompress(codec: Codec, data: memoryview, *, magic: int, max_bytes: int) -> bytes | memoryview:
    """The plain bytes of a payload; `data` itself where the codec is none.

    Args:
        magic: of the batch or wrapper; magic 0 has lz4 frames with a wrong header checksum.
        max_bytes: how long the result may be.

    Raises:
        DefectError: the stream is broken or cut (decompression_failed), or would become longer
            than `max_bytes` (decompression_limit).
    """
    if codec is Codec.LZ4 and magic == 0:
        data = memoryview(_with_right_header_checksum(data))
    return DECOMPRESSORS[codec](data, max_bytes)


def _failed(codec: str, reason: object) -> DefectError:
    return DefectError(DefectCode.DECOMPRESSION_FAILED, f"{codec}: {reason}")


_GZIP_PIECE_BYTES = 64 << 10  # the library copies everything after a member, every time


def _gzip(data: memoryview, max_bytes: int) -> bytes:
    """Concatenated members are one payload, as in Java's GZIPInputStream; zeros may follow."""
    parts: list[bytes] = []
    room = max_bytes
    position = 0
    while position == 0 or (position < len(data) and data[position] != 0):
        stream = zlib.decompressobj(wbits=47)  # 32 + 15: gzip, or the zlib header librdkafka reads
        while not stream.eof:
            piece = data[position : position + _GZIP_PIECE_BYTES]
            if not len(piece):
                raise _failed("gzip", "the stream is cut")
            try:
                plain = stream.decompress(piece, room + 1)
            except zlib.error as error:
                raise _failed("gzip", error) from None
            if len(plain) > room:
                raise limit_exceeded(max_bytes)
            parts.append(plain)
            room -= len(plain)
            position += len(piece) - len(stream.unused_data)
    return parts[0] if len(parts) == 1 else b"".join(parts)


_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER_BYTES = 16
_BLOCK_LENGTH = struct.Struct(">i")


def _snappy(data: memoryview, max_bytes: int) -> bytes:
    """A xerial stream if it begins so, else one raw block.

    Only the eight magic bytes decide: some writers give the two version words little-endian.
    """
    if len(data) < _XERIAL_HEADER_BYTES or data[:8] != _XERIAL_MAGIC:
        return _snappy_block(data, max_bytes, max_bytes)
    parts: list[bytes] = []
    room = max_bytes
    position = _XERIAL_HEADER_BYTES
    while position + _BLOCK_LENGTH.size <= len(data):
        if data[position : position + 8] == _XERIAL_MAGIC:  # streams may be concatenated
            position += _XERIAL_HEADER_BYTES
            continue
        (length,) = _BLOCK_LENGTH.unpack_from(data, position)
        position += _BLOCK_LENGTH.size
        if not 0 <= length <= len(data) - position:
            raise _failed("snappy", f"a block of {length} bytes in {len(data) - position}")
        parts.append(_snappy_block(data[position : position + length], room, max_bytes))
        room -= len(parts[-1])
        position += length
    return b"".join(parts)


def _snappy_block(block: memoryview, room: int, max_bytes: int) -> bytes:
    claimed, shift = 0, 0
    for byte in block[:5]:
        claimed |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    else:
        raise _failed("snappy", "a block does not begin with its length")
    if claimed > room:
        raise limit_exceeded(max_bytes)
    try:
        plain: bytes = snappy.uncompress(block)
    except (snappy.UncompressError, ValueError) as error:
        raise _failed("snappy", error.__cause__ or error) from None
    return plain


_LZ4_MAGIC = b"\x04\x22\x4d\x18"
_LZ4_LARGEST_RATIO = 255
_CONTENT_SIZE_FLAG = 0x08


def _lz4(data: memoryview, max_bytes: int) -> bytes:
    if data[:4] != _LZ4_MAGIC:
        raise _failed("lz4", "there is not a frame")
    try:
        if len(data) * _LZ4_LARGEST_RATIO <= max_bytes and not data[4] & _CONTENT_SIZE_FLAG:
            plain: bytes = lz4.frame.decompress(data)
            return plain
        return _lz4_bounded(data, max_bytes)
    except IndexError:
        raise _failed("lz4", "the frame is shorter than its header") from None
    except (RuntimeError, EOFError, ValueError) as error:
        raise _failed("lz4", error) from None


def _lz4_bounded(data: memoryview, max_bytes: int) -> bytes:
    """For frames that are long, or claim a size for which the library would allocate."""
    if data[4] & _CONTENT_SIZE_FLAG:
        claimed = int.from_bytes(data[6:14], "little")
        if claimed > max_bytes:
            raise limit_exceeded(max_bytes)
    stream = lz4.frame.LZ4FrameDecompressor()
    plain: bytes = stream.decompress(data, max_length=max_bytes + 1)
    if len(plain) > max_bytes:
        raise limit_exceeded(max_bytes)
    if not stream.eof:
        raise _failed("lz4", "the frame is cut")
    return plain


def _with_right_header_checksum(data: memoryview) -> bytes | memoryview:
    """An lz4 frame of magic 0 with the header checksum that libraries ask for.

    Kafka up to 0.9 also hashed the four magic bytes, and writes magic 0 so until today
    (KAFKA-3160); its reader ignores the checksum in magic 0, and so must this.
    """
    if len(data) < 7 or data[:4] != _LZ4_MAGIC:
        return data
    flags = data[4]
    stop = 6 + (8 if flags & _CONTENT_SIZE_FLAG else 0) + (4 if flags & 0x01 else 0)
    if len(data) <= stop:
        return data
    return b"".join((data[:stop], bytes([_header_checksum(bytes(data[4:stop]))]), data[stop + 1 :]))


@cache
def _header_checksum(descriptor: bytes) -> int:
    """The second byte of xxh32 (seed 0) of a frame descriptor, which is shorter than 16 bytes."""
    mask = 0xFFFFFFFF
    value = (374761393 + len(descriptor)) & mask
    whole = len(descriptor) // 4 * 4
    for index in range(0, whole, 4):
        value = (
            value + int.from_bytes(descriptor[index : index + 4], "little") * 3266489917
        ) & mask
        value = ((value << 17 | value >> 15) & mask) * 668265263 & mask
    for byte in descriptor[whole:]:
        value = (value + byte * 374761393) & mask
        value = ((value << 11 | value >> 21) & mask) * 2654435761 & mask
    for shift, factor in ((15, 2246822519), (13, 3266489917), (16, 1)):
        value = (value ^ value >> shift) * factor & mask
    return value >> 8 & 0xFF


# What `decompress` does where the magic is not 0; the number is `max_bytes`.
DECOMPRESSORS: dict[Codec, Callable[[memoryview, int], bytes | memoryview]] = {
    Codec.NONE: lambda data, _: data,
    Codec.GZIP: _gzip,
    Codec.SNAPPY: _snappy,
    Codec.LZ4: _lz4,
    Codec.ZSTD: decompress_zstd,
}
