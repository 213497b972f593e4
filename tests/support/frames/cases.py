"""The frames, by name: codec, and what makes the payload of a content."""

import gzip
import random
import struct
import zlib
from collections.abc import Callable

import lz4.block
import lz4.frame

from support import encoder
from support.encoder import Codec, Header, Record
from support.frames.build import (
    SKIPPABLE,
    XERIAL,
    gzip_member,
    lz4_frame,
    lz4_stored,
    snappy_block,
    xerial_block,
    xerial_stream,
    zstd_frame,
    zstd_raw_frame,
)

RECORD_COUNT = 400
_ZERO_VERSIONS = bytes(8)
_LITTLE_VERSIONS = struct.pack("<ii", 1, 1)
_OTHER_XERIAL = b"\x82SNAPPX\0" + struct.pack(">ii", 1, 1)

Framing = Callable[[bytes], bytes]


def _records() -> list[Record]:
    draw = random.Random(39)
    return [
        Record(b"k%d" % index, draw.randbytes(100) + bytes(100), 1000)
        for index in range(RECORD_COUNT)
    ]


def values() -> list[bytes | None]:
    """The values of the 400 records, from offset 0 on."""
    return [record.value for record in _records()]


def content(magic: int) -> bytes:
    """The 400 records of a batch or a wrapper, from offset 0 on, not compressed."""
    records = list(enumerate(_records()))
    if magic == 2:
        return b"".join(encoder.record_bytes(record, index, 0) for index, record in records)
    return b"".join(encoder.message_bytes(index, record, magic) for index, record in records)


def batch(magic: int, codec: Codec, payload: bytes) -> encoder.EncodedBatch:
    """A batch or a wrapper around a payload that holds `content`, with right checksums."""
    last = RECORD_COUNT - 1
    if magic < 2:
        wrapper = encoder.payload_wrapper(last, payload, magic, codec, timestamp_ms=1000)
        return wrapper._replace(base_offset=0)
    header = Header(
        last_offset_delta=last,
        base_timestamp_ms=1000,
        max_timestamp_ms=1000,
        record_count=RECORD_COUNT,
    )
    return encoder.payload_batch(0, payload, header, codec=codec)


def _halves(first: Framing, second: Framing, between: bytes = b"") -> Framing:
    """Each half of the content in its own way."""

    def framed(plain: bytes) -> bytes:
        middle = len(plain) // 2
        return first(plain[:middle]) + between + second(plain[middle:])

    return framed


def _with_flipped_size(plain: bytes) -> bytes:
    frame = bytearray(zstd_frame(plain, has_size=True))
    frame[5] ^= 1
    return bytes(frame)


def _legacy_lz4(plain: bytes) -> bytes:
    block: bytes = lz4.block.compress(plain, store_size=False)
    return b"\x02\x21\x4c\x18" + struct.pack("<I", len(block)) + block


