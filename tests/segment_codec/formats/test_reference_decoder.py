"""Any records, in any format and codec, come back as they were written, from its twin too."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seglake.segment_codec.formats.record import Record as Found
from seglake.segment_codec.formats.record import RecordHeader
from support.decoders import ANY_SIZE, DECODERS, Decoder, by_both
from support.encoder import Codec, Header, Record, SnappyLayout, messages, record_batch, wrapper
from support.walks import laid_out, sound_unit

MORE = settings(max_examples=150)
TIMES = st.integers(-(1 << 63), (1 << 63) - 1)
FIELDS = (
    st.none() | st.binary(max_size=40) | st.sampled_from([b"", b"x" * 12, b"y" * 13, b"z" * 70_000])
)
HEADER = st.tuples(st.binary(max_size=9), st.none() | st.binary(max_size=9))


@st.composite
def records(draw: st.DrawFn, first_offset: int = 0) -> list[Record]:
    """With holes between the offsets."""
    offset = first_offset + draw(st.integers(0, 3))
    found = []
    for _ in range(draw(st.integers(1, 6))):
        headers = tuple(draw(st.lists(HEADER, max_size=3)))
        found.append(Record(draw(FIELDS), draw(FIELDS), draw(TIMES), headers, offset))
        offset += draw(st.sampled_from([1, 1, 1, 2, 100, 100_000]))
    return found


OLD_CODECS = st.sampled_from([Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
LAYOUTS = st.sampled_from(list(SnappyLayout))
BASES = st.sampled_from([0, 1, 12_345, (1 << 40) + 1])


def expected(
    written: list[Record], magic: int, shift: int, time_ms: int | None = None
) -> list[Found]:
    return [
        Found(
            record.offset + shift,
            -1 if magic == 0 else record.timestamp_ms if time_ms is None else time_ms,
            record.key,
            record.value,
            tuple(RecordHeader(*header) for header in record.headers) if magic == 2 else (),  # type: ignore[arg-type]  # bytes in this file
        )
        for record in written
        if record.offset is not None
    ]


@MORE
@given(records(), st.sampled_from(list(Codec)), LAYOUTS, BASES, st.none() | TIMES)
def test_record_batch(
    written: list[Record], codec: Codec, layout: SnappyLayout, base: int, time_ms: int | None
) -> None:
    moved = [record._replace(offset=(record.offset or 0) + base) for record in written]
    # Deltas of 64 bits wrap around; the encoder does not, so it gets times whose deltas fit.
    near = [record._replace(timestamp_ms=record.timestamp_ms >> 1) for record in moved]
    header = Header(base_timestamp_ms=0, log_append_time_ms=time_ms)
    batch = record_batch(base, near, header, codec=codec, snappy_layout=layout)
    assert by_both(sound_unit(batch, base)) == expected(near, 2, 0, time_ms)


@MORE
@given(records(), st.sampled_from([0, 1]), BASES)
def test_plain_messages(written: list[Record], magic: int, base: int) -> None:
    moved = [record._replace(offset=(record.offset or 0) + base) for record in written]
    unit = sound_unit(laid_out(*messages(base, moved, magic)), base)
    assert by_both(unit) == expected(moved, magic, 0)


@MORE
@given(records(), st.sampled_from([0, 1]), OLD_CODECS, LAYOUTS, BASES, st.none() | TIMES)
def test_wrapper(
    written: list[Record],
    magic: int,
    codec: Codec,
    layout: SnappyLayout,
    base: int,
    time_ms: int | None,
) -> None:
    time_ms = None if magic == 0 else time_ms
    moved = [record._replace(offset=(record.offset or 0) + base) for record in written]
    batch = wrapper(base, moved, magic, codec, log_append_time_ms=time_ms, snappy_layout=layout)
    assert by_both(sound_unit(batch, base)) == expected(moved, magic, 0, time_ms)


@pytest.mark.parametrize("decoder", DECODERS.values(), ids=DECODERS.keys())
def test_what_is_no_unit_is_a_bad_call(decoder: Decoder) -> None:
    with pytest.raises(TypeError):
        decoder("no unit", ANY_SIZE)  # type: ignore[arg-type]  # the point of the test
