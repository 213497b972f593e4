"""Damage inside a wrapper: one code, the same from the kernels and from the plain decoder."""

import zlib

import numpy as np
import pytest

from seglake.segment_codec.formats.errors import DefectCode
from seglake.segment_codec.formats.message_set import LONG_MESSAGE_BYTES
from seglake.segment_codec.kernels.message_kernels import scan_messages
from support.decoders import Decoder, code_of, decoded
from support.encoder import Codec, Record, compressed, message_bytes, payload_wrapper

MALFORMED = DefectCode.MALFORMED_RECORD


def inner(offset: int = 0, magic: int = 1, attributes: int = 0) -> bytes:
    return message_bytes(offset, Record(b"k", b"v", 7), magic, attributes)


def changed(message: bytes, position: int, content: bytes) -> bytes:
    return message[:position] + content + message[position + len(content) :]


def checked(message: bytes) -> bytes:
    """The message with a right checksum."""
    return changed(message, 12, zlib.crc32(message[16:]).to_bytes(4, "big"))


SOUND = inner(0)
BROKEN_SETS: dict[str, tuple[bytes, DefectCode]] = {
    "crc": (changed(SOUND, 12, b"\0\0\0\0"), DefectCode.INNER_CRC_MISMATCH),
    "flip": (changed(SOUND, 30, b"K"), DefectCode.INNER_CRC_MISMATCH),
    "second_crc": (SOUND + changed(inner(1), 12, b"\0\0\0\0"), DefectCode.INNER_CRC_MISMATCH),
    "nested": (inner(0, attributes=1), DefectCode.NESTED_WRAPPER),
    "nested_second": (SOUND + inner(1, attributes=3), DefectCode.NESTED_WRAPPER),
    "nested_crc_first": (
        changed(inner(0, attributes=1), 12, b"\0\0\0\0"),
        DefectCode.INNER_CRC_MISMATCH,
    ),
    "cut_prefix": (SOUND + inner(1)[:11], MALFORMED),
    "cut_header": (SOUND + inner(1)[:17], MALFORMED),
    "cut_last_byte": (SOUND + inner(1)[:-1], MALFORMED),
    "cut_alone": (SOUND[:20], MALFORMED),
    "one_byte": (b"\0", MALFORMED),
    "size_13": (changed(SOUND, 8, (13).to_bytes(4, "big")), MALFORMED),
    "size_negative": (changed(SOUND, 8, b"\xff\xff\xff\xff"), MALFORMED),
    "size_huge": (changed(SOUND, 8, b"\x7f\xff\xff\xff"), MALFORMED),
    "size_below_magic_1": (checked(changed(inner(0, 0)[:28], 16, b"\1")), MALFORMED),
    "magic_2": (checked(changed(SOUND, 16, b"\2")), MALFORMED),
    "magic_negative": (checked(changed(SOUND, 16, b"\xff")), MALFORMED),
    "key_length": (checked(changed(SOUND, 26, b"\0\0\0\x09")), MALFORMED),
    "value_length_long": (checked(changed(SOUND, 31, b"\0\0\0\2")), MALFORMED),
    "value_length_short": (checked(changed(SOUND, 31, b"\0\0\0\0")), MALFORMED),
    "key_takes_value_length": (checked(changed(SOUND, 26, b"\0\0\0\3")), MALFORMED),
    "offsets_equal": (SOUND + SOUND, DefectCode.OFFSET_OUT_OF_ORDER),
    "offsets_fall": (inner(3) + inner(1), DefectCode.OFFSET_OUT_OF_ORDER),
    "offset_negative": (inner(-1) + inner(9), DefectCode.OFFSET_OUT_OF_ORDER),
}


@pytest.mark.parametrize(("content", "code"), BROKEN_SETS.values(), ids=BROKEN_SETS.keys())
@pytest.mark.parametrize("magic", [0, 1])
def test_defect_inside_a_wrapper_has_the_same_code_by_both_decoders(
    content: bytes, code: DefectCode, magic: int
) -> None:
    stored = compressed(content, Codec.GZIP)
    assert code_of(payload_wrapper(9, stored, magic, Codec.GZIP)) is code


@pytest.mark.parametrize("magic", [0, 1])
def test_wrapper_without_value_or_without_messages_is_malformed(magic: int) -> None:
    empty = compressed(b"", Codec.GZIP)
    assert code_of(payload_wrapper(0, None, magic, Codec.GZIP)) is MALFORMED
    assert code_of(payload_wrapper(0, empty, magic, Codec.GZIP)) is MALFORMED


@pytest.mark.parametrize("offset", [3, 0])
def test_wrapper_offset_below_its_messages_is_malformed(offset: int) -> None:
    stored = compressed(inner(0) + inner(4), Codec.GZIP)
    assert code_of(payload_wrapper(offset, stored, 1, Codec.GZIP)) is MALFORMED


def test_wrapper_whose_distance_to_its_last_message_is_no_offset_is_malformed() -> None:
    stored = compressed(inner(-(1 << 63)), Codec.GZIP)
    assert code_of(payload_wrapper(5, stored, 1, Codec.GZIP)) is MALFORMED


@pytest.mark.parametrize("offset", [3, 5, 0])
def test_wrapper_of_magic_0_has_the_offsets_of_its_messages(decoder: Decoder, offset: int) -> None:
    stored = compressed(inner(2, magic=0) + inner(4, magic=0), Codec.GZIP)
    found = decoded(decoder, payload_wrapper(offset, stored, 0, Codec.GZIP))
    assert [record.offset for record in found] == [2, 4]


@pytest.mark.parametrize("sound", [-1, 0])
def test_a_long_message_is_taken_if_its_checksum_is_known_to_be_valid(sound: int) -> None:
    """Else each of many false lengths would cost a checksum of all that lies behind it."""
    data = message_bytes(0, Record(None, bytes(LONG_MESSAGE_BYTES), 7), 1, 0)
    run = np.array((0, 0, -1, -1, -(1 << 63), 0, 0, 0), np.int64)
    scan_messages(np.frombuffer(data, np.uint8), data[16], data[17], 1 << 62, True, sound, run)
    assert run[0] == (len(data) if sound == 0 else 0)
