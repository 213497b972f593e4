"""Decompresses gzip payloads of one or more members, up to a size limit.

Member: 1F 8B, method 8, flags, mtime u32, two bytes, then the fields that the flags announce (extra
field with its length u16, name and comment that end with 0, header checksum u16), deflated bytes,
CRC-32 u32, length u32 of the content; all little-endian. Source: RFC 1952.

Kafka reads with Java's GZIPInputStream. It ignores bytes after a member that do not begin another
member, and undefined flags, which zlib refuses.
"""

import struct
import zlib
from typing import NamedTuple

from seglake.segment_codec.formats.errors import DefectCode, DefectError, limit_exceeded

_FIXED = struct.Struct("<3sBIBB")  # magic and method, flags, mtime, two more bytes
_START = b"\x1f\x8b\x08"
_HEADER_CHECKSUM, _EXTRA, _NAME, _COMMENT = 0x02, 0x04, 0x08, 0x10
_TWO_BYTES = struct.Struct("<H")
_TRAILER = struct.Struct("<II")  # checksum (CRC-32) and length
_FEWEST_BYTES_OF_A_NEXT_MEMBER = 19  # like Java, ignore a shorter rest
_PIECE_BYTES = 64 << 10  # zlib copies all input after the stream in each call
_NAME_PIECE_BYTES = 256


class _Stream(NamedTuple):
    """Content, CRC-32 and end position of a decompressed deflate stream."""

    content: bytes
    crc: int
    stop: int


def decompress_gzip(data: memoryview, max_bytes: int) -> bytes:
    """Decompress all members of `data`, or one zlib stream, as librdkafka does.

    Args:
        data: the whole compressed payload.
        max_bytes: highest accepted size of the result.

    Raises:
        DefectError: decompression_failed, or decompression_limit above `max_bytes`.
    """
    start = _header_stop(data, 0)
    if start is None:
        return _inflated(data, 0, zlib.MAX_WBITS, max_bytes, max_bytes).content
    parts: list[bytes] = []
    room = max_bytes
    while start is not None:
        stream = _inflated(data, start, -zlib.MAX_WBITS, room, max_bytes)
        position = _checked_trailer_stop(data, stream)
        parts.append(stream.content)
        room -= len(stream.content)
        may_go_on = len(data) - position >= _FEWEST_BYTES_OF_A_NEXT_MEMBER
        start = _header_stop(data, position) if may_go_on else None
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _inflated(
    data: memoryview, position: int, window_bits: int, room: int, max_bytes: int
) -> _Stream:
    """Decompress one deflate stream of `data`, which begins at `position`."""
    parts: list[bytes] = []
    crc = 0
    stream = zlib.decompressobj(wbits=window_bits)
    while not stream.eof:
        piece = data[position : position + _PIECE_BYTES]
        if not len(piece):
            raise _failed("the stream is truncated")
        try:
            plain = stream.decompress(piece, room + 1)
        except zlib.error as error:
            raise _failed(error) from None
        if len(plain) > room:
            raise limit_exceeded(max_bytes)
        parts.append(plain)
        crc = zlib.crc32(plain, crc)
        room -= len(plain)
        position += len(piece) - len(stream.unused_data)
    return _Stream(parts[0] if len(parts) == 1 else b"".join(parts), crc, position)


def _checked_trailer_stop(data: memoryview, stream: _Stream) -> int:
    """Check the CRC-32 and length after a member's content, and return the position after them."""
    stop = stream.stop + _TRAILER.size
    if stop > len(data):
        raise _failed("the stream is truncated")
    crc, length = _TRAILER.unpack_from(data, stream.stop)
    if crc != stream.crc:
        raise _failed(
            f"a member states the checksum {crc:#010x}, its content has {stream.crc:#010x}"
        )
    if length != len(stream.content) & 0xFFFFFFFF:
        raise _failed(f"a member states {length} bytes, its content has {len(stream.content)}")
    return stop


def _header_stop(data: memoryview, start: int) -> int | None:
    """Return the position after a member's header; None if the header is not complete."""
    position = start + _FIXED.size
    if position > len(data):
        return None
    magic, flags, *_ = _FIXED.unpack_from(data, start)
    if magic != _START:
        return None
    if flags & _EXTRA:
        if position + _TWO_BYTES.size > len(data):
            return None
        position += _TWO_BYTES.size + _TWO_BYTES.unpack_from(data, position)[0]
    for flag in (_NAME, _COMMENT):
        if flags & flag:
            position = _text_stop(data, position)
    if flags & _HEADER_CHECKSUM:
        position += _TWO_BYTES.size
        if position > len(data):
            return None
        (checksum,) = _TWO_BYTES.unpack_from(data, position - _TWO_BYTES.size)
        if checksum != zlib.crc32(data[start : position - _TWO_BYTES.size]) & 0xFFFF:
            return None
    return position if position <= len(data) else None


def _text_stop(data: memoryview, position: int) -> int:
    """Return the position after the next zero byte; len(data) + 1 if there is none."""
    while position < len(data):
        piece = bytes(data[position : position + _NAME_PIECE_BYTES])
        index = piece.find(0)
        if index >= 0:
            return position + index + 1
        position += len(piece)
    return len(data) + 1


def _failed(reason: object) -> DefectError:
    """Return the error for a payload that cannot be decompressed."""
    return DefectError(DefectCode.DECOMPRESSION_FAILED, f"gzip: {reason}")
