"""Random segments, and random damage to them that knows which bytes it left alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

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
