"""What is in a sound batch, decoded by the plain and by the compiled decoder alike."""

import zlib

import pytest

from seglake.segment_codec.message_set import MessageRun, Wrapper
from seglake.segment_codec.record import Record as Found
from seglake.segment_codec.record import RecordHeader
from seglake.segment_codec.record_batch import RecordBatch
from support.decoders import ANY_SIZE, DECODERS, Decoder
from support.encoder import (
    Codec,
    ControlType,
    EncodedBatch,
    Header,
    Record,
    compressed,
    end_marker,
    message,
    message_bytes,
    messages,
    payload_batch,
    payload_wrapper,
    record_batch,
    record_bytes,
    wrapper,
)
from support.walks import laid_out, sound_unit, sound_units

T = 1_500_000_000_000
VECTORS = bytes.fromhex(
    "000000000000000700000010fd6ebddb0000ffffffff000000026869"
    "00000000000000080000001771bb6a1601000000015d3ef79800000000016bffffffff"
    "000000000000000900000048000000030233fd11760000000000010000015d3ef79800"
    "0000015d3ef79805ffffffffffffffffffffffffffff000000021e000000026b027604026801026802780c"
    "000a02010100"
    "000000000000000b000000310000000302cbfbe5f2000000000004ffffffffffffffff0000015d3ef79809"
    "00000000000003e800000000001100000000"
    "000000000000001000000042000000030261dbe0df0030000000000000015d3ef7980a0000015d3ef7980a"
    "00000000000003e80000ffffffff000000012000000008000000010c00000000000200"
)


@pytest.fixture(params=list(DECODERS.values()), ids=list(DECODERS))
def decoder(request: pytest.FixtureRequest) -> Decoder:
    found: Decoder = request.param
    return found


def decoded(decoder: Decoder, batch: EncodedBatch | bytes, base_offset: int = 0) -> list[Found]:
    return decoder(sound_unit(batch, base_offset), ANY_SIZE)


def test_vectors_of_all_formats_in_one_segment(decoder: Decoder) -> None:
    assert len(VECTORS) == 286
    units = sound_units(VECTORS, base_offset=7)
    assert [type(unit) for unit in units] == [MessageRun, MessageRun, *[RecordBatch] * 3]
    assert [(unit.first_offset, unit.last_offset) for unit in units] == [
        (7, 7),
        (8, 8),
        (9, 10),
        (11, 15),
        (16, 16),
    ]
    assert [decoder(unit, ANY_SIZE) for unit in units] == [
        [Found(7, -1, None, b"hi", ())],
        [Found(8, T, b"k", None, ())],
        [
            Found(9, T, b"k", b"v", (RecordHeader(b"h", None), RecordHeader(b"h", b"x"))),
            Found(10, T + 5, None, None, ()),
        ],
        [],
        [Found(16, T + 10, b"\0\0\0\1", b"\0\0\0\0\0\2", ())],
    ]


@pytest.mark.parametrize(
    ("batch", "size_bytes"),
    [
        (message(0, Record(b"key", b"value"), 0), 34),
        (message(0, Record(None, b"value"), 0), 31),
        (message(0, Record(b"key", b"value", T), 1), 42),
        (message(0, Record(None, b"value", T), 1), 39),
        (record_batch(0, [Record(b"key", b"value", T)]), 76),
        (record_batch(0, [Record(None, b"value", T)]), 73),
        (record_batch(0, [Record(None, b"value%d" % i, T) for i in range(10)]), 191),
    ],
    ids=["v0", "v0_no_key", "v1", "v1_no_key", "v2", "v2_no_key", "v2_ten"],
)
def test_worked_examples_are_read_whole(
    decoder: Decoder, batch: EncodedBatch, size_bytes: int
) -> None:
    unit = sound_unit(batch)
    assert unit.size_bytes == size_bytes
    assert {record.value[:5] for record in decoder(unit, ANY_SIZE) if record.value} == {b"value"}


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("key", [None, b"", b"k", b"twelve bytes", b"thirteen byte", b"x" * 300])
def test_null_empty_short_and_long_fields_are_told_apart(
    decoder: Decoder, magic: int, key: bytes | None
) -> None:
    records = [Record(key, None, T), Record(None, key, T), Record(key, key, T)]
    batches = messages(0, records, magic) if magic < 2 else [record_batch(0, records)]
    found = decoded(decoder, laid_out(*batches))
    assert [(each.key, each.value) for each in found] == [(key, None), (None, key), (key, key)]


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
    assert [each.headers for each in found] == [(), headers, ()]


def test_append_time_of_a_batch_replaces_every_record_time(decoder: Decoder) -> None:
    records = [Record(None, b"a", 5), Record(None, b"b", 9)]
    batch = record_batch(0, records, Header(log_append_time_ms=T))
    assert [each.timestamp_ms for each in decoded(decoder, batch)] == [T, T]


def test_append_time_of_a_wrapper_replaces_every_inner_time(decoder: Decoder) -> None:
    records = [Record(None, b"a", 5), Record(None, b"b", 9)]
    batch = wrapper(0, records, 1, Codec.GZIP, log_append_time_ms=T)
    assert [each.timestamp_ms for each in decoded(decoder, batch)] == [T, T]


def test_append_time_bit_of_an_inner_message_is_ignored(decoder: Decoder) -> None:
    inner = message_bytes(0, Record(None, b"a", 5), 1, attributes=8)
    batch = payload_wrapper(0, compressed_set(inner), 1, Codec.GZIP, timestamp_ms=T)
    assert [each.timestamp_ms for each in decoded(decoder, batch)] == [5]


