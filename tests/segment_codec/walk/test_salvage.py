"""What still decodes of a batch whose checksum is wrong. Expected records are those encoded."""

import random

import pytest

from seglake.segment_codec.formats.errors import DefectError
from seglake.segment_codec.formats.flipped_bit import FlippedBit, with_flipped
from seglake.segment_codec.formats.record import Record as Found
from seglake.segment_codec.formats.record import RecordHeader
from seglake.segment_codec.walk.salvage import WholeBatch, whole_batch
from support.cases import cases
from support.decoders import ANY_SIZE, records_of
from support.encoder import (
    Codec,
    Header,
    Record,
    compressed,
    message,
    message_bytes,
    payload_batch,
    payload_wrapper,
    record_batch,
    wrapper,
)
from torture.hostile import bombs

TIME_MS = 1_700_000_000_000
OFFSET = 40
RECORDS = [
    Record(b"k%d" % i, b"a value of some length %d" % i, TIME_MS + i, (("h", b"x"),))
    for i in range(3)
]
BARE = [record._replace(headers=()) for record in RECORDS]
SETS = {
    f"v{magic}-{codec.name.lower()}": wrapper(OFFSET, BARE, magic, codec).data
    for magic in (0, 1)
    for codec in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4)
}
BATCHES = {
    "v0": message(OFFSET, BARE[0], 0).data,
    "v1": message(OFFSET, BARE[0], 1).data,
    **SETS,
    **{
        f"v2-{codec.name.lower()}": record_batch(OFFSET, RECORDS, codec=codec).data
        for codec in Codec
    },
}
BOMBS = {"snappy that claims 4 GiB", "zstd, blocks of one byte", "tiny records"}
CHECKSUM_PLACES = {"v0": range(12, 16), "v1": range(12, 16), "v2": range(17, 21)}


def expected(name: str) -> list[Found]:
    """The records that went into a batch."""
    count = 1 if name in ("v0", "v1") else 3
    return [
        Found(
            OFFSET + i,
            -1 if name.startswith("v0") else record.timestamp_ms,
            record.key,
            record.value,
            tuple(RecordHeader(b"h", b"x") for _ in record.headers if name.startswith("v2")),
        )
        for i, record in enumerate(RECORDS[:count])
    ]


def records(batch: WholeBatch) -> list[Found]:
    return records_of(batch.columns)


def salvaged(content: bytes) -> WholeBatch | None:
    try:
        return whole_batch(content, ANY_SIZE)
    except DefectError:
        return None


def differing_bytes(found: list[Found], original: list[Found]) -> int:
    """How many bytes of keys, values and headers differ, where they are as long as they were."""
    pairs = []
    for one, other in zip(found, original, strict=True):
        pairs += [(one.key, other.key), (one.value, other.value)]
        for of_one, of_other in zip(one.headers, other.headers, strict=True):
            pairs += [(of_one.key, of_other.key), (of_one.value, of_other.value)]
    return sum(
        a != b for of, wanted in pairs for a, b in zip(of or b"", wanted or b"", strict=True)
    )


@pytest.mark.parametrize("name", BATCHES)
def test_a_flip_in_the_checksum_leaves_every_record_as_it_was(name: str) -> None:
    for position in CHECKSUM_PLACES[name[:2]]:
        for bit in range(8):
            damaged = with_flipped(BATCHES[name], FlippedBit(position, bit))
            batch = whole_batch(damaged, ANY_SIZE)
            assert records(batch) == expected(name)
            assert batch.flipped == (position, bit)


@pytest.mark.parametrize("name", ["v0", "v1", "v2-none"])
def test_a_flip_in_a_value_changes_that_byte_and_nothing_else(name: str) -> None:
    value = RECORDS[0].value or b""
    start = BATCHES[name].index(value)
    for position in range(start, start + len(value)):
        batch = whole_batch(with_flipped(BATCHES[name], FlippedBit(position, 3)), ANY_SIZE)
        changed = bytearray(value)
        changed[position - start] ^= 1 << 3
        first, *rest = expected(name)
        assert records(batch) == [first._replace(value=bytes(changed)), *rest]


@pytest.mark.parametrize("name", BATCHES)
def test_each_flip_is_refused_or_decodes_whole_and_is_found(name: str) -> None:
    sound, original = BATCHES[name], expected(name)
    first = CHECKSUM_PLACES[name[:2]].start
    whole_count = 0
    for position in range(first, len(sound)):
        for bit in range(8):
            flipped = FlippedBit(position, bit)
            damaged = with_flipped(sound, flipped)
            batch = salvaged(damaged)
            if batch is None:
                continue
            whole_count += 1
            assert batch.flipped == flipped
            found = records(batch)
            assert len(found) == len(original)
            if "-" not in name or name == "v2-none":
                is_same_length = all(
                    len(one.value or b"") == len(other.value or b"")
                    and len(one.key or b"") == len(other.key or b"")
                    for one, other in zip(found, original, strict=True)
                )
                assert not is_same_length or differing_bytes(found, original) <= 1
            restored = whole_batch(with_flipped(damaged, flipped), ANY_SIZE)
            assert records(restored) == original
    assert whole_count >= 32


