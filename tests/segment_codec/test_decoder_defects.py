"""What is wrong inside a batch whose checksum holds: one code, the same from both decoders."""

import zlib

import pytest

from seglake.segment_codec.errors import DefectCode, DefectError
from seglake.segment_codec.message_set import MessageRun, Wrapper, body
from support.decoders import ANY_SIZE, DECODERS, Decoder, by_both
from support.encoder import (
    Codec,
    EncodedBatch,
    Header,
    Record,
    compressed,
    message_bytes,
    payload_batch,
    payload_wrapper,
    record_bytes,
    varint,
    wrapper,
)
from support.walks import sound_unit

MALFORMED = DefectCode.MALFORMED_RECORD
MISCOUNTED = DefectCode.RECORD_COUNT_MISMATCH
FAILED = DefectCode.DECOMPRESSION_FAILED
PLAIN = Record(b"k", b"v", 0, (("h", b"x"),))
NULL = varint(-1)
ENDLESS = b"\xff" * 11


def raw_record(*parts: bytes, length: int | None = None) -> bytes:
    """A record of these bytes behind its attributes."""
    content = b"\0" + b"".join(parts)
    return varint(len(content) if length is None else length) + content


def batch_of(payload: bytes, count: int, codec: int = 0, last_delta: int = 9) -> EncodedBatch:
    header = Header(record_count=count, last_offset_delta=last_delta)
    return payload_batch(0, payload, header, codec=codec)


def code_of(batch: EncodedBatch | bytes, max_bytes: int = ANY_SIZE) -> DefectCode:
    outcome = by_both(sound_unit(batch), max_bytes)
    assert isinstance(outcome, DefectError), outcome
    return outcome.code


ONE = record_bytes(PLAIN, 0, 0)
TWO = record_bytes(PLAIN, 1, 0)
START = varint(0) + varint(0)  # timestamp and offset delta
BROKEN_RECORDS: dict[str, bytes] = {
    "length_endless": ENDLESS,
    "length_cut": b"\x80" * 4 + bytes(3),
    "length_negative": varint(-1) + bytes(8),
    "length_too_small": varint(5) + bytes(8),
    "length_past_end": raw_record(START, NULL, NULL, varint(0), length=7),
    "length_huge": varint(2**31 - 1) + bytes(8),
    "timestamp_endless": raw_record(ENDLESS),
    "timestamp_cut": raw_record(b"\x80" * 6),
    "offset_endless": raw_record(varint(0), ENDLESS),
    "offset_cut": raw_record(b"\0", b"\x80" * 4),
    "offset_negative": raw_record(varint(0), varint(-1), NULL, NULL, varint(0)),
    "offset_above_last": raw_record(varint(0), varint(10), NULL, NULL, varint(0)),
    "key_endless": raw_record(START, ENDLESS),
    "key_too_long": raw_record(START, varint(4), NULL, varint(0)),
    "key_huge": raw_record(START, varint(2**31 - 1), NULL, varint(0)),
    "value_cut": raw_record(START, NULL, b"\x80", b"\x80"),
    "value_endless": raw_record(START, NULL, ENDLESS),
    "value_too_long": raw_record(START, NULL, varint(2), varint(0)),
    "value_huge": raw_record(START, NULL, varint(2**31 - 1), varint(0)),
    "headers_missing": raw_record(START, varint(0), varint(1), b"v"),
    "headers_endless": raw_record(START, NULL, NULL, ENDLESS),
    "headers_negative": raw_record(START, NULL, NULL, varint(-1)),
    "headers_too_many": raw_record(START, NULL, NULL, varint(3), b"\0\0"),
    "headers_huge": raw_record(START, NULL, NULL, varint(2**31 - 1), bytes(40)),
    "header_cut": raw_record(START, NULL, NULL, varint(1), varint(0)),
    "header_key_null": raw_record(START, NULL, NULL, varint(1), NULL, NULL),
    "header_key_endless": raw_record(START, NULL, NULL, varint(1), ENDLESS),
    "header_key_too_long": raw_record(START, NULL, NULL, varint(1), varint(2), b"h"),
    "header_value_endless": raw_record(START, NULL, NULL, varint(1), varint(0), ENDLESS),
    "header_value_too_long": raw_record(START, NULL, NULL, varint(1), varint(0), varint(1)),
    "rest": raw_record(START, NULL, NULL, varint(0), b"\0"),
    "varint_of_six_bytes": raw_record(varint(0), b"\x80" * 5 + b"\0", NULL, NULL, varint(0)),
}


@pytest.mark.parametrize("record", BROKEN_RECORDS.values(), ids=BROKEN_RECORDS.keys())
def test_record_that_does_not_parse_is_malformed(record: bytes) -> None:
    assert code_of(batch_of(record, 1)) is MALFORMED
    # Behind a sound one, and before one whose bytes a wrong length would run into.
    behind = record if record != BROKEN_RECORDS["offset_negative"] else ONE
    assert code_of(batch_of(ONE + behind + ONE, 3)) is MALFORMED


