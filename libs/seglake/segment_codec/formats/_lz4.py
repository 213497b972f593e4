"""Decompresses lz4 payloads of one frame, up to a size limit.

Frame: magic 04 22 4D 18, flags, block descriptor, content size u64, dictionary id u32, header
checksum (one byte), blocks, an end mark (a length of 0), content checksum u32. Block: length u32
with the highest bit set if the bytes are stored, then its bytes, and a checksum u32. The flags say
which of these fields exist; all numbers are little-endian.

The library gets only the parts that Kafka's reader uses. Kafka skips the content size and the
content checksum, ends at the first length of 0, and ignores bytes after the frame. In magic 0 Kafka
also ignores the header checksum: up to 0.9 it computed the checksum over the magic bytes too, and
it still writes magic 0 this way (KAFKA-3160).

Source: apache/kafka 4.3.0, Lz4BlockInputStream.java.
"""

import struct
from functools import cache

import lz4.frame

from seglake.segment_codec.formats.errors import DefectCode, DefectError, limit_exceeded

_MAGIC = b"\x04\x22\x4d\x18"
_SMALLEST_HEADER_BYTES = 7
_ONE_BLOCK = struct.Struct("<4sBBBI")  # magic, flags, descriptor, checksum, length of the block
_DICTIONARY_ID, _CONTENT_CHECKSUM, _CONTENT_SIZE, _BLOCK_CHECKSUM = 0x01, 0x04, 0x08, 0x10
_ADDITIONS = _DICTIONARY_ID | _CONTENT_CHECKSUM | _CONTENT_SIZE | _BLOCK_CHECKSUM
_LENGTH = struct.Struct("<I")
_END_MARK = bytes(_LENGTH.size)
_STORED = 1 << 31
_CHECKSUM_BYTES = 4
_CONTENT_SIZE_BYTES = 8
_DICTIONARY_ID_BYTES = 4
# Limits of block sizes by the block descriptor; the library enforces the exact ones.
_BLOCK_BYTES = tuple(min(1 << 8 + 2 * number, 4 << 20) for number in range(8))


def decompress_lz4(data: memoryview, max_bytes: int, *, checks_header: bool = True) -> bytes:
    """Decompress the frame at the start of a payload.

    Args:
        data: the whole compressed payload.
        max_bytes: highest accepted size of the result.
        checks_header: reject a wrong header checksum, as Kafka does above magic 0.

    Raises:
        DefectError: decompression_failed, or decompression_limit above `max_bytes`.
    """
    plain: bytes
    if checks_header and _is_one_block(data, max_bytes):
        try:
            plain = lz4.frame.decompress(data)
        except RuntimeError:
            pass  # the walk below finds the cause, and names it
        else:
            return plain
    frame, most_bytes = _plain_frame(data, checks_header=checks_header)
    try:
        if most_bytes <= max_bytes:
            plain = lz4.frame.decompress(frame)
        else:
            plain = lz4.frame.LZ4FrameDecompressor().decompress(frame, max_length=max_bytes + 1)
    except (RuntimeError, EOFError, ValueError) as error:
        raise _failed(error) from None
    if len(plain) > max_bytes:
        raise limit_exceeded(max_bytes)
    return plain


def _is_one_block(data: memoryview, max_bytes: int) -> bool:
    """Return whether a payload is a header, one block and a length, as producers write it.

    Kafka's reader and the library both read all of it. The library fails if the length is not 0.
    """
    if len(data) < _ONE_BLOCK.size + _LENGTH.size:
        return False
    magic, flags, descriptor, _, length = _ONE_BLOCK.unpack_from(data)
    size_bytes = _ONE_BLOCK.size + (length & ~_STORED) + _LENGTH.size
    return (
        magic == _MAGIC
        and not flags & _ADDITIONS
        and len(data) == size_bytes > _ONE_BLOCK.size + _LENGTH.size
        and _BLOCK_BYTES[descriptor >> 4 & 7] <= max_bytes
    )


def _plain_frame(data: memoryview, *, checks_header: bool) -> tuple[bytes, int]:
    """Return the parts of the frame that Kafka reads, and its highest possible decoded size."""
    if data[:4] != _MAGIC:
        raise _failed("there is no lz4 frame")
    if len(data) < _SMALLEST_HEADER_BYTES:
        raise _failed("the frame is shorter than its header")
    flags = data[4]
    size_stop = 6 + (_CONTENT_SIZE_BYTES if flags & _CONTENT_SIZE else 0)
    checksum_at = size_stop + (_DICTIONARY_ID_BYTES if flags & _DICTIONARY_ID else 0)
    if len(data) <= checksum_at:
        raise _failed("the frame is shorter than its header")
    if checks_header and data[checksum_at] != _header_checksum(bytes(data[4:checksum_at])):
        raise _failed("the header checksum is wrong")
    start = checksum_at + 1
    stop, block_count = _end_mark(data, start, has_checksums=flags & _BLOCK_CHECKSUM != 0)
    if flags & _CONTENT_CHECKSUM and len(data) < stop + _LENGTH.size + _CHECKSUM_BYTES:
        raise _failed("the frame is truncated")
    most_bytes = block_count * _BLOCK_BYTES[data[5] >> 4 & 7]
    kept = flags & ~(_CONTENT_SIZE | _CONTENT_CHECKSUM)
    descriptor = bytes((kept, data[5])) + bytes(data[size_stop:checksum_at])
    header = _MAGIC + descriptor + bytes((_header_checksum(descriptor),))
    return b"".join((header, data[start:stop], _END_MARK)), most_bytes


def _end_mark(data: memoryview, position: int, *, has_checksums: bool) -> tuple[int, int]:
    """Return the position of the end mark and the number of blocks before it."""
    count = 0
    overhead = _LENGTH.size + (_CHECKSUM_BYTES if has_checksums else 0)
    last = len(data) - _LENGTH.size
    while position <= last:
        length = _LENGTH.unpack_from(data, position)[0] & ~_STORED
        if not length:
            return position, count
        position += overhead + length
        count += 1
    raise _failed("the frame is truncated")


@cache
def _header_checksum(descriptor: bytes) -> int:
    """Return the second byte of xxh32 (seed 0) of a frame descriptor of less than 16 bytes."""
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


def _failed(reason: object) -> DefectError:
    """Return the error for a payload that cannot be decompressed."""
    return DefectError(DefectCode.DECOMPRESSION_FAILED, f"lz4: {reason}")
