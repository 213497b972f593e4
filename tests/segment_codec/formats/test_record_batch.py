"""Record batches (magic 2), decoded by the plain and by the compiled decoder alike."""

import pytest

from seglake.segment_codec.formats.record import Record as Found
from seglake.segment_codec.formats.record_batch import RecordBatch
from support.decoders import ANY_SIZE, Decoder, decoded
from support.encoder import (
    Codec,
    ControlType,
    Header,
    Record,
    end_marker,
    payload_batch,
    record_batch,
    record_bytes,
)
from support.walks import sound_unit

T = 1_500_000_000_000


@pytest.mark.parametrize(
    "headers",
    [
        ((b"", b""),),
        ((b"", None), (b"", b""), (b"", None)),
        ((b"again", b"1"), (b"again", b"2"), (b"again", b"1")),
        ((b"\xff\xfe no text", b"\xff"),),
        ((b"long" * 100, b"value" * 1000), (b"", None)),
        tuple((b"%d" % i, None if i % 3 else b"v" * i) for i in range(200)),
    ],
    ids=["empty", "empty_and_null", "duplicates", "no_utf8", "long", "many"],
)
def test_headers_keep_order_duplicates_and_nulls(
    decoder: Decoder, headers: tuple[tuple[bytes, bytes | None], ...]
) -> None:
    records = [Record(b"a", b"b", T), Record(None, None, T, headers), Record(b"c", b"", T)]
    found = decoded(decoder, record_batch(0, records))
    assert [record.headers for record in found] == [(), headers, ()]


def test_append_time_of_a_batch_replaces_every_record_time(decoder: Decoder) -> None:
    records = [Record(None, b"a", 5), Record(None, b"b", 9)]
    batch = record_batch(0, records, Header(log_append_time_ms=T))
    assert [record.timestamp_ms for record in decoded(decoder, batch)] == [T, T]


def test_delete_horizon_is_what_deltas_are_against(decoder: Decoder) -> None:
    records = [Record(b"a", None, T - 86_400_000), Record(b"b", None, T)]
    batch = record_batch(0, records, Header(delete_horizon_ms=T + 1000))
    unit = sound_unit(batch)
    assert isinstance(unit, RecordBatch)
    assert unit.header.has_delete_horizon
    assert [record.timestamp_ms for record in decoder(unit, ANY_SIZE)] == [T - 86_400_000, T]


@pytest.mark.parametrize(
    ("base_ms", "delta_ms", "expected_ms"),
    [
        (2**63 - 1, 1, -(2**63)),
        (-(2**63), -1, 2**63 - 1),
        (2**63 - 1, 2**63 - 1, -2),
        (-(2**63), -(2**63), 0),
        (T, -T - 1, -1),
    ],
)
def test_timestamps_wrap_around_as_in_java(
    decoder: Decoder, base_ms: int, delta_ms: int, expected_ms: int
) -> None:
    payload = record_bytes(Record(None, b"v"), 0, delta_ms)
    batch = payload_batch(0, payload, Header(base_timestamp_ms=base_ms, record_count=1))
    assert [record.timestamp_ms for record in decoded(decoder, batch)] == [expected_ms]


def test_attributes_of_a_record_are_not_looked_at(decoder: Decoder) -> None:
    payload = bytearray(record_bytes(Record(None, b"v"), 0, 0))
    payload[1] = 0xFF
    batch = payload_batch(0, bytes(payload), Header(record_count=1, base_timestamp_ms=3))
    assert decoded(decoder, batch) == [Found(0, 3, None, b"v", ())]


def test_offsets_of_a_compacted_batch_have_holes(decoder: Decoder) -> None:
    records = [Record(b"a", b"1", T, offset=103), Record(b"b", b"2", T, offset=107)]
    batch = record_batch(100, records, Header(last_offset_delta=19))
    unit = sound_unit(batch, base_offset=100)
    assert (unit.first_offset, unit.last_offset) == (100, 119)
    assert [record.offset for record in decoder(unit, ANY_SIZE)] == [103, 107]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_empty_batch_has_no_records_whatever_its_codec(decoder: Decoder, codec: Codec) -> None:
    header = Header(last_offset_delta=4, record_count=0)
    assert decoded(decoder, payload_batch(0, b"", header, codec=codec)) == []


def test_marker_is_a_record_of_its_batch(decoder: Decoder) -> None:
    marker = end_marker(3, ControlType.ABORT, producer_id=9, coordinator_epoch=7, timestamp_ms=T)
    assert decoded(decoder, marker) == [Found(3, T, b"\0\0\0\0", b"\0\0\0\0\0\7", ())]
