"""Decompression: what real writers frame in their own ways, exact bounds, and any bytes at all."""

import gzip
import os
import random
import struct
import subprocess
import sys
import zlib

import lz4.frame
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from seglake.segment_codec.formats.codec import Codec
from seglake.segment_codec.formats.compression import decompress
from seglake.segment_codec.formats.errors import DefectCode, DefectError
from support import encoder
from support.encoder import SnappyLayout
from support.frames.build import lz4_frame

FAILED = DefectCode.DECOMPRESSION_FAILED
LIMIT = DefectCode.DECOMPRESSION_LIMIT
COMPRESSED = (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)
TEXT = b"the quick brown fox " * 500
XERIAL_START = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)


def plain(codec: Codec, data: bytes, *, magic: int = 2, max_bytes: int = 1 << 20) -> bytes:
    return bytes(decompress(codec, memoryview(data), magic=magic, max_bytes=max_bytes))


def code_of(codec: Codec, data: bytes, *, magic: int = 2, max_bytes: int = 1 << 20) -> DefectCode:
    with pytest.raises(DefectError) as caught:
        plain(codec, data, magic=magic, max_bytes=max_bytes)
    return caught.value.code


def compressed(content: bytes, codec: Codec, **how: object) -> bytes:
    return encoder.compressed(content, encoder.Codec(codec), **how)  # type: ignore[arg-type]


def zstd_frame(content: bytes, *, with_size: bool = False, checksum: bool = False) -> bytes:
    return zstandard.ZstdCompressor(write_content_size=with_size, write_checksum=checksum).compress(
        content
    )


FRAMED: dict[str, tuple[Codec, bytes]] = {
    "gzip": (Codec.GZIP, gzip.compress(TEXT)),
    "gzip_members": (Codec.GZIP, gzip.compress(TEXT[:99]) + gzip.compress(TEXT[99:])),
    "gzip_empty_members": (Codec.GZIP, gzip.compress(b"") * 9 + gzip.compress(TEXT)),
    "gzip_zeros_behind": (Codec.GZIP, gzip.compress(TEXT) + bytes(8)),
    "gzip_as_zlib": (Codec.GZIP, zlib.compress(TEXT)),
    "snappy_xerial": (Codec.SNAPPY, compressed(TEXT, Codec.SNAPPY)),
    "snappy_raw": (Codec.SNAPPY, compressed(TEXT, Codec.SNAPPY, snappy_layout=SnappyLayout.RAW)),
    "snappy_concatenated": (
        Codec.SNAPPY,
        compressed(TEXT[:99], Codec.SNAPPY) + compressed(TEXT[99:], Codec.SNAPPY),
    ),
    "snappy_little_endian_versions": (
        Codec.SNAPPY,
        XERIAL_START[:8] + struct.pack("<ii", 1, 1) + compressed(TEXT, Codec.SNAPPY)[16:],
    ),
    "snappy_cut_in_a_length": (Codec.SNAPPY, compressed(TEXT, Codec.SNAPPY) + b"\0\0\1"),
    "lz4": (Codec.LZ4, compressed(TEXT, Codec.LZ4)),
    "lz4_linked": (Codec.LZ4, lz4.frame.compress(TEXT, block_linked=True, store_size=False)),
    "lz4_size": (Codec.LZ4, lz4.frame.compress(TEXT, store_size=True)),
    "lz4_checksums": (
        Codec.LZ4,
        lz4.frame.compress(TEXT, content_checksum=True, block_checksum=True),
    ),
    "lz4_large_blocks": (
        Codec.LZ4,
        lz4.frame.compress(TEXT, block_size=lz4.frame.BLOCKSIZE_MAX4MB, store_size=False),
    ),
    "lz4_bytes_behind": (Codec.LZ4, compressed(TEXT, Codec.LZ4) + b"more"),
    "lz4_frame_behind": (Codec.LZ4, compressed(TEXT, Codec.LZ4) * 2),
    "zstd": (Codec.ZSTD, zstd_frame(TEXT)),
    "zstd_size": (Codec.ZSTD, zstd_frame(TEXT, with_size=True)),
    "zstd_checksum": (Codec.ZSTD, zstd_frame(TEXT, checksum=True)),
    "zstd_frames": (
        Codec.ZSTD,
        zstd_frame(TEXT[:7]) + zstd_frame(b"") + zstd_frame(TEXT[7:], with_size=True),
    ),
    "zstd_skippable": (
        Codec.ZSTD,
        struct.pack("<II", 0x184D2A5E, 3)
        + b"any"
        + zstd_frame(TEXT)
        + struct.pack("<II", 0x184D2A50, 0),
    ),
}


