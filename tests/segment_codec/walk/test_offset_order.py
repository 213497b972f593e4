"""Which offsets of a partition were accepted, against a plain set of them."""

from hypothesis import given
from hypothesis import strategies as st

from seglake.segment_codec.formats.errors import DefectCode
from seglake.segment_codec.formats.record_batch import BatchHeader, RecordBatch
from seglake.segment_codec.walk.offset_order import MOST_HOLES, OffsetOrder

LIMIT = 1 << 40


def unit(first: int, last: int) -> RecordBatch:
    header = BatchHeader(first, 0, 0, 2, 0, 0, last - first, 0, 0, -1, -1, -1, 0)
    return RecordBatch(0, 61, header, memoryview(b""))


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 6)), max_size=40))
def test_a_batch_is_accepted_when_none_of_its_offsets_was(spans: list[tuple[int, int]]) -> None:
    order = OffsetOrder(0)
    accepted: set[int] = set()
    for first, more in spans:
        offsets = set(range(first, first + more + 1))
        code = order.judge(unit(first, first + more), 0, LIMIT)
        assert (code is None) == accepted.isdisjoint(offsets)
        assert code in (None, DefectCode.OFFSET_OUT_OF_ORDER)
        if code is None:
            accepted |= offsets
        assert order.next_offset == max(accepted, default=-1) + 1


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


def judged(*spans: tuple[int, int]) -> OffsetOrder:
    order = OffsetOrder(0)
    for first, last in spans:
        assert order.judge(unit(first, last), 0, LIMIT) is None
    return order


def test_batches_in_order_are_proved_whatever_is_missing_between_them() -> None:
    assert judged((0, 9), (20, 29)).proved_offset == 30


def test_a_batch_is_proved_when_later_ones_fill_all_that_it_left_out() -> None:
    assert judged((0, 9), (30, 39), (20, 29), (10, 19)).proved_offset == 40


def test_a_batch_is_in_doubt_while_anything_before_it_is_missing() -> None:
    assert judged((0, 9), (30, 39), (20, 29)).proved_offset == 10
    assert judged((0, 9), (20, 29), (1000, 1009), (10, 19)).proved_offset == 30


def test_nothing_is_proved_once_holes_were_forgotten() -> None:
    order = judged(*((2 * number + 1, 2 * number + 1) for number in range(MOST_HOLES)), (0, 0))
    assert order.proved_offset == 2
    for offset in (LIMIT - 5, LIMIT - 3):  # two more holes than were filled: one is forgotten
        assert order.judge(unit(offset, offset), 0, LIMIT) is None
    assert order.proved_offset == 0


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 6)), max_size=40))
def test_nothing_is_missing_between_a_late_batch_and_a_proved_one(
    spans: list[tuple[int, int]],
) -> None:
    order = OffsetOrder(0)
    accepted: list[range] = []
    for first, more in spans:
        if order.judge(unit(first, first + more), 0, LIMIT) is None:
            accepted.append(range(first, first + more + 1))
    offsets = {offset for span in accepted for offset in span}
    for index, early in enumerate(accepted):
        for late in accepted[index + 1 :]:
            if late.stop <= early.start and early.stop <= order.proved_offset:
                assert offsets.issuperset(range(late.stop, early.start))