@pytest.mark.parametrize("deltas", [(0, 0), (3, 2), (0, 5, 5), (1, 2, 10)], ids=str)
def test_offsets_that_do_not_rise_within_the_batch_are_malformed(deltas: tuple[int, ...]) -> None:
    payload = b"".join(record_bytes(PLAIN, delta, 0) for delta in deltas)
    assert code_of(batch_of(payload, len(deltas))) is MALFORMED


@pytest.mark.parametrize(
    ("payload", "count"),
    [
        (ONE, 0),
        (ONE, 2),
        (ONE + TWO, 1),
        (ONE + TWO, 3),
        (ONE + b"\0", 1),
        (b"", 1),
        (b"", 2**31 - 1),
        (ONE, -1),
        (ONE, 2**31 - 1),
        (ONE, -(2**31)),
        (bytes(6), 1),
    ],
)
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_count_that_the_payload_is_not_is_a_mismatch(
    payload: bytes, count: int, codec: Codec
) -> None:
    assert code_of(batch_of(compressed(payload, codec), count, codec)) is MISCOUNTED


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_unknown_codec_in_a_batch(codec: int) -> None:
    assert code_of(batch_of(ONE, 1, codec)) is DefectCode.UNSUPPORTED_CODEC


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [4, 5, 6, 7])
def test_unknown_codec_in_a_wrapper(codec: int, magic: int) -> None:
    assert code_of(payload_wrapper(0, ONE, magic, codec)) is DefectCode.UNSUPPORTED_CODEC


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
    "offsets_equal": (SOUND + SOUND, MALFORMED),
    "offsets_fall": (inner(3) + inner(1), MALFORMED),
    "offset_negative": (inner(-1) + inner(9), MALFORMED),
}


@pytest.mark.parametrize(("content", "code"), BROKEN_SETS.values(), ids=BROKEN_SETS.keys())
@pytest.mark.parametrize("magic", [0, 1])
def test_defect_inside_a_wrapper_condemns_the_wrapper(
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


@pytest.mark.parametrize("offset", [3, 5, 0])
def test_wrapper_of_magic_0_has_the_offset_of_its_last_message(offset: int) -> None:
    stored = compressed(inner(2, magic=0) + inner(4, magic=0), Codec.GZIP)
    assert code_of(payload_wrapper(offset, stored, 0, Codec.GZIP)) is MALFORMED


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
@pytest.mark.parametrize("decoder", DECODERS.values(), ids=DECODERS.keys())
def test_payload_that_does_not_decompress(decoder: Decoder, codec: Codec) -> None:
    stored = compressed(ONE * 50, codec)
    for broken in (stored[:-5], b"\xfe" * 40, stored[:1]):
        with pytest.raises(DefectError) as caught:
            decoder(sound_unit(batch_of(broken, 50, codec)), ANY_SIZE)
        assert caught.value.code is FAILED


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_limit_is_exact_in_both_decoders(codec: Codec) -> None:
    payload = record_bytes(Record(None, b"v" * 5000), 0, 0)
    batch = batch_of(compressed(payload, codec), 1, codec, last_delta=0)
    assert code_of(batch, len(payload) - 1) is DefectCode.DECOMPRESSION_LIMIT
    assert by_both(sound_unit(batch), len(payload)) == by_both(sound_unit(batch))


def test_limit_is_for_wrappers_too() -> None:
    batch = wrapper(0, [Record(None, b"v" * 5000)], 1, Codec.GZIP)
    assert code_of(batch, 5000) is DefectCode.DECOMPRESSION_LIMIT


@pytest.mark.parametrize(
    ("batch", "code"),
    [
        (batch_of(b"junk", -5, codec=6), DefectCode.UNSUPPORTED_CODEC),
        (batch_of(b"junk", -5, codec=1), FAILED),
        (batch_of(compressed(bytes(99), Codec.GZIP), -5, codec=1), MISCOUNTED),
        (batch_of(BROKEN_RECORDS["rest"] + ONE, 1), MALFORMED),
        (batch_of(ONE + BROKEN_RECORDS["rest"], 1), MISCOUNTED),
    ],
    ids=["codec_first", "stream_second", "count_before_records", "records_in_order", "rest_last"],
)
def test_of_two_faults_the_earlier_check_gives_the_code(
    batch: EncodedBatch, code: DefectCode
) -> None:
    assert code_of(batch) is code


def test_limit_is_met_before_the_count_is_compared() -> None:
    batch = batch_of(compressed(bytes(5000), Codec.GZIP), -1, Codec.GZIP)
    assert code_of(batch, 4999) is DefectCode.DECOMPRESSION_LIMIT


@pytest.mark.parametrize("decoder", DECODERS.values(), ids=DECODERS.keys())
def test_what_is_no_unit_is_a_bad_call(decoder: Decoder) -> None:
    with pytest.raises(TypeError):
        decoder("no unit", ANY_SIZE)  # type: ignore[arg-type]  # the point of the test


def test_units_of_old_formats_are_told_apart() -> None:
    assert isinstance(sound_unit(inner()), MessageRun)
    assert isinstance(sound_unit(wrapper(0, [PLAIN], 1, Codec.GZIP)), Wrapper)


def test_key_and_value_of_one_message() -> None:
    for magic in (0, 1):
        key, value = body(memoryview(inner(0, magic)), magic)
        assert (key and bytes(key), value and bytes(value)) == (b"k", b"v")
