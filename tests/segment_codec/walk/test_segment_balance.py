"""Whatever happens to the bytes of a segment, each byte is in one item and no record is made up."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from seglake.segment_codec.formats.defects import Defect, Tail
from seglake.segment_codec.formats.errors import DefectCode
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.formats.units import Unit
from seglake.segment_codec.walk.segment import Item
from support.decoders import by_both
from support.encoder import (
    Codec,
    EncodedBatch,
    Header,
    Producer,
    Record,
    message,
    positions_of,
    record_batch,
    wrapper,
)
from support.walks import laid_out, sound_units, units_of, walked

NESTED_KEY = b"never written by itself"
_OFFSET_BYTES = 8


class DamageKind(StrEnum):
    FLIP = "flip"
    ZERO = "zero"
    CUT = "cut"
    INSERT = "insert"


class Damage(NamedTuple):
    """One blow; `place` is a fraction of the bytes that are there when it falls."""

    kind: DamageKind
    place: float
    content: bytes


@dataclass(frozen=True, slots=True)
class Damaged:
    """A segment after the blows, and where each batch that was not touched lies now."""

    content: bytes
    intact: tuple[tuple[int, EncodedBatch], ...]


def damages(largest_bytes: int = 120) -> st.SearchStrategy[Damage]:
    """Anything that happens to bytes: changed bits, zeros, lost and foreign bytes."""
    return st.builds(
        Damage,
        st.sampled_from(list(DamageKind)),
        st.floats(0, 1, exclude_max=True),
        st.binary(min_size=1, max_size=largest_bytes),
    )


@st.composite
def segments(draw: st.DrawFn, most_batches: int = 8) -> list[EncodedBatch]:
    """Batches of all formats with rising offsets; each value is found in no other record."""
    batches: list[EncodedBatch] = []
    offset = draw(st.sampled_from([0, 0, 5, 1000, 1 << 33]))
    serial = 0
    for _ in range(draw(st.integers(1, most_batches))):
        offset += draw(st.sampled_from([0, 0, 0, 1, 7]))
        records = []
        for _ in range(draw(st.integers(1, 4))):
            serial += 1
            filling = draw(st.sampled_from([b"", bytes(30), b"\0\0\0\1" * 9, b"text " * 9, None]))
            value = nested(offset, serial) if filling is None else b"%d|" % serial + filling
            records.append(Record(draw(st.sampled_from([None, b"k"])), value))
        batches += _batches(draw, offset, records)
        offset = batches[-1].next_offset
    return batches


def nested(offset: int, serial: int) -> bytes:
    """A whole batch, itself a value, that would continue the log it is in."""
    return record_batch(offset + 1, [Record(NESTED_KEY, b"%d" % serial)]).data


def struck(batches: Sequence[EncodedBatch], blows: Sequence[Damage], *, spare: bool) -> Damaged:
    """Lay the batches out and let the blows fall.

    Args:
        spare: leave the offset fields alone, which no checksum covers.
    """
    content = np.frombuffer(b"".join(batch.data for batch in batches), np.uint8).copy()
    origin = np.arange(len(content), dtype=np.int64)
    spared = np.zeros(len(content) + 1, np.bool_)
    for position in positions_of(batches):
        spared[position : position + _OFFSET_BYTES] = spare
    for blow in blows:
        content, origin = _strike(content, origin, spared, blow)
    return Damaged(content.tobytes(), tuple(_intact(batches, origin)))


_Bytes = NDArray[np.uint8]
_Places = NDArray[np.int64]


def _strike(
    content: _Bytes, origin: _Places, spared: NDArray[np.bool_], blow: Damage
) -> tuple[_Bytes, _Places]:
    start = int(len(content) * blow.place)
    stop = min(start + len(blow.content), len(content))
    size = stop - start
    match blow.kind:
        case DamageKind.CUT:
            return np.delete(content, slice(start, stop)), np.delete(origin, slice(start, stop))
        case DamageKind.INSERT:
            strange = np.frombuffer(blow.content, np.uint8)
            return (
                np.insert(content, start, strange),
                np.insert(origin, start, np.full(len(strange), -1)),
            )
        case _:
            mask = np.frombuffer(blow.content[:size], np.uint8).copy()
            mask[spared[origin[start:stop]]] = 0
            changed = content[start:stop] ^ mask
            if blow.kind is DamageKind.ZERO:
                changed = np.where(spared[origin[start:stop]], content[start:stop], 0)
            is_changed = changed != content[start:stop]
            content[start:stop] = changed
            origin[start:stop][is_changed] = -1
            return content, origin


def _intact(batches: Sequence[EncodedBatch], origin: _Places) -> list[tuple[int, EncodedBatch]]:
    found = []
    for position, batch in zip(positions_of(batches), batches, strict=True):
        size = len(batch.data)
        for place in np.flatnonzero(origin == position):
            expected = np.arange(position, position + size)
            if np.array_equal(origin[place : place + size], expected):
                found.append((int(place), batch))
    return found


def _batches(draw: st.DrawFn, offset: int, records: list[Record]) -> list[EncodedBatch]:
    magic = draw(st.sampled_from([0, 1, 2, 2]))
    codec = draw(st.sampled_from([Codec.NONE, Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]))
    if magic == 2:
        header = draw(st.sampled_from([Header(), Header(leader_epoch=3, producer=Producer(7, 0))]))
        return [record_batch(offset, records, header, codec=codec)]
    if codec is Codec.NONE:
        # Behind such a value its message ends: with its length gone too, no one could tell.
        records = [record._replace(value=(record.value or b"")[:60]) for record in records]
        return [message(offset + i, record, magic) for i, record in enumerate(records)]
    return [wrapper(offset, records, magic, codec)]


REPEATABLE = settings(
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
SMALL_WINDOW = 64
OUT_OF_PLACE = (DefectCode.OFFSET_OUT_OF_ORDER, DefectCode.OFFSET_OUT_OF_SEGMENT)


def contents(units: Iterable[Unit]) -> list[tuple[bytes | None, bytes | None]]:
    found = []
    for unit in units:
        records = by_both(unit)
        if isinstance(records, list):
            found += [(record.key, record.value) for record in records]
    return found


@REPEATABLE
@given(segments(), st.sampled_from([SMALL_WINDOW, 1 << 20]))
def test_valid_segment_is_all_units(batches: list[EncodedBatch], window_bytes: int) -> None:
    content = laid_out(*batches)
    items = walked(content, base_offset=batches[0].base_offset, window_bytes=window_bytes)
    assert items == sound_units(content, batches[0].base_offset)
    starts = {item.position for item in items}
    alone = [
        at for at, batch in zip(positions_of(batches), batches, strict=True) if not is_plain(batch)
    ]
    assert starts.issuperset(alone)


@REPEATABLE
@given(segments(), st.lists(damages(), min_size=1, max_size=4), st.booleans(), st.booleans())
def test_damaged_segment_gives_only_what_was_written(
    batches: list[EncodedBatch], blows: list[Damage], is_last: bool, is_small: bool
) -> None:
    base = batches[0].base_offset
    written = contents(sound_units(laid_out(*batches), base))
    damaged = struck(batches, blows, spare=False)
    items = walked(
        damaged.content,
        base_offset=base,
        is_last=is_last,
        window_bytes=SMALL_WINDOW if is_small else 1 << 20,
    )
    found = contents(units_of(items))
    assert NESTED_KEY not in {key for key, _ in found}
    assert set(found) <= set(written)
    assert len(found) == len(set(found)), "a record came out twice"


@REPEATABLE
@given(segments(), st.lists(damages(), min_size=1, max_size=4), st.booleans())
def test_batch_that_was_not_touched_and_is_indexed_comes_out(
    batches: list[EncodedBatch], blows: list[Damage], is_last: bool
) -> None:
    damaged = struck(batches, blows, spare=True)
    items = walked(
        damaged.content,
        base_offset=batches[0].base_offset,
        is_last=is_last,
        anchors=lambda: tuple(position for position, _ in damaged.intact),
    )
    for position, batch in damaged.intact:
        assert is_out(items, position, len(batch.data)), (position, batch, items)


@REPEATABLE
@given(segments(), st.lists(damages(), min_size=1, max_size=4), st.booleans())
def test_batches_behind_the_last_damage_come_out_without_an_index(
    batches: list[EncodedBatch], blows: list[Damage], is_last: bool
) -> None:
    damaged = struck(batches, blows, spare=True)
    items = walked(damaged.content, base_offset=batches[0].base_offset, is_last=is_last)
    stop = len(damaged.content)
    for position, batch in reversed(damaged.intact):
        if position + len(batch.data) != stop:
            break
        assert is_out(items, position, len(batch.data)), (position, batch, items)
        stop = position


@REPEATABLE
@given(segments(), st.lists(damages(), max_size=2), st.data())
def test_walks_of_the_pieces_are_the_walk_of_the_whole(
    batches: list[EncodedBatch], blows: list[Damage], data: st.DataObject
) -> None:
    base = batches[0].base_offset
    content = struck(batches, blows, spare=True).content
    whole = walked(content, base_offset=base)
    starts = [item.position for item in whole if isinstance(item, RecordBatch)]
    if not starts:
        return
    stop = data.draw(st.sampled_from(starts))
    before = walked(content, base_offset=base, stop=stop)
    assert [item for item in whole if item.position < stop] == before


def is_plain(batch: EncodedBatch) -> bool:
    return batch.data[16] < 2 and batch.data[17] & 7 == 0


def is_out(items: Iterable[Item], position: int, size_bytes: int) -> bool:
    """Whether a valid unit is these bytes, or a defect of place only; a run may hold more of them.

    A valid unit that covers only some of them began with equal bytes: no one could tell.
    """
    for item in items:
        if item.position <= position < item.position + item.size_bytes:
            if isinstance(item, Defect):
                is_whole = (item.position, item.size_bytes) == (position, size_bytes)
                return is_whole and item.code in OUT_OF_PLACE
            return not isinstance(item, Tail)
    return False
