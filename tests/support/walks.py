"""Walks segments that lie in memory."""

from collections.abc import Callable, Iterable
from typing import TypedDict, Unpack

from seglake.segment_codec.formats.defects import Defect, Tail
from seglake.segment_codec.formats.record import Record
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.formats.reference_decoder import decode
from seglake.segment_codec.formats.units import Unit
from seglake.segment_codec.walk.offset_order import OffsetOrder
from seglake.segment_codec.walk.segment import Item, SegmentWalk
from seglake.segment_codec.walk.segment_bounds import SegmentBounds, limit_after
from seglake.segment_codec.walk.window import BytesSource, Window
from support.encoder import EncodedBatch
from support.walk_tables import noted

WINDOW_BYTES = 1 << 16


def laid_out(*parts: EncodedBatch | bytes) -> bytes:
    """Batches and other bytes, one behind the other."""
    return b"".join(part.data if isinstance(part, EncodedBatch) else part for part in parts)


class EndRules(TypedDict, total=False):
    """Bounds of a segment besides its first offset; see `SegmentBounds`."""

    limit_offset: int
    is_last: bool
    durable_offset: int
    anchors: Callable[[], tuple[int, ...]]
    run_breaks: tuple[int, ...]
    may_have_holes: bool


def walked(
    content: bytes,
    *,
    base_offset: int = 0,
    order: OffsetOrder | None = None,
    start: int = 0,
    stop: int | None = None,
    headers_only: bool = False,
    window_bytes: int = WINDOW_BYTES,
    compares_neighbours: bool = True,
    **rules: Unpack[EndRules],
) -> list[Item]:
    """All items of a segment; they tile [start, stop), or this fails."""
    plain = SegmentBounds(base_offset, limit_after(base_offset), is_last=False, durable_offset=0)
    bounds = plain._replace(**rules)
    walk = SegmentWalk(
        Window(BytesSource(content), window_bytes),
        bounds,
        OffsetOrder(base_offset) if order is None else order,
        stop=stop,
        headers_only=headers_only,
        compares_neighbours=compares_neighbours,
    )
    found = list(walk.items(start))
    noted(content, found)
    check_tiling(found, start, len(content) if stop is None else stop)
    return found


def check_tiling(items: Iterable[Item], start: int, stop: int) -> None:
    """Every byte of [start, stop) lies in exactly one item, in the order of the bytes."""
    position = start
    for item in items:
        assert (item.position, item.size_bytes > 0) == (position, True), item
        position += item.size_bytes
    assert position == stop


def units_of(items: Iterable[Item]) -> list[Unit]:
    """The sound ones."""
    return [item for item in items if not isinstance(item, Defect | Tail)]


def sound_units(content: bytes, base_offset: int = 0) -> list[Unit]:
    """The units of a segment without damage."""
    found = walked(content, base_offset=base_offset, compares_neighbours=False)
    units = units_of(found)
    assert len(units) == len(found), found
    return units


def sound_unit(batch: EncodedBatch | bytes, base_offset: int = 0) -> Unit:
    """The one unit that a batch is."""
    (unit,) = sound_units(laid_out(batch), base_offset)
    return unit


def records_of(content: bytes) -> list[Record]:
    """Records of a segment without control batches, by the reference decoder."""
    units = units_of(walked(content, is_last=True))
    batches = [unit for unit in units if isinstance(unit, RecordBatch)]
    return [
        record
        for batch in batches
        if not batch.header.is_control
        for record in decode(batch, max_decompressed_bytes=1 << 20)
    ]
