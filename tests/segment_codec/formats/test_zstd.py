"""All frames of a zstd payload, and never more bytes than allowed."""

import struct

import pytest
import zstandard

from seglake.segment_codec.formats._zstd import decompress_zstd
from seglake.segment_codec.formats.errors import DefectCode, DefectError

_SKIPPABLE = struct.pack("<II", 0x184D2A57, 3) + b"any"


def _frame(content: bytes, *, with_size: bool = True) -> bytes:
    return zstandard.ZstdCompressor(write_content_size=with_size).compress(content)


def _code_of(data: bytes, max_bytes: int) -> DefectCode:
    with pytest.raises(DefectError) as caught:
        decompress_zstd(memoryview(data), max_bytes)
    return caught.value.code


@pytest.mark.parametrize("with_size", [True, False])
def test_frames_share_the_limit(with_size: bool) -> None:
    data = _frame(b"a" * 60, with_size=with_size) + _SKIPPABLE + _frame(b"b" * 40)
    assert decompress_zstd(memoryview(data), 100) == b"a" * 60 + b"b" * 40
    assert _code_of(data, 99) is DefectCode.DECOMPRESSION_LIMIT


def test_skippable_frames_alone_hold_nothing_and_no_frame_is_a_defect() -> None:
    assert decompress_zstd(memoryview(_SKIPPABLE * 2), 0) == b""
    assert _code_of(b"", 9) is DefectCode.DECOMPRESSION_FAILED
    assert _code_of(_SKIPPABLE[:-1], 9) is DefectCode.DECOMPRESSION_FAILED


def test_a_size_that_the_blocks_cannot_hold_is_a_lie_unless_the_limit_is_met_first() -> None:
    data = struct.pack("<IBI", 0xFD2FB528, 0xA0, 1 << 30) + b"\1\0\0"  # one empty raw block
    assert _code_of(data, 1 << 31) is DefectCode.DECOMPRESSION_FAILED
    assert _code_of(data, 1 << 20) is DefectCode.DECOMPRESSION_LIMIT
