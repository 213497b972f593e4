"""What is in a valid batch, decoded by the plain and by the compiled decoder alike."""

import pytest

from seglake.segment_codec.formats.message_set import MessageRun
from seglake.segment_codec.formats.record import Record as Found
from seglake.segment_codec.formats.record import RecordHeader
from seglake.segment_codec.formats.record_batch import RecordBatch
from support.decoders import ANY_SIZE, Decoder, decoded
from support.encoder import EncodedBatch, Record, message, messages, record_batch
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
def test_null_empty_short_and_long_fields_are_distinguished(
    decoder: Decoder, magic: int, key: bytes | None
) -> None:
    records = [Record(key, None, T), Record(None, key, T), Record(key, key, T)]
    batches = messages(0, records, magic) if magic < 2 else [record_batch(0, records)]
    found = decoded(decoder, laid_out(*batches))
    assert [(record.key, record.value) for record in found] == [
        (key, None),
        (None, key),
        (key, key),
    ]
