"""Decompresses zstd payloads of one or more frames, up to a size limit.

The library's one-shot call is fast, but it silently drops a second frame and trusts the size in a
frame's header. So the headers of all frames and blocks are checked first.

If a truncated frame follows complete frames, its readable bytes are used, as in Kafka. Truncated
records are found later.

Frame: magic u32 little-endian, descriptor byte, window byte (not with the single-segment flag),
dictionary id, content size, blocks, optional checksum of four bytes. Block: three bytes
little-endian (bit 0 last, bits 1-2 type, then size), then its bytes. Source: RFC 8878, section 3.1.
"""

import struct
from functools import cache
from typing import NamedTuple

import zstandard

from seglake.segment_codec.formats.errors import DefectCode, DefectError, limit_exceeded

_MAGIC = 0xFD2FB528
_SKIPPABLE_MAGIC = 0x184D2A50
_FRAME_START = struct.Struct("<IB")  # magic number, frame header descriptor
_LARGEST_BLOCK_BYTES = 128 << 10
_DICTIONARY_ID_BYTES = (0, 1, 2, 4)
_CONTENT_SIZE_BYTES = (0, 2, 4, 8)
_RAW, _RLE, _COMPRESSED = 0, 1, 2


class _Frame(NamedTuple):
    """Bounds of a frame.

    Attributes:
        bound_bytes: upper limit of its decompressed size; 0 for a skippable frame.
        claimed_bytes: decompressed size in its header; None if there is none.
    """

    start: int
    stop: int
    bound_bytes: int
    claimed_bytes: int | None


class _CutError(DefectError):
    """The payload ends inside a frame."""


def decompress_zstd(data: memoryview, max_bytes: int) -> bytes:
    """Decompress all frames of a payload.

    Args:
        data: the whole compressed payload.
        max_bytes: highest accepted size of the result.

    Raises:
        DefectError: decompression_failed, or decompression_limit if the content or the size in a
            frame's header is above `max_bytes`.
    """
    parts: list[bytes] = []
    position, room = 0, max_bytes
    while position < len(data):
        try:
            frame = _next_frame(data, position)
        except _CutError:
            if not position:
                raise
            parts.append(_streamed(data[position:], room, max_bytes))
            break
        position = frame.stop
        if frame.bound_bytes == 0 and not frame.claimed_bytes:
            continue
        parts.append(_content(data[frame.start : frame.stop], frame, room, max_bytes))
        room -= len(parts[-1])
    if not parts and not len(data):
        raise _failed("there is no zstd frame")
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _content(frame_data: memoryview, frame: _Frame, room: int, max_bytes: int) -> bytes:
    """Decompress one complete frame; raise DefectError if it has more than `room` bytes."""
    if frame.claimed_bytes is not None and frame.claimed_bytes > min(room, frame.bound_bytes):
        if frame.claimed_bytes > room:
            raise limit_exceeded(max_bytes)
        raise _failed(
            f"the frame's header states {frame.claimed_bytes} bytes, more than its blocks can have"
        )
    if frame.bound_bytes > room:
        return _streamed(frame_data, room, max_bytes)
    try:
        return _decompressor().decompress(frame_data, max_output_size=frame.bound_bytes)
    except zstandard.ZstdError as error:
        raise _failed(str(error)) from None


def _streamed(frame_data: memoryview, room: int, max_bytes: int) -> bytes:
    """Decompress one frame as a stream; of a truncated frame, return the bytes before its end."""
    try:
        plain = _decompressor().stream_reader(frame_data).read(room + 1)
    except zstandard.ZstdError as error:
        raise _failed(str(error)) from None
    if len(plain) > room:
        raise limit_exceeded(max_bytes)
    return plain


def _next_frame(data: memoryview, start: int) -> _Frame:
    """Return the bounds of the zstd frame at a position, by frame and block headers."""
    if len(data) - start < _FRAME_START.size:
        raise _cut("the frame is truncated")
    magic, descriptor = _FRAME_START.unpack_from(data, start)
    if magic & 0xFFFFFFF0 == _SKIPPABLE_MAGIC:
        stop = start + 8 + _little_endian(data, start + 4, 4)
        if stop > len(data):
            raise _cut("a skippable frame is truncated")
        return _Frame(start, stop, 0, None)
    if magic != _MAGIC:
        raise _failed(f"no zstd frame begins at byte {start}")
    is_single_segment = descriptor & 0x20 != 0
    position = start + 5 + (0 if is_single_segment else 1)
    position += _DICTIONARY_ID_BYTES[descriptor & 3]
    size_bytes = _CONTENT_SIZE_BYTES[descriptor >> 6] or (1 if is_single_segment else 0)
    claimed: int | None = None
    if size_bytes:
        claimed = _little_endian(data, position, size_bytes) + (256 if size_bytes == 2 else 0)
    stop, bound = _walk_blocks(data, position + size_bytes)
    if descriptor & 0x04:
        _little_endian(data, stop, 4)
        stop += 4
    return _Frame(start, stop, bound, claimed)


def _walk_blocks(data: memoryview, position: int) -> tuple[int, int]:
    """Return the end of the last block, and the upper limit of the decompressed size."""
    bound = 0
    stop = len(data)
    while True:
        if position + 3 > stop:
            raise _cut("the frame is truncated")
        header = data[position] | data[position + 1] << 8 | data[position + 2] << 16
        kind, size = header >> 1 & 3, header >> 3
        position += 3
        if kind == _RAW:
            position += size
            bound += size
        elif kind == _RLE:
            position += 1
            bound += min(size, _LARGEST_BLOCK_BYTES)
        elif kind == _COMPRESSED:
            position += size
            bound += _LARGEST_BLOCK_BYTES
        else:
            raise _failed("a block has the reserved type")
        if position > stop:
            raise _cut("a block is truncated")
        if header & 1:
            return position, bound


def _little_endian(data: memoryview, position: int, length: int) -> int:
    """Return a number of `length` bytes at a position; raise _CutError if the data end earlier."""
    if position + length > len(data):
        raise _cut("the frame is truncated")
    return int.from_bytes(data[position : position + length], "little")


@cache
def _decompressor() -> zstandard.ZstdDecompressor:
    """Return the zstd decompressor that this process shares."""
    return zstandard.ZstdDecompressor()


def _cut(reason: str) -> _CutError:
    """Return the error for a zstd frame that is truncated by the payload's end."""
    return _CutError(DefectCode.DECOMPRESSION_FAILED, f"zstd: {reason}")


def _failed(reason: str) -> DefectError:
    """Return the error for a payload that cannot be decompressed."""
    return DefectError(DefectCode.DECOMPRESSION_FAILED, f"zstd: {reason}")