_GZIP: dict[str, Framing] = {
    "gzip": gzip.compress,
    "gzip_members": _halves(gzip_member, gzip_member),
    "gzip_empty_members": lambda data: gzip_member(b"") * 3 + gzip_member(data) + gzip_member(b""),
    "gzip_zeros_behind": lambda data: gzip_member(data) + bytes(800),
    "gzip_garbage_behind": lambda data: gzip_member(data) + b"garbage",
    "gzip_long_garbage_behind": lambda data: gzip_member(data) + b"garbage" * 100,
    "gzip_header_behind": lambda data: gzip_member(data) + gzip_member(b"more")[:10],
    "gzip_18_bytes_of_a_member_behind": lambda data: (
        gzip_member(data) + gzip_member(b"more" * 99)[:18]
    ),
    "gzip_19_bytes_of_a_member_behind": lambda data: (
        gzip_member(data) + gzip_member(bytes(range(99)))[:19]
    ),
    "gzip_broken_member_behind": lambda data: (
        gzip_member(data) + gzip_member(b"")[:10] + b"\xff" * 30
    ),
    "gzip_cut_member": _halves(gzip_member, lambda data: gzip_member(data)[:-4]),
    "gzip_extra_field": lambda data: gzip_member(data, flags=4, extra=b"abcdef"),
    "gzip_name_and_comment": lambda data: gzip_member(data, flags=1 | 8 | 16),
    "gzip_header_checksum": lambda data: gzip_member(data, flags=2 | 4 | 8, extra=b"ab"),
    "gzip_header_checksum_wrong": lambda data: gzip_member(data, flags=2, header_checksum_off_by=1),
    "gzip_unknown_flags": lambda data: gzip_member(data, flags=0xE0),
    "gzip_unknown_method": lambda data: b"\x1f\x8b\x07" + gzip_member(data)[3:],
    "gzip_crc_wrong": lambda data: gzip_member(data, crc=1),
    "gzip_length_wrong": lambda data: gzip_member(data, length=len(data) + 1),
    "gzip_trailer_cut": lambda data: gzip_member(data)[:-3],
    "gzip_no_trailer": lambda data: gzip_member(data)[:-8],
    "gzip_zlib_stream": zlib.compress,
    "gzip_deflated_only": lambda data: gzip_member(data)[10:-8],
    "gzip_record_bytes_behind": lambda data: gzip_member(data + b"\1"),
    "gzip_record_cut": lambda data: gzip_member(data[:-1]),
}
_SNAPPY: dict[str, Framing] = {
    "snappy_raw": snappy_block,
    "snappy_raw_bytes_behind": lambda data: snappy_block(data) + b"more",
    "snappy_xerial": xerial_stream,
    "snappy_versions_0": lambda data: xerial_stream(data, versions=_ZERO_VERSIONS),
    "snappy_versions_99": lambda data: xerial_stream(data, versions=struct.pack(">ii", 99, 99)),
    "snappy_versions_little_endian": lambda data: xerial_stream(data, versions=_LITTLE_VERSIONS),
    "snappy_streams": _halves(xerial_stream, xerial_stream),
    "snappy_second_version_0": _halves(
        xerial_stream, lambda data: xerial_stream(data, versions=_ZERO_VERSIONS)
    ),
    "snappy_second_version_little_endian": _halves(
        xerial_stream, lambda data: xerial_stream(data, versions=_LITTLE_VERSIONS)
    ),
    "snappy_second_magic_wrong": lambda data: xerial_stream(data) + _OTHER_XERIAL,
    "snappy_second_magic_wrong_bytes_behind": lambda data: (
        xerial_stream(data) + _OTHER_XERIAL + b"more"
    ),
    "snappy_second_header_cut": lambda data: xerial_stream(data) + XERIAL,
    "snappy_empty_block": _halves(
        xerial_stream, lambda data: xerial_stream(data)[16:], xerial_block(b"")
    ),
    "snappy_block_of_0_bytes": _halves(
        xerial_stream, lambda data: xerial_stream(data)[16:], bytes(4)
    ),
    "snappy_block_of_0_bytes_behind": lambda data: xerial_stream(data) + bytes(4),
    "snappy_1_byte_behind": lambda data: xerial_stream(data) + b"\0",
    "snappy_3_bytes_behind": lambda data: xerial_stream(data) + b"\xff" * 3,
    "snappy_cut_block_behind": lambda data: xerial_stream(data) + struct.pack(">i", 99) + b"x",
    "snappy_negative_length_behind": lambda data: xerial_stream(data) + struct.pack(">i", -5),
    "snappy_small_blocks": lambda data: xerial_stream(data, block_bytes=7),
    "snappy_large_block": lambda data: xerial_stream(data, block_bytes=1 << 24),
    "snappy_framing_format": lambda data: b"\xff\x06\0\0sNaPpY" + snappy_block(data),
}
_LZ4: dict[str, Framing] = {
    "lz4": lz4_frame,
    "lz4_content_checksum": lambda data: lz4_frame(data, flags=0x64),
    "lz4_content_checksum_wrong": lambda data: lz4_frame(
        data, flags=0x64, content_checksum=b"\7\7\7\7"
    ),
    "lz4_content_checksum_missing": lambda data: lz4_frame(data, flags=0x64, content_checksum=b""),
    "lz4_content_checksum_cut": lambda data: lz4_frame(data, flags=0x64, content_checksum=b"\7"),
    "lz4_block_checksums": lambda data: lz4_frame(data, flags=0x70),
    "lz4_block_checksums_wrong": lambda data: lz4_frame(data, flags=0x70, wrong_checksum="block"),
    "lz4_all_checksums_and_size": lambda data: lz4_frame(data, flags=0x7C),
    "lz4_content_size": lambda data: lz4_frame(data, flags=0x68),
    "lz4_content_size_1": lambda data: lz4_frame(data, flags=0x68, size=1),
    "lz4_content_size_one_more": lambda data: lz4_frame(data, flags=0x68, size=len(data) + 1),
    "lz4_content_size_0": lambda data: lz4_frame(data, flags=0x68, size=0),
    "lz4_content_size_huge": lambda data: lz4_frame(data, flags=0x68, size=1 << 62),
    "lz4_says_dependent_blocks": lambda data: lz4_frame(data, flags=0x40),
    "lz4_dependent_blocks": lambda data: lz4.frame.compress(
        data, block_linked=True, store_size=False
    ),
    "lz4_dictionary_id": lambda data: lz4_frame(data, flags=0x61),
    "lz4_unknown_flag": lambda data: lz4_frame(data, flags=0x62),
    "lz4_version_0": lambda data: lz4_frame(data, flags=0x20),
    "lz4_version_2": lambda data: lz4_frame(data, flags=0xA0),
    "lz4_unknown_low_bits": lambda data: lz4_frame(data, descriptor=0x4F),
    "lz4_unknown_high_bit": lambda data: lz4_frame(data, descriptor=0xC0),
    "lz4_block_size_3": lambda data: lz4_frame(data, descriptor=0x30),
    "lz4_header_checksum_wrong": lambda data: lz4_frame(data, wrong_checksum="header"),
    "lz4_skippable_before": lambda data: SKIPPABLE + lz4_frame(data),
    "lz4_skippable_behind": lambda data: lz4_frame(data) + SKIPPABLE,
    "lz4_frames": _halves(lz4_frame, lz4_frame),
    "lz4_frame_behind": lambda data: lz4_frame(data) + lz4_frame(b"more"),
    "lz4_bytes_behind": lambda data: lz4_frame(data) + b"more",
    "lz4_no_end_mark": lambda data: lz4_frame(data, end=b""),
    "lz4_end_mark_cut": lambda data: lz4_frame(data, end=b"\0\0"),
    "lz4_end_mark_says_stored": lambda data: lz4_frame(data, end=b"\0\0\0\x80"),
    "lz4_empty_block": lambda data: lz4_frame(data, end=b"\1\0\0\0\0" + bytes(4)),
    "lz4_stored_blocks": lz4_stored,
    "lz4_block_of_4_mib": lambda data: lz4_frame(data, descriptor=0x70, block_bytes=4 << 20),
    "lz4_block_too_large": lambda data: lz4_frame(data, block_bytes=4 << 20),
    "lz4_legacy": _legacy_lz4,
}
_ZSTD: dict[str, Framing] = {
    "zstd": zstd_frame,
    "zstd_size": lambda data: zstd_frame(data, has_size=True),
    "zstd_size_wrong": _with_flipped_size,
    "zstd_checksum": lambda data: zstd_frame(data, has_checksum=True),
    "zstd_checksum_wrong": lambda data: zstd_frame(data, has_checksum=True)[:-4] + b"\7\7\7\7",
    "zstd_checksum_missing": lambda data: zstd_frame(data, has_checksum=True)[:-4],
    "zstd_frames": _halves(zstd_frame, lambda data: zstd_frame(data, has_size=True)),
    "zstd_empty_frames": lambda data: zstd_frame(b"") + zstd_frame(data) + zstd_frame(b""),
    "zstd_skippable_before": lambda data: SKIPPABLE + zstd_frame(data),
    "zstd_skippable_between": _halves(zstd_frame, zstd_frame, SKIPPABLE),
    "zstd_skippable_behind": lambda data: zstd_frame(data) + SKIPPABLE,
    "zstd_skippable_behind_cut": lambda data: zstd_frame(data) + SKIPPABLE[:-1],
    "zstd_skippable_behind_cut_in_its_header": lambda data: zstd_frame(data) + SKIPPABLE[:6],
    "zstd_garbage_behind": lambda data: zstd_frame(data) + b"garbage",
    "zstd_1_byte_behind": lambda data: zstd_frame(data) + b"g",
    "zstd_zeros_behind": lambda data: zstd_frame(data) + bytes(8),
    "zstd_magic_behind": lambda data: zstd_frame(data) + zstd_frame(b"")[:4],
    "zstd_half_a_magic_behind": lambda data: zstd_frame(data) + zstd_frame(b"")[:2],
    "zstd_header_behind": lambda data: zstd_frame(data) + zstd_frame(b"more" * 9)[:6],
    "zstd_cut_frame_behind": lambda data: zstd_frame(data) + zstd_frame(b"more" * 9)[:-3],
    "zstd_cut_frame": _halves(zstd_frame, lambda data: zstd_frame(data)[:-3]),
    "zstd_first_frame_cut": lambda data: zstd_frame(data)[:-1],
    "zstd_records_in_a_frame_without_end": _halves(
        zstd_frame, lambda data: zstd_raw_frame(data, ends=False)
    ),
    "zstd_more_in_a_frame_without_end": lambda data: (
        zstd_frame(data) + zstd_raw_frame(b"more", ends=False)
    ),
    "zstd_window_128_mib": lambda data: zstd_raw_frame(data, window_log=27),
    "zstd_window_256_mib": lambda data: zstd_raw_frame(data, window_log=28),
    "zstd_window_2_tib": lambda data: zstd_raw_frame(data, window_log=41),
    "zstd_dictionary_id": lambda data: zstd_raw_frame(data, flags=1),
    "zstd_reserved_bit": lambda data: zstd_raw_frame(data, flags=8),
    "zstd_unused_bit": lambda data: zstd_raw_frame(data, flags=16),
}

_OTHER_RECORDS = {"gzip_record_bytes_behind", "gzip_record_cut", "lz4_frames"}
_ALL: dict[str, tuple[Codec, Framing]] = {
    name: (codec, framing)
    for codec, framings in (
        (Codec.GZIP, _GZIP),
        (Codec.SNAPPY, _SNAPPY),
        (Codec.LZ4, _LZ4),
        (Codec.ZSTD, _ZSTD),
    )
    for name, framing in framings.items()
}


def frames(magic: int) -> dict[str, tuple[Codec, Framing]]:
    """The frames of a batch, or those of a wrapper that hold whole messages."""
    if magic == 2:
        return _ALL
    return {
        name: frame
        for name, frame in _ALL.items()
        if frame[0] is not Codec.ZSTD and name not in _OTHER_RECORDS
    }


def framed_batches(magic: int) -> dict[str, encoder.EncodedBatch]:
    """A batch or a wrapper of the 400 records for each frame."""
    plain = content(magic)
    return {
        name: batch(magic, codec, framing(plain))
        for name, (codec, framing) in frames(magic).items()
    }