def test_create_times_of_a_wrapper_are_those_of_its_messages(decoder: Decoder) -> None:
    records = [Record(None, b"a", T + 3), Record(None, b"b", T - 4)]
    found = decoded(decoder, wrapper(0, records, 1, Codec.SNAPPY))
    assert [each.timestamp_ms for each in found] == [T + 3, T - 4]


def test_delete_horizon_is_what_deltas_are_against(decoder: Decoder) -> None:
    records = [Record(b"a", None, T - 86_400_000), Record(b"b", None, T)]
    batch = record_batch(0, records, Header(delete_horizon_ms=T + 1000))
    unit = sound_unit(batch)
    assert isinstance(unit, RecordBatch)
    assert unit.header.has_delete_horizon
    assert [each.timestamp_ms for each in decoder(unit, ANY_SIZE)] == [T - 86_400_000, T]


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
    assert [each.timestamp_ms for each in decoded(decoder, batch)] == [expected_ms]


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
    assert [each.offset for each in decoder(unit, ANY_SIZE)] == [103, 107]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_empty_batch_has_no_records_whatever_its_codec(decoder: Decoder, codec: Codec) -> None:
    header = Header(last_offset_delta=4, record_count=0)
    assert decoded(decoder, payload_batch(0, b"", header, codec=codec)) == []


def test_marker_is_a_record_of_its_batch(decoder: Decoder) -> None:
    marker = end_marker(3, ControlType.ABORT, producer_id=9, coordinator_epoch=7, timestamp_ms=T)
    assert decoded(decoder, marker) == [Found(3, T, b"\0\0\0\0", b"\0\0\0\0\0\7", ())]


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_inner_offsets_are_absolute_in_magic_0(decoder: Decoder, codec: Codec) -> None:
    records = [Record(None, b"a", offset=41), Record(None, b"b", offset=45)]
    assert offsets(decoder, wrapper(40, records, 0, codec)) == [41, 45]


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_inner_offsets_are_relative_in_magic_1(decoder: Decoder, codec: Codec) -> None:
    records = [Record(None, b"abc"[i : i + 1], T) for i in range(3)]
    assert offsets(decoder, wrapper(40, records, 1, codec)) == [40, 41, 42]


@pytest.mark.parametrize("inner", [(0, 3, 7), (2, 3, 7), (5,), (0,)], ids=str)
def test_offsets_of_a_compacted_wrapper_count_back_from_the_last(
    decoder: Decoder, inner: tuple[int, ...]
) -> None:
    records = [Record(None, b"v", T, offset=1000 + delta) for delta in inner]
    assert offsets(decoder, wrapper(1000, records, 1, Codec.GZIP)) == [1000 + i for i in inner]


def test_magic_0_inside_magic_1_is_relative_and_has_no_time(decoder: Decoder) -> None:
    records = [Record(None, b"a", T), Record(None, b"b", T)]
    found = decoded(decoder, wrapper(70, records, 1, Codec.GZIP, inner_magic=0))
    assert [(each.offset, each.timestamp_ms) for each in found] == [(70, -1), (71, -1)]


def test_magic_0_inside_magic_1_has_the_append_time(decoder: Decoder) -> None:
    records = [Record(None, b"a"), Record(None, b"b")]
    batch = wrapper(70, records, 1, Codec.GZIP, inner_magic=0, log_append_time_ms=T)
    assert [each.timestamp_ms for each in decoded(decoder, batch)] == [T, T]


def test_magic_1_inside_magic_0_is_absolute_and_has_its_time(decoder: Decoder) -> None:
    set_of = message_bytes(7, Record(None, b"v", T), 1)
    found = decoded(decoder, payload_wrapper(7, compressed_set(set_of), 0, Codec.GZIP))
    assert [(each.offset, each.timestamp_ms) for each in found] == [(7, T)]


def test_run_of_append_time_messages_keeps_each_time(decoder: Decoder) -> None:
    parts = [message(i, Record(None, b"v"), 1, log_append_time_ms=T + i) for i in range(3)]
    unit = sound_unit(laid_out(*parts))
    assert isinstance(unit, MessageRun)
    assert unit.is_log_append_time
    assert unit.max_timestamp_ms == T + 2
    assert [each.timestamp_ms for each in decoder(unit, ANY_SIZE)] == [T, T + 1, T + 2]


def test_negative_lengths_are_null_in_old_messages(decoder: Decoder) -> None:
    body = bytes([0, 0]) + (-7).to_bytes(4, "big", signed=True) + b"\x80\0\0\0"
    found = decoded(decoder, checked_message(3, body))
    assert [(each.key, each.value) for each in found] == [(None, None)]


def test_wrapper_may_have_a_key(decoder: Decoder) -> None:
    inner = message_bytes(0, Record(None, b"v", T), 1)
    outer = message_bytes(5, Record(b"key", compressed_set(inner), T), 1, attributes=Codec.GZIP)
    unit = sound_unit(outer)
    assert isinstance(unit, Wrapper)
    assert [each.offset for each in decoder(unit, ANY_SIZE)] == [5]


def offsets(decoder: Decoder, batch: EncodedBatch) -> list[int]:
    return [each.offset for each in decoded(decoder, batch)]


def compressed_set(content: bytes) -> bytes:
    return compressed(content, Codec.GZIP)


def checked_message(offset: int, body: bytes) -> bytes:
    crc = zlib.crc32(body).to_bytes(4, "big")
    return offset.to_bytes(8, "big") + (4 + len(body)).to_bytes(4, "big") + crc + body