@pytest.mark.parametrize("name", SETS)
def test_messages_of_a_set_say_whether_their_own_checksums_hold(name: str) -> None:
    sound = SETS[name]
    for position in range(34, len(sound)):
        batch = salvaged(with_flipped(sound, FlippedBit(position, 0)))
        if batch is None:
            continue
        assert batch.has_right_checksum is not None
        for holds, found, original in zip(
            batch.has_right_checksum, records(batch), expected(name), strict=True
        ):
            if holds:  # no checksum covers the offset inside of a set
                assert found._replace(offset=original.offset) == original


def test_a_message_inside_of_a_set_is_given_at_the_offset_that_it_had() -> None:
    damaged = with_flipped(message_bytes(2, BARE[0], 1), FlippedBit(50, 1))
    batch = whole_batch(damaged, ANY_SIZE, inner_offset=OFFSET)
    assert [record.offset for record in records(batch)] == [OFFSET]


def test_log_append_time_and_transactions_are_read_from_the_header() -> None:
    header = Header(log_append_time_ms=TIME_MS + 90, is_transactional=True)
    damaged = with_flipped(record_batch(OFFSET, RECORDS, header).data, FlippedBit(18, 0))
    batch = whole_batch(damaged, ANY_SIZE)
    assert (batch.timestamp_type, batch.is_transactional) == (1, True)
    assert {record.timestamp_ms for record in records(batch)} == {TIME_MS + 90}


@pytest.mark.parametrize(
    ("what", "content"),
    [
        ("a count above", record_batch(OFFSET, RECORDS, Header(record_count=4)).data),
        ("a count below", record_batch(OFFSET, RECORDS, Header(record_count=2)).data),
        ("a count of none", record_batch(OFFSET, RECORDS, Header(record_count=0)).data),
        ("offsets above", record_batch(OFFSET, RECORDS, Header(last_offset_delta=1)).data),
        ("an end below", record_batch(OFFSET, RECORDS, Header(last_offset_delta=-1)).data),
        ("a control batch", record_batch(OFFSET, RECORDS, Header(is_control=True)).data),
        ("an offset below 0", record_batch(-5, RECORDS).data),
        ("bytes left over", BATCHES["v2-none"] + b"\0"),
        ("bytes that lack", BATCHES["v2-none"][:-1]),
        ("a message and a byte", BATCHES["v1"] + b"\0"),
        ("a cut message", BATCHES["v0"][:-1]),
        ("a header alone", BATCHES["v2-none"][:40]),
        ("few bytes", BATCHES["v0"][:16]),
        ("nothing", b""),
        ("another format", BATCHES["v2-none"][:16] + b"\x03" + BATCHES["v2-none"][17:]),
        ("no records", payload_batch(OFFSET, b"", Header()).data),
        ("an empty set", payload_wrapper(OFFSET, compressed(b"", Codec.GZIP), 1, 1).data),
        (
            "a set of v0 that claims another offset",
            payload_wrapper(
                OFFSET, compressed(message_bytes(3, BARE[0], 0), Codec.GZIP), 0, int(Codec.GZIP)
            ).data,
        ),
        (
            "offsets that do not rise",
            payload_wrapper(
                OFFSET,
                compressed(message_bytes(1, BARE[0], 1) * 2, Codec.GZIP),
                1,
                int(Codec.GZIP),
            ).data,
        ),
    ],
)
def test_what_is_not_whole_is_refused(what: str, content: bytes) -> None:
    with pytest.raises(DefectError):
        whole_batch(content, ANY_SIZE)


def test_a_set_above_the_limit_is_refused() -> None:
    large = [Record(None, bytes(100_000), TIME_MS)]
    for content in (
        record_batch(0, large, codec=Codec.ZSTD).data,
        wrapper(0, large, 1, Codec.GZIP).data,
    ):
        whole_batch(content, 200_000)
        with pytest.raises(DefectError):
            whole_batch(content, 50_000)


@pytest.mark.parametrize("name", cases(BATCHES, telling={"v0", "v1-gzip", "v2-none", "v2-zstd"}))
def test_hostile_bytes_raise_nothing_but_defects(name: str) -> None:
    drawn = random.Random(name)
    for _ in range(1500):
        content = bytearray(BATCHES[name])
        for _ in range(drawn.randrange(1, 8)):
            content[drawn.randrange(len(content))] = drawn.randrange(256)
        if drawn.random() < 0.2:
            content = content[: drawn.randrange(len(content))]
        salvaged(bytes(content))


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("name", cases(bombs.names(), telling=BOMBS))
def test_bombs_stay_below_the_limit(name: str, magic: int) -> None:
    """Their checksum is made wrong, so that nothing stands before the codec."""
    content = bytearray(bombs.made(name, magic)[8:])
    content[20 if content[16] == 2 else 15] ^= 1
    try:
        batch = whole_batch(bytes(content), 1 << 20)
    except DefectError:
        return
    assert batch.columns.data.nbytes <= max(1 << 20, len(content))
