"""A hole costs the batches that it touches, and no other."""

from hypothesis import given
from hypothesis import strategies as st

from seglake.segment_codec.formats.defects import Defect
from seglake.segment_codec.formats.errors import DefectCode
from seglake.segment_codec.kernels.batch_run import BatchRun
from seglake.segment_codec.walk.holes import HOLE_BYTE, Hole, HoledSource
from seglake.segment_codec.walk.offset_order import OffsetOrder
from seglake.segment_codec.walk.segment import SegmentWalk
from seglake.segment_codec.walk.segment_bounds import SegmentBounds
from seglake.segment_codec.walk.window import Window
from support.encoder import Codec, EncodedBatch, Record, record_batch, wrapper


class Holed(HoledSource):
    """A segment in memory with one hole."""

    def __init__(self, content: bytes, start: int, stop: int) -> None:
        self.size_bytes = len(content)
        self._hole = Hole(start, stop - start, "its authentication tag is wrong")
        self._content = content[:start] + HOLE_BYTE * (stop - start) + content[stop:]

    def read(self, position: int, length: int) -> bytes:
        return self._content[position : position + length]

    def holes_in(self, start: int, stop: int) -> list[Hole]:
        at, size, _ = self._hole
        return [self._hole] if at < stop and start < at + size else []

    def stored_bytes(self, start: int, stop: int, most_bytes: int) -> tuple[bytes, bool]:
        raise NotImplementedError


class Wrapping:
    """A source around another one."""

    def __init__(self, wrapped: Holed) -> None:
        self.wrapped = wrapped
        self.size_bytes = wrapped.size_bytes
        self.read = wrapped.read


RECORDS = [Record(value=bytes([number]) * 9) for number in range(3)]
NEW = [record_batch(offset, RECORDS) for offset in range(0, 60, 3)]
OLD = [wrapper(offset, RECORDS, 1, Codec.GZIP) for offset in range(0, 30, 3)]


def spans_of(batches: list[EncodedBatch]) -> list[tuple[int, int]]:
    """Position and end of each batch."""
    stops = [sum(len(batch.data) for batch in batches[: n + 1]) for n in range(len(batches))]
    return [(stop - len(batch.data), stop) for stop, batch in zip(stops, batches, strict=True)]


@given(
    batches=st.sampled_from([NEW, OLD]),
    wraps=st.booleans(),
    is_last=st.booleans(),
    by_runs=st.booleans(),
    data=st.data(),
)
def test_hole_costs_exactly_the_batches_that_it_touches(
    batches: list[EncodedBatch], wraps: bool, is_last: bool, by_runs: bool, data: st.DataObject
) -> None:
    content = b"".join(batch.data for batch in batches)
    start = data.draw(st.integers(0, len(content) - 1))
    stop = data.draw(st.integers(start + 1, min(len(content), start + 400)))
    holed = Holed(content, start, stop)
    window = Window(Wrapping(holed) if wraps else holed, 256)
    bounds = SegmentBounds(0, 1 << 40, is_last, 0)
    walk = SegmentWalk(window, bounds, OffsetOrder(0))
    read, bad, position = [], [], 0
    for item in walk.runs() if by_runs else walk.items():
        assert item.position == position
        position += item.size_bytes
        if isinstance(item, Defect):
            assert item.code is DefectCode.TIER_CHUNK_BAD
            assert f"bytes {start} to {stop}: its authentication tag" in item.detail
            bad.append((item.position, position))
        elif isinstance(item, BatchRun):
            places = [item.batch(number) for number in range(len(item))]
            read += [(place.position, place.position + place.size_bytes) for place in places]
        else:
            read.append((item.position, position))
    assert position == len(content)
    assert read == [span for span in spans_of(batches) if span[1] <= start or span[0] >= stop]
    assert all(at < stop and start < end for at, end in bad)
