"""Messages and wrappers (magic 0 and 1), decoded by the plain and by the compiled decoder alike."""

import zlib

import pytest

from seglake.segment_codec.formats.message_set import MessageRun, Wrapper, body
from support.decoders import ANY_SIZE, Decoder, decoded
from support.encoder import (
    Codec,
    EncodedBatch,
    Record,
    compressed,
    message,
    message_bytes,
    payload_wrapper,
    wrapper,
)
from support.walks import laid_out, sound_unit

PLAIN = Record(b"k", b"v", 0, (("h", b"x"),))


def inner(offset: int = 0, magic: int = 1, attributes: int = 0) -> bytes:
    return message_bytes(offset, Record(b"k", b"v", 7), magic, attributes)


T = 1_500_000_000_000


def test_append_time_of_a_wrapper_replaces_every_inner_time(decoder: Decoder) -> None:
    records = [Record(None, b"a", 5), Record(None, b"b", 9)]
    batch = wrapper(0, records, 1, Codec.GZIP, log_append_time_ms=T)
    assert [record.timestamp_ms for record in decoded(decoder, batch)] == [T, T]


def test_append_time_bit_of_an_inner_message_is_ignored(decoder: Decoder) -> None:
    inner = message_bytes(0, Record(None, b"a", 5), 1, attributes=8)
    batch = payload_wrapper(0, compressed_set(inner), 1, Codec.GZIP, timestamp_ms=T)
    assert [record.timestamp_ms for record in decoded(decoder, batch)] == [5]


def test_create_times_of_a_wrapper_are_those_of_its_messages(decoder: Decoder) -> None:
    records = [Record(None, b"a", T + 3), Record(None, b"b", T - 4)]
    found = decoded(decoder, wrapper(0, records, 1, Codec.SNAPPY))
    assert [record.timestamp_ms for record in found] == [T + 3, T - 4]


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
    assert [(record.offset, record.timestamp_ms) for record in found] == [(70, -1), (71, -1)]


def test_magic_0_inside_magic_1_has_no_append_time(decoder: Decoder) -> None:
    records = [Record(None, b"a"), Record(None, b"b")]
    batch = wrapper(70, records, 1, Codec.GZIP, inner_magic=0, log_append_time_ms=T)
    assert [record.timestamp_ms for record in decoded(decoder, batch)] == [-1, -1]


def test_magic_1_inside_magic_0_is_absolute_and_has_its_time(decoder: Decoder) -> None:
    set_of = message_bytes(7, Record(None, b"v", T), 1)
    found = decoded(decoder, payload_wrapper(7, compressed_set(set_of), 0, Codec.GZIP))
    assert [(record.offset, record.timestamp_ms) for record in found] == [(7, T)]


def test_run_of_append_time_messages_keeps_each_time(decoder: Decoder) -> None:
    parts = [message(i, Record(None, b"v"), 1, log_append_time_ms=T + i) for i in range(3)]
    unit = sound_unit(laid_out(*parts))
    assert isinstance(unit, MessageRun)
    assert unit.is_log_append_time
    assert unit.max_timestamp_ms == T + 2
    assert [record.timestamp_ms for record in decoder(unit, ANY_SIZE)] == [T, T + 1, T + 2]


def test_negative_lengths_are_null_in_old_messages(decoder: Decoder) -> None:
    body = bytes([0, 0]) + (-7).to_bytes(4, "big", signed=True) + b"\x80\0\0\0"
    found = decoded(decoder, checked_message(3, body))
    assert [(record.key, record.value) for record in found] == [(None, None)]


def test_wrapper_may_have_a_key(decoder: Decoder) -> None:
    inner = message_bytes(0, Record(None, b"v", T), 1)
    outer = message_bytes(5, Record(b"key", compressed_set(inner), T), 1, attributes=Codec.GZIP)
    unit = sound_unit(outer)
    assert isinstance(unit, Wrapper)
    assert [record.offset for record in decoder(unit, ANY_SIZE)] == [5]


def offsets(decoder: Decoder, batch: EncodedBatch) -> list[int]:
    return [record.offset for record in decoded(decoder, batch)]


def compressed_set(content: bytes) -> bytes:
    return compressed(content, Codec.GZIP)


def checked_message(offset: int, body: bytes) -> bytes:
    crc = zlib.crc32(body).to_bytes(4, "big")
    return offset.to_bytes(8, "big") + (4 + len(body)).to_bytes(4, "big") + crc + body


def test_units_of_old_formats_are_distinguished() -> None:
    assert isinstance(sound_unit(inner()), MessageRun)
    assert isinstance(sound_unit(wrapper(0, [PLAIN], 1, Codec.GZIP)), Wrapper)


def test_key_and_value_of_one_message() -> None:
    for magic in (0, 1):
        key, value = body(memoryview(inner(0, magic)), magic)
        assert (key and bytes(key), value and bytes(value)) == (b"k", b"v")
