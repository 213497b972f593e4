"""Which offsets of a partition were taken, against a plain set of them."""

from hypothesis import given, settings
from hypothesis import strategies as st

from segment_codec.errors import DefectCode
from segment_codec.offset_order import MOST_HOLES, OffsetOrder
from segment_codec.record_batch import BatchHeader, RecordBatch

REPEATABLE = settings(derandomize=True, database=None, deadline=None)
LIMIT = 1 << 40


def unit(first: int, last: int) -> RecordBatch:
    header = BatchHeader(first, 0, 0, 2, 0, 0, last - first, 0, 0, -1, -1, -1, 0)
    return RecordBatch(0, 61, header, memoryview(b""))


@REPEATABLE
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 6)), max_size=40))
def test_a_batch_is_taken_when_no_offset_of_it_was(spans: list[tuple[int, int]]) -> None:
    order = OffsetOrder(0)
    taken: set[int] = set()
    for first, more in spans:
        offsets = set(range(first, first + more + 1))
        code = order.judge(unit(first, first + more), 0, LIMIT)
        assert (code is None) == taken.isdisjoint(offsets)
        assert code in (None, DefectCode.OFFSET_OUT_OF_ORDER)
        if code is None:
            taken |= offsets
        assert order.next_offset == max(taken, default=-1) + 1


def test_segment_bounds_are_half_open() -> None:
    order = OffsetOrder(10)
    assert order.judge(unit(9, 11), 10, 20) is DefectCode.OFFSET_OUT_OF_SEGMENT
    assert order.judge(unit(19, 20), 10, 20) is DefectCode.OFFSET_OUT_OF_SEGMENT
    assert order.next_offset == 10
    assert order.judge(unit(10, 19), 10, 20) is None


def test_only_the_newest_holes_are_remembered() -> None:
    order = OffsetOrder(0)
    for number in range(MOST_HOLES + 5):
        assert order.judge(unit(2 * number + 1, 2 * number + 1), 0, LIMIT) is None
    assert order.judge(unit(8, 8), 0, LIMIT) is DefectCode.OFFSET_OUT_OF_ORDER
    assert order.judge(unit(10, 10), 0, LIMIT) is None
