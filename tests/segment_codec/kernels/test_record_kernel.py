"""Damage inside a record batch: one code, the same from the kernel and from the plain decoder."""

import pytest

from seglake.segment_codec.formats.errors import DefectCode
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.formats.reference_decoder import given_records
from seglake.segment_codec.kernels.columns import ColumnBuilder
from seglake.segment_codec.kernels.outcomes import UnitOutcome
from support.decoders import ANY_SIZE, HIGHEST, LOWEST, by_both, code_of, records_of
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
from support.walks import sound_unit

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
SMALLEST = record_bytes(Record(None, None), 0, 0)
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
    assert code_of(batch_of(ONE + record + ONE, 3)) is MALFORMED


@pytest.mark.parametrize(
    ("deltas", "given"),
    [
        ((0, 0), [0]),
        ((3, 2), [3]),
        ((0, 5, 5, 6), [0, 5, 6]),
        ((1, 2, 10), [1, 2, 10]),
        ((-2, -1, 0), [-2, -1, 0]),
        ((4, -1, 3, 5), [4, 5]),
    ],
    ids=str,
)
@pytest.mark.parametrize("last_delta", [0, 9, -1, -(2**31)])
def test_record_at_an_offset_that_was_given_is_skipped(
    deltas: tuple[int, ...], given: list[int], last_delta: int
) -> None:
    payload = b"".join(record_bytes(PLAIN, delta, 0) for delta in deltas)
    records = by_both(sound_unit(batch_of(payload, len(deltas), last_delta=last_delta)))
    assert isinstance(records, list)
    assert [record.offset for record in records] == given


@pytest.mark.parametrize(
    ("count", "deltas", "given", "next_offset"),
    [
        (4, (0, 1, 2), [0, 1, 2], 10),
        (2**31 - 1, (0, 1, 2), [0, 1, 2], 10),
        (9, (0, 12), [0, 12], 13),
        (2, (0, 1, 2), [0], 1),
        (3, (5, 5, 6, 7), [5], 6),
        (1, (0, 1, 2), [], None),
        (0, (0, 1, 2), [], None),
    ],
    ids=str,
)
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_rows_before_a_wrong_count_are_given(
    count: int, deltas: tuple[int, ...], given: list[int], next_offset: int | None, codec: Codec
) -> None:
    payload = b"".join(record_bytes(PLAIN, delta, 0) for delta in deltas)
    unit = sound_unit(batch_of(compressed(payload, codec), count, codec))
    assert isinstance(unit, RecordBatch)
    records, error = given_records(unit, ANY_SIZE)
    assert (error is None, [record.offset for record in records]) == (False, given)
    builder = ColumnBuilder(ANY_SIZE)
    builder.add(unit, LOWEST, HIGHEST)
    columns, (outcome,) = builder.flush()
    assert isinstance(outcome, UnitOutcome)
    assert outcome.fault is not None
    assert outcome.fault[0] is MISCOUNTED
    assert records_of(columns) == records
    assert (outcome.is_kept, outcome.row_stop) == (bool(given), len(given))
    assert next_offset is None or outcome.next_offset == next_offset


@pytest.mark.parametrize(
    ("payload", "count"),
    [
        (ONE, 0),
        (ONE, 2),
        (ONE + TWO, 1),
        (ONE + TWO, 3),
        (ONE + b"\0", 1),
        (b"", 1),
        (b"", -1),
        (b"", 2**31 - 1),
        (ONE, -1),
        (ONE, 2**31 - 1),
        (ONE, -(2**31)),
        (SMALLEST, 2),
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
