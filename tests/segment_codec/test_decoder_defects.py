"""Payloads that do not decompress, or to too much: one code, the same from both decoders."""

import pytest

from seglake.segment_codec.formats.errors import DefectCode, DefectError
from support.decoders import ANY_SIZE, DECODERS, Decoder, by_both, code_of
from support.encoder import (
    Codec,
    EncodedBatch,
    Header,
    Record,
    compressed,
    payload_batch,
    payload_wrapper,
    record_bytes,
    wrapper,
)
from support.walks import sound_unit

FAILED = DefectCode.DECOMPRESSION_FAILED
PLAIN = Record(b"k", b"v", 0, (("h", b"x"),))


def batch_of(payload: bytes, count: int, codec: int = 0, last_delta: int = 9) -> EncodedBatch:
    header = Header(record_count=count, last_offset_delta=last_delta)
    return payload_batch(0, payload, header, codec=codec)


ONE = record_bytes(PLAIN, 0, 0)


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_unknown_codec_in_a_batch(codec: int) -> None:
    assert code_of(batch_of(ONE, 1, codec)) is DefectCode.UNSUPPORTED_CODEC


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [4, 5, 6, 7])
def test_unknown_codec_in_a_wrapper(codec: int, magic: int) -> None:
    assert code_of(payload_wrapper(0, ONE, magic, codec)) is DefectCode.UNSUPPORTED_CODEC


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


def test_limit_is_met_before_the_count_is_compared() -> None:
    batch = batch_of(compressed(bytes(5000), Codec.GZIP), -1, Codec.GZIP)
    assert code_of(batch, 4999) is DefectCode.DECOMPRESSION_LIMIT
