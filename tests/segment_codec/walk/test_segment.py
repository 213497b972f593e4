"""The walk through a segment: what it takes in which order, where it ends, and what it believes."""

from random import Random
from typing import Any

import pytest

from seglake.segment_codec.formats.defects import Defect, Tail
from seglake.segment_codec.formats.errors import DefectCode, OutOfBoundsError
from seglake.segment_codec.formats.message_set import RUN_BYTES, MessageRun
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.walk.offset_order import OffsetOrder
from seglake.segment_codec.walk.segment import Item, SegmentWalk
from seglake.segment_codec.walk.segment_bounds import SegmentBounds
from seglake.segment_codec.walk.window import BytesSource, Window
from support.encoder import (
    Codec,
    ControlType,
    EncodedBatch,
    Header,
    Producer,
    Record,
    end_marker,
    message,
    record_batch,
    wrapper,
)
from support.faults import bad_crc, batch, codes, with_length
from support.walks import laid_out, units_of, walked


def test_batch_that_came_late_is_read_once() -> None:
    content = laid_out(batch(0), batch(6), batch(2), batch(4), batch(2), batch(8))
    items = walked(content)
    assert [unit.first_offset for unit in units_of(items)] == [0, 6, 2, 4, 8]
    assert codes(items, 1 << 20) == [DefectCode.OFFSET_OUT_OF_ORDER]


def test_messages_that_came_late_are_a_run_that_ends_where_the_order_is_right_again() -> None:
    late = [message(offset, Record(), 1) for offset in (2, 3, 7, 8)]
    items = walked(laid_out(batch(0), batch(5), *late))
    spans = [(unit.first_offset, unit.last_offset) for unit in units_of(items)]
    assert spans == [(0, 1), (5, 6), (2, 3), (7, 8)]


