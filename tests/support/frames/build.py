"""Frames by hand: each field can be told a lie. Layouts are those of the formats' documents."""

import struct
import zlib
from typing import Literal

import cramjam
import lz4.block
import lz4.frame
import zstandard

XERIAL = b"\x82SNAPPY\0"
SKIPPABLE = struct.pack("<II", 0x184D2A5E, 3) + b"any"
_LZ4_BLOCK_BYTES = 64 << 10
_ZSTD_BLOCK_BYTES = 100_000
_GZIP_TEXTS = (8, 16)  # name, comment


def gzip_member(
    content: bytes,
    *,
    flags: int = 0,
    extra: bytes = b"",
    header_checksum_off_by: int = 0,
    crc: int | None = None,
    length: int | None = None,
) -> bytes:
    """One member; flags: 1 text, 2 header checksum, 4 extra field, 8 name, 16 comment."""
    header = b"\x1f\x8b\x08" + bytes([flags, 0, 0, 0, 0, 0, 3])
    if flags & 4:
        header += struct.pack("<H", len(extra)) + extra
    header += b"".join(b"a text\0" for flag in _GZIP_TEXTS if flags & flag)
    if flags & 2:
        checksum = (zlib.crc32(header) & 0xFFFF) ^ header_checksum_off_by
        header += struct.pack("<H", checksum)
    stream = zlib.compressobj(wbits=-15)
    deflated = stream.compress(content) + stream.flush()
    crc = zlib.crc32(content) if crc is None else crc
    return header + deflated + struct.pack("<II", crc, len(content) if length is None else length)


def snappy_block(content: bytes) -> bytes:
    """A raw block."""
    return bytes(cramjam.snappy.compress_raw(content))


def xerial_block(content: bytes) -> bytes:
    """A block with its length before it."""
    block = snappy_block(content)
    return struct.pack(">i", len(block)) + block


def xerial_stream(
    content: bytes, *, versions: bytes = struct.pack(">ii", 1, 1), block_bytes: int = 32 << 10
) -> bytes:
    """A stream as Java writes it."""
    pieces = [content[at : at + block_bytes] for at in range(0, len(content), block_bytes)]
    return XERIAL + versions + b"".join(map(xerial_block, pieces))


def lz4_frame(
    content: bytes,
    *,
    flags: int = 0x60,
    descriptor: int = 0x40,
    size: int | None = None,
    wrong_checksum: Literal["header", "block"] | None = None,
    content_checksum: bytes | None = None,
    end: bytes = bytes(4),
    block_bytes: int = _LZ4_BLOCK_BYTES,
) -> bytes:
    """One frame; flags: 1 dictionary id, 4 content checksum, 8 content size, 16 block checksums."""
    fields = bytes([flags, descriptor])
    if flags & 8:
        fields += struct.pack("<Q", len(content) if size is None else size)
    if flags & 1:
        fields += struct.pack("<I", 5)
    parts = [b"\x04\x22\x4d\x18", fields]
    parts.append(bytes([(_xxh32(fields) >> 8 & 0xFF) ^ (wrong_checksum == "header")]))
    for at in range(0, len(content), block_bytes):
        block = lz4.block.compress(content[at : at + block_bytes], store_size=False)
        parts += [struct.pack("<I", len(block)), block]
        if flags & 16:
            parts.append(struct.pack("<I", _xxh32(block) ^ (wrong_checksum == "block")))
    parts.append(end)
    if flags & 4:
        right = struct.pack("<I", _xxh32(content))
        parts.append(right if content_checksum is None else content_checksum)
    return b"".join(parts)


def lz4_stored(content: bytes) -> bytes:
    """One frame whose blocks are not compressed."""
    parts = [lz4_frame(b"", end=b"")]
    for at in range(0, len(content), _LZ4_BLOCK_BYTES):
        piece = content[at : at + _LZ4_BLOCK_BYTES]
        parts += [struct.pack("<I", len(piece) | 1 << 31), piece]
    return b"".join([*parts, bytes(4)])


def zstd_frame(content: bytes, *, has_size: bool = False, has_checksum: bool = False) -> bytes:
    """One frame of the library's."""
    return zstandard.ZstdCompressor(
        write_content_size=has_size, write_checksum=has_checksum
    ).compress(content)


def zstd_raw_frame(
    content: bytes, *, window_log: int = 20, flags: int = 0, ends: bool = True
) -> bytes:
    """One frame of blocks that are not compressed; without `ends` its last block is not marked."""
    header = struct.pack("<IBB", 0xFD2FB528, flags, window_log - 10 << 3)
    if flags & 3:
        header += b"\5"
    pieces = [
        content[at : at + _ZSTD_BLOCK_BYTES] for at in range(0, len(content), _ZSTD_BLOCK_BYTES)
    ]
    blocks = [
        struct.pack("<I", len(piece) << 3 | (ends and index == len(pieces) - 1))[:3] + piece
        for index, piece in enumerate(pieces)
    ]
    return header + b"".join(blocks)


def _xxh32(data: bytes) -> int:
    """Return the checksum that the library writes behind a frame; it writes none for no bytes."""
    checksum: int
    (checksum,) = struct.unpack("<I", lz4.frame.compress(data, content_checksum=True)[-4:])
    return checksum if data else 0x02CC5D05
