"""Walks by runs beside the exact walk: whatever the bytes are, both find the same."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from seglake.segment_codec.formats.control_record import control_type
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.formats.reference_decoder import decode
from seglake.segment_codec.kernels.batch_run import CONTROL_TYPES, BatchKind, BatchRun
from seglake.segment_codec.walk.offset_order import OffsetOrder
from seglake.segment_codec.walk.segment import Item, SegmentWalk
from seglake.segment_codec.walk.segment_bounds import SegmentBounds
from seglake.segment_codec.walk.window import BytesSource, Window
from support.mixed_batches import LIMIT
from support.walk_tables import noted
from support.walks import check_tiling


class Mode(NamedTuple):
    """Settings of a walk over segments."""

    window_bytes: int = 1 << 16
    breaks: tuple[int, ...] = ()
    may_have_holes: bool = True
    headers_only: bool = False
    compares_neighbours: bool = False
    base_offset: int = 0
    limit_offset: int = LIMIT
    is_last: bool = True
    durable_offset: int = 0


DEFAULT = Mode()


class BothWalks(NamedTuple):
    """Results of the walk with runs and the walk without; with runs split up, they are equal."""

    items: list[Item]
    runs: list[Item | BatchRun]


def walked_both_ways(content: bytes, mode: Mode = DEFAULT) -> BothWalks:
    """Walk both ways; both must find the same, and account for each byte."""
    exact, other = OffsetOrder(mode.base_offset), OffsetOrder(mode.base_offset)
    of_items, of_runs = _walk(content, exact, mode), _walk(content, other, mode)
    items, runs = list(of_items.items()), list(of_runs.runs())
    noted(content, items)
    noted(content, runs)
    check_tiling(items, 0, len(content))
    if mode.headers_only:
        assert [*map(_without_payload, unrolled(runs))] == [*map(_without_payload, items)]
    else:
        assert unrolled(runs) == items
    _check_kinds(runs, {item.position: item for item in items})
    assert vars(other) == vars(exact)
    assert of_runs.hole_count == of_items.hole_count
    for run in runs:
        if isinstance(run, BatchRun):
            inside = [stop for stop in mode.breaks if run.first_offset < stop <= run.last_offset]
            assert inside == []
    return BothWalks(items, runs)


def unrolled(items: Sequence[Item | BatchRun]) -> list[Item]:
    """Runs as their batches."""
    found: list[Item] = []
    for item in items:
        if isinstance(item, BatchRun):
            found += [item.batch(index) for index in range(len(item))]
        else:
            found.append(item)
    return found


def _walk(content: bytes, order: OffsetOrder, mode: Mode) -> SegmentWalk:
    bounds = SegmentBounds(
        base_offset=mode.base_offset,
        limit_offset=mode.limit_offset,
        is_last=mode.is_last,
        durable_offset=mode.durable_offset,
        anchors=tuple,
        run_breaks=mode.breaks,
        may_have_holes=mode.may_have_holes,
    )
    return SegmentWalk(
        Window(BytesSource(content), mode.window_bytes),
        bounds,
        order,
        headers_only=mode.headers_only,
        compares_neighbours=mode.compares_neighbours,
    )


def _without_payload(item: Item) -> object:
    """A walk by headers reads none, or one that it does not need."""
    if isinstance(item, RecordBatch):
        return item.position, item.size_bytes, item.header
    return item


def _check_kinds(runs: Sequence[Item | BatchRun], items: Mapping[int, Item]) -> None:
    """Check that the kind of each batch in a run agrees with its header and its record."""
    for run in runs:
        if not isinstance(run, BatchRun):
            continue
        for start, kind in zip(run.starts.tolist(), run.kinds.tolist(), strict=True):
            exact = items[run.position + start]
            assert isinstance(exact, RecordBatch)
            says = (
                control_type(decode(exact, 100), is_transactional=exact.header.is_transactional)
                if exact.header.is_control
                else None
            )
            assert CONTROL_TYPES[kind] == says
            assert (kind == BatchKind.EMPTY) == (exact.header.record_count == 0)
