"""Damage inside a record batch: one code, the same from the kernel and from the plain decoder."""

import pytest

from seglake.segment_codec.errors import DefectCode
from support.decoders import code_of
from support.encoder import (
    Codec,
    EncodedBatch,
    Header,
    Record,
    compressed,
    payload_batch,
    record_bytes,
    varint,
)

FAILED = DefectCode.DECOMPRESSION_FAILED

MALFORMED = DefectCode.MALFORMED_RECORD
MISCOUNTED = DefectCode.RECORD_COUNT_MISMATCH
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
    # After a valid one, and before one whose bytes a wrong length would run into.
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