@pytest.mark.parametrize(("codec", "data"), FRAMED.values(), ids=FRAMED.keys())
def test_all_framings_are_read(codec: Codec, data: bytes) -> None:
    assert plain(codec, data) == TEXT
    # Bounded so tightly that no fast path without a bound is open.
    assert plain(codec, data, max_bytes=len(TEXT)) == TEXT
    assert code_of(codec, data, max_bytes=len(TEXT) - 1) is LIMIT


@pytest.mark.parametrize("codec", COMPRESSED)
@pytest.mark.parametrize("size", [0, 1, 13, 32767, 32768, 32769, 65536, 65537, 131072, 400_000])
@pytest.mark.parametrize("filling", [b"\0", b"0123456789 abc"])
def test_limit_is_exact(codec: Codec, size: int, filling: bytes) -> None:
    content = (filling * (size // len(filling) + 1))[:size]
    data = compressed(content, codec)
    for max_bytes in (size, size + 1, 1 << 30):
        assert plain(codec, data, max_bytes=max_bytes) == content
    if size:
        assert code_of(codec, data, max_bytes=size - 1) is LIMIT
        assert code_of(codec, data, max_bytes=0) is LIMIT


@pytest.mark.parametrize("codec", COMPRESSED)
def test_limit_counts_all_pieces_of_a_long_payload(codec: Codec) -> None:
    content = random.Random(1).randbytes(200_000)  # compressed, it is as long
    data = compressed(content, codec)
    assert plain(codec, data, max_bytes=len(content)) == content
    assert code_of(codec, data, max_bytes=len(content) - 1) is LIMIT


def test_plain_payload_is_not_copied_and_not_bounded() -> None:
    data = memoryview(b"payload")
    assert decompress(Codec.NONE, data, magic=2, max_bytes=1) is data


@pytest.mark.parametrize("codec", COMPRESSED)
@pytest.mark.parametrize("layout", list(SnappyLayout))
@pytest.mark.parametrize("max_bytes", [len(TEXT), 1 << 26])
def test_cut_stream_fails_wherever_it_is_cut(
    codec: Codec, layout: SnappyLayout, max_bytes: int
) -> None:
    content = bytes(range(256)) * 3
    data = compressed(content, codec, snappy_layout=layout)
    for size in range(len(data)):
        is_quiet = codec is Codec.SNAPPY and layout is SnappyLayout.XERIAL and 16 <= size < 20
        if is_quiet:  # the header alone, or a cut inside a length: the end, as in Java
            assert plain(codec, data[:size], max_bytes=max_bytes) == b""
        else:
            assert code_of(codec, data[:size], max_bytes=max_bytes) in (FAILED, LIMIT)


@pytest.mark.parametrize("codec", COMPRESSED)
def test_nothing_is_no_stream(codec: Codec) -> None:
    assert code_of(codec, b"") is FAILED


BROKEN: dict[str, tuple[Codec, bytes]] = {
    "gzip_flip": (Codec.GZIP, gzip.compress(TEXT)[:-6] + b"\0\0\0\0\0\0"),
    "gzip_second_member": (Codec.GZIP, gzip.compress(TEXT) + gzip.compress(TEXT[:99])[:-1]),
    "snappy_framing_format": (Codec.SNAPPY, b"\xff\x06\0\0sNaPpY" + bytes(20)),
    "snappy_block_too_long": (Codec.SNAPPY, XERIAL_START + struct.pack(">i", 99) + b"\0"),
    "snappy_block_negative": (Codec.SNAPPY, XERIAL_START + struct.pack(">i", -2) + b"\0"),
    "snappy_endless_length": (Codec.SNAPPY, b"\xff" * 40),
    "lz4_legacy": (Codec.LZ4, b"\x02\x21\x4c\x18" + bytes(20)),
    "lz4_skippable": (Codec.LZ4, struct.pack("<II", 0x184D2A50, 0)),
    "lz4_no_frame": (Codec.LZ4, b"\xfe" * 40),
    "lz4_header_checksum": (Codec.LZ4, compressed(TEXT, Codec.LZ4, lz4_header_is_broken=True)),
    "zstd_no_frame": (Codec.ZSTD, b"\xfe" * 40),
    "zstd_skippable_cut": (Codec.ZSTD, struct.pack("<II", 0x184D2A50, 9) + b"cut"),
    "zstd_checksum": (Codec.ZSTD, zstd_frame(TEXT, checksum=True)[:-1] + b"\0"),
    "zstd_garbage_behind": (Codec.ZSTD, zstd_frame(TEXT) + b"garbage"),
    "zstd_false_size": (Codec.ZSTD, b"\x28\xb5\x2f\xfd\x20\xff\x01\0\0"),
}


@pytest.mark.parametrize(("codec", "data"), BROKEN.values(), ids=BROKEN.keys())
@pytest.mark.parametrize("max_bytes", [1 << 14, 1 << 26])
def test_broken_stream_fails(codec: Codec, data: bytes, max_bytes: int) -> None:
    assert code_of(codec, data, max_bytes=max_bytes) is FAILED


@pytest.mark.parametrize("checksum", [0x82, 0x1A, 0x00], ids=["right", "hashed_magic", "any"])
def test_header_checksum_of_lz4_counts_above_magic_0_only(checksum: int) -> None:
    data = bytearray(compressed(TEXT, Codec.LZ4))
    data[6] = checksum
    assert plain(Codec.LZ4, bytes(data), magic=0) == TEXT
    for magic in (1, 2):
        if checksum == 0x82:
            assert plain(Codec.LZ4, bytes(data), magic=magic) == TEXT
        else:
            assert code_of(Codec.LZ4, bytes(data), magic=magic) is FAILED


@pytest.mark.parametrize("block_size", [4, 5, 6, 7])
@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("with_size", [False, True])
@pytest.mark.parametrize("checked", [False, True])
def test_header_checksum_is_put_right_for_every_descriptor(
    block_size: int, linked: bool, with_size: bool, checked: bool
) -> None:
    data = bytearray(
        lz4.frame.compress(
            TEXT,
            block_size=block_size,
            block_linked=linked,
            store_size=with_size,
            content_checksum=checked,
        )
    )
    data[14 if with_size else 6] ^= 0xFF
    assert plain(Codec.LZ4, bytes(data), magic=0) == TEXT


@pytest.mark.parametrize("codec", COMPRESSED)
@given(
    data=st.binary(max_size=200),
    magic=st.integers(0, 2),
    max_bytes=st.sampled_from([0, 99, 1 << 22]),
)
def test_any_bytes_decompress_or_are_a_defect(
    codec: Codec, data: bytes, magic: int, max_bytes: int
) -> None:
    starts = {
        Codec.GZIP: b"\x1f\x8b\x08\0\0\0\0\0\0\3",
        Codec.SNAPPY: XERIAL_START,
        Codec.LZ4: b"\x04\x22\x4d\x18",
        Codec.ZSTD: b"\x28\xb5\x2f\xfd",
    }
    for payload in (data, starts[codec] + data):
        assert_bounded(codec, payload, magic, max_bytes)


@pytest.mark.parametrize("codec", COMPRESSED)
@given(st.data())
def test_changed_streams_decompress_or_are_a_defect(codec: Codec, data: st.DataObject) -> None:
    names = [name for name, (used, _) in FRAMED.items() if used is codec]
    stream = bytearray(FRAMED[data.draw(st.sampled_from(names))][1])
    for _ in range(data.draw(st.integers(1, 4))):
        stream[data.draw(st.integers(0, min(len(stream) - 1, 60)))] = data.draw(st.integers(0, 255))
    assert_bounded(codec, bytes(stream), 2, data.draw(st.sampled_from([50, len(TEXT), 1 << 22])))


def assert_bounded(codec: Codec, payload: bytes, magic: int, max_bytes: int) -> None:
    try:
        found = plain(codec, payload, magic=magic, max_bytes=max_bytes)
    except DefectError as error:
        is_bounded = error.code in (FAILED, LIMIT)
    else:
        is_bounded = len(found) <= max_bytes
    assert is_bounded


def test_content_size_in_place_of_a_block_length_is_not_believed() -> None:
    size_bytes = len(lz4_frame(TEXT, flags=0x68))
    claimed = (size_bytes - 15) << 8 | 0xFF << 56  # bytes 7 to 10 are as if there were no size
    frame = lz4_frame(TEXT, flags=0x68, size=claimed)
    assert plain(Codec.LZ4, frame) == TEXT


BOMBS = """
import resource, struct, sys, zlib
import lz4.block, lz4.frame, zstandard
from seglake.segment_codec.formats.compression import decompress
from seglake.segment_codec.formats.codec import Codec
from seglake.segment_codec.formats.errors import DefectError

def gzip_bomb(size):
    stream = zlib.compressobj(9, wbits=31)
    return b"".join(stream.compress(bytes(1 << 20)) for _ in range(size >> 20)) + stream.flush()

def zstd_bomb(size):
    stream = zstandard.ZstdCompressor(level=1).compressobj()
    return b"".join(stream.compress(bytes(1 << 20)) for _ in range(size >> 20)) + stream.flush()

SIZE = 1 << 28
block = lz4.block.compress(bytes(4 << 20), store_size=False)
lz4_bomb = (bytes.fromhex("04224d18607073") + (struct.pack("<I", len(block)) + block) * 256
            + bytes(4))
context = lz4.frame.create_compression_context()
claims_9_bytes = lz4.frame.compress_begin(context, 9, block_size=7, block_linked=False)
zstd_frame = zstandard.ZstdCompressor().compress(b"whole")
bombs = {
    Codec.GZIP: [gzip_bomb(SIZE), gzip_bomb(15 << 20) * 60],
    Codec.SNAPPY: [bytes.fromhex("ffffffff0f") + bytes(9), bytes.fromhex("8080808004") + bytes(9)],
    Codec.LZ4: [lz4_bomb, claims_9_bytes + lz4_bomb[7:]],
    Codec.ZSTD: [zstd_frame + zstd_bomb(SIZE)[:-1], zstd_bomb(SIZE),
                 bytes.fromhex("28b52ffde0") + struct.pack("<Q", 1 << 40)
                 + bytes.fromhex("010000"), zstd_bomb(15 << 20) * 60],
}
LIMIT = 16 << 20
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for codec, payloads in bombs.items():
    for payload in payloads:
        try:
            decompress(codec, memoryview(payload), magic=2, max_bytes=LIMIT)
        except DefectError as error:
            assert error.code == "decompression_limit", error
        else:
            raise AssertionError(codec)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_bombs_take_no_more_memory_than_the_limit_allows() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BOMBS],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) * 1024 < 64 << 20  # the limit, its pieces, and what the libraries keep