class _Counting(BytesSource):
    """A file that notes how much of it is read."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.read_bytes = 0

    def read(self, position: int, length: int) -> bytes:
        self.read_bytes += length
        return super().read(position, length)


def test_a_walk_reads_nothing_twice_but_the_batches_that_windows_cut() -> None:
    content = laid_out(*(batch(offset, count=40) for offset in range(0, 4000, 40)))
    source = _Counting(content)
    bounds = SegmentBounds(0, 4000, is_last=True, durable_offset=0)
    walk = SegmentWalk(Window(source, len(content) // 7), bounds, OffsetOrder(0))
    assert len(units_of(list(walk.items()))) == 100
    assert source.read_bytes < 1.1 * len(content)


def test_order_goes_on_in_the_next_segment() -> None:
    order = OffsetOrder(0)
    walked(laid_out(batch(0), batch(2)), order=order, limit_offset=4)
    (item,) = walked(laid_out(batch(4)), base_offset=4, order=order)
    assert isinstance(item, RecordBatch)
    (again,) = walked(laid_out(batch(2)), base_offset=0, order=order)
    assert isinstance(again, Defect)
    assert (again.code, again.expected_offset) == (DefectCode.OFFSET_OUT_OF_ORDER, 6)


@pytest.mark.parametrize("breaks", [(), (3,), (1, 3, 5), (0, 99)], ids=str)
def test_run_ends_at_its_breaks(breaks: tuple[int, ...]) -> None:
    content = laid_out(*(message(offset, Record(None, b"v"), 0) for offset in range(6)))
    runs = units_of(walked(content, run_breaks=breaks))
    inside = [0, *(stop for stop in breaks if 0 < stop < 6)]
    assert [run.first_offset for run in runs] == inside
    assert sum(run.message_count for run in runs if isinstance(run, MessageRun)) == 6


@pytest.mark.parametrize(
    "other",
    [
        message(3, Record(None, b"v"), 0),
        message(3, Record(None, b"v"), 1, log_append_time_ms=5),
        wrapper(3, [Record(None, b"v")], 1, Codec.GZIP),
        batch(3, 1),
    ],
    ids=["magic_0", "append_time", "wrapper", "batch"],
)
def test_run_holds_messages_of_one_kind(other: EncodedBatch) -> None:
    same = [message(offset, Record(None, b"v"), 1) for offset in range(6)]
    runs = units_of(walked(laid_out(*same[:3], other, *same[4:])))
    assert [(run.first_offset, run.last_offset) for run in runs] == [(0, 2), (3, 3), (4, 5)]


@pytest.mark.parametrize(("may_have_holes", "spans"), [(True, [(0, 3)]), (False, [(0, 1), (3, 3)])])
def test_run_has_holes_where_it_may(may_have_holes: bool, spans: list[tuple[int, int]]) -> None:
    content = laid_out(*(message(offset, Record(None, b"v"), 1) for offset in (0, 1, 3)))
    bounds = SegmentBounds(0, 4, is_last=True, durable_offset=4, may_have_holes=may_have_holes)
    walk = SegmentWalk(Window(BytesSource(content)), bounds, OffsetOrder(0))
    runs = units_of(walk.items())
    assert [(run.first_offset, run.last_offset) for run in runs] == spans


def test_run_is_found_whole_whatever_the_window_reads() -> None:
    content = laid_out(*(message(offset, Record(None, b"v" * 50), 1) for offset in range(100)))
    for window_bytes in (17, 90, 100, 1000, 1 << 20):
        (run,) = units_of(walked(content, window_bytes=window_bytes))
        assert isinstance(run, MessageRun)
        assert run.message_count == 100


@pytest.mark.parametrize("window_bytes", [50_000, 1 << 20, 8 << 20])
def test_long_messages_are_runs_up_to_a_size_whatever_the_window_reads(window_bytes: int) -> None:
    random = Random(3)
    sizes = random.choices((10, 60_000, 70_000, 400_000, 1_500_000, 5_000_000), k=60)
    parts = [message(n, Record(None, bytes(size)), n // 40) for n, size in enumerate(sizes)]
    damaged = set(random.sample(range(60), 4))
    content = laid_out(
        *(part.data[:-1] + b"x" if n in damaged else part for n, part in enumerate(parts))
    )
    expected: list[list[int]] = []
    for n, part in enumerate(parts):
        before = expected[-1] if expected else []
        size_bytes = sum(len(parts[k].data) for k in before) + len(part.data)
        if not before or {n, n - 1} & damaged or n == 40 or size_bytes > RUN_BYTES:
            expected.append([n])
        else:
            before.append(n)
    items = walked(content, window_bytes=window_bytes)
    found = [
        [item.base_offset]
        if isinstance(item, Defect)
        else list(range(item.first_offset, item.last_offset + 1))
        for item in items
        if not isinstance(item, Tail)
    ]
    assert found == expected


def test_stop_inside_a_file_ends_the_walk() -> None:
    parts = [batch(0), batch(2), *(message(i, Record(), 0) for i in range(4, 8)), batch(8)]
    content = laid_out(*parts)
    stop = len(content) - len(parts[-1].data) - len(parts[-2].data)
    items = walked(content, stop=stop)
    assert [unit.last_offset for unit in units_of(items)] == [1, 3, 6]
    rest = walked(content, order=OffsetOrder(7), start=stop)
    assert [unit.last_offset for unit in units_of(rest)] == [7, 9]


def test_damage_before_a_stop_ends_at_the_stop() -> None:
    first = with_length(batch(0), len(batch(0).data) * 2 - 12)  # claims the next batch as well
    content = laid_out(first, batch(2), batch(4))
    stop = len(first.data)
    (item,) = walked(content, stop=stop)
    assert isinstance(item, Defect)
    assert (item.code, item.size_bytes) == (DefectCode.BAD_LENGTH, stop)


def test_headers_only_is_the_full_walk_on_valid_data() -> None:
    marker = end_marker(8, ControlType.COMMIT, producer_id=3)
    content = laid_out(
        batch(0),
        message(2, Record(None, b"v"), 0),
        wrapper(3, [Record(None, b"v")] * 2, 1, Codec.GZIP),
        batch(6, codec=Codec.ZSTD),
        marker,
        record_batch(9, [], Header(last_offset_delta=3)),
    )
    full, quick = walked(content), walked(content, headers_only=True)
    assert list(map(without_payload, quick)) == list(map(without_payload, full))
    payloads = [bytes(item.payload) for item in quick if isinstance(item, RecordBatch)]
    assert payloads == [b"", b"", marker.data[61:], b""]


@pytest.mark.parametrize(
    "part",
    [
        bad_crc(end_marker(2, ControlType.ABORT, producer_id=3)),
        bad_crc(record_batch(2, [Record()], Header(producer=Producer(3, 0, base_sequence=0)))),
        bad_crc(record_batch(2, [Record()], Header(last_offset_delta=-1))),
    ],
    ids=["marker", "maybe_marker", "last_delta"],
)
def test_headers_only_checks_what_it_relies_on(part: EncodedBatch) -> None:
    items = walked(laid_out(batch(0), part, batch(4)), headers_only=True)
    assert [isinstance(item, Defect) for item in items] == [False, True, False]


def without_payload(item: Item) -> Any:
    if isinstance(item, RecordBatch):
        return (item.position, item.size_bytes, item.header)
    return item


def test_position_outside_the_file_is_a_bad_call() -> None:
    with pytest.raises(OutOfBoundsError):
        walked(laid_out(batch(0)), start=-1)
