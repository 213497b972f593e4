"""Compresses as Kafka's writers do, framing by hand where Kafka has a framing of its own.

Snappy, stream layout of xerial's library::

    0   magic          82 53 4E 41 50 50 59 00
    8   version        i32 1
    12  compatible     i32 1
    16  blocks         each: length i32, then one raw snappy block of up to 32 KiB of content

LZ4, frame layout (the only little-endian numbers)::

    0   magic             04 22 4D 18
    4   flags             60: version 01, independent blocks, no checksums, no content size
    5   block descriptor  40: blocks of up to 64 KiB
    6   header checksum   82, or 1A from the writers of magic 0, which hashed the magic bytes too
    7   blocks            each: length u32, highest bit set when stored as is; then the bytes
        end mark          u32 0
"""

import struct
import zlib
from enum import IntEnum, StrEnum

import cramjam
import lz4.block
import zstandard

_XERIAL_HEADER = bytes.fromhex("82534e4150505900") + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK_BYTES = 32 * 1024
_LZ4_HEADER = bytes.fromhex("04224d186040")
_LZ4_CHECKSUM = b"\x82"
_LZ4_BROKEN_CHECKSUM = b"\x1a"
_LZ4_BLOCK_BYTES = 64 * 1024
_LZ4_STORED = 1 << 31
_GZIP_WINDOW = 31  # zlib's way to ask for a gzip header


class Codec(IntEnum):
    """Compression codec ids, bits 0-2 of the attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class SnappyLayout(StrEnum):
    """XERIAL is what Java writes, RAW (one block without any header) what most others write."""

    XERIAL = "xerial"
    RAW = "raw"


def compressed(
    content: bytes,
    codec: Codec,
    *,
    snappy_layout: SnappyLayout = SnappyLayout.XERIAL,
    lz4_header_is_broken: bool = False,
) -> bytes:
    """Compress `content`; the same content always gives the same bytes."""
    match codec:
        case Codec.NONE:
            return content
        case Codec.GZIP:
            stream = zlib.compressobj(wbits=_GZIP_WINDOW)
            return stream.compress(content) + stream.flush()
        case Codec.SNAPPY if snappy_layout is SnappyLayout.RAW:
            return _snappy_block(content)
        case Codec.SNAPPY:
            return _xerial_stream(content)
        case Codec.LZ4:
            return _lz4_frame(content, header_is_broken=lz4_header_is_broken)
        case Codec.ZSTD:
            return zstandard.ZstdCompressor(level=3, write_content_size=False).compress(content)
    raise ValueError(f"no such codec: {codec}")


def _snappy_block(content: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(content))


def _xerial_stream(content: bytes) -> bytes:
    parts = [_XERIAL_HEADER]
    for start in range(0, len(content), _XERIAL_BLOCK_BYTES):
        block = _snappy_block(content[start : start + _XERIAL_BLOCK_BYTES])
        parts += [struct.pack(">i", len(block)), block]
    return b"".join(parts)


def _lz4_frame(content: bytes, *, header_is_broken: bool) -> bytes:
    parts = [_LZ4_HEADER, _LZ4_BROKEN_CHECKSUM if header_is_broken else _LZ4_CHECKSUM]
    for start in range(0, len(content), _LZ4_BLOCK_BYTES):
        plain = content[start : start + _LZ4_BLOCK_BYTES]
        block = lz4.block.compress(plain, store_size=False)
        if len(block) < len(plain):
            parts += [struct.pack("<I", len(block)), block]
        else:
            parts += [struct.pack("<I", len(plain) | _LZ4_STORED), plain]
    parts.append(struct.pack("<I", 0))
    return b"".join(parts)
