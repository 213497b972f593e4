"""Which part of a batch a split takes, and how the sizes of splits and tasks add up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seglake.kafka_log.replica import SegmentFile
from seglake.segment_decoding.tasks import (
    ByteCount,
    DecodeTask,
    PartitionSplit,
    SegmentSplit,
)
from support.planned import KEY, decode_settings


def _split(
    range_start: int, range_next: int, log_start_offset: int = 0, sizes: tuple[int, ...] = ()
) -> PartitionSplit:
    pieces = tuple(
        SegmentSplit(
            file=SegmentFile(0, "/disk/0.log", "orders-0/0.log", 1000, None),
            start=100,
            stop=100 + size,
            limit_offset=1000,
            expected_offset=0,
            start_crc=-1,
            is_last=True,
            is_cleaned=False,
            is_compacted=False,
            is_plain=True,
        )
        for size in sizes
    )
    return PartitionSplit(
        key=KEY,
        broker_id=0,
        segment_splits=pieces,
        range_start=range_start,
        range_next=range_next,
        log_start_offset=log_start_offset,
        durable_offset=0,
        is_plain=True,
        markers=(),
    )


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (20, 29, (20, 30)),
        (15, 24, (20, 25)),
        (45, 54, (45, 50)),
        (10, 60, (20, 50)),
        (25, 34, (30, 35)),
    ],
    ids=["inside", "across the start", "across the end", "around", "across the log start"],
)
def test_a_batch_is_cut_at_the_range_and_at_the_log_start(
    first: int, last: int, expected: tuple[int, int]
) -> None:
    log_start_offset = 30 if first == 25 else 20
    assert _split(20, 50, log_start_offset).cut(first, last) == expected


def test_a_batch_below_the_log_start_is_cut_at_the_range_only() -> None:
    """So that a marker there still ends what an earlier run ingested."""
    assert _split(20, 50, 40).cut(15, 39) == (20, 40)
    assert _split(20, 50, 40).cut(15, 40) == (40, 41)


@given(
    st.integers(0, 40),
    st.integers(0, 40),
    st.integers(0, 40),
    st.integers(0, 40),
    st.integers(0, 9),
)
def test_no_offset_outside_the_range_is_ever_taken(
    range_start: int, range_length: int, log_start: int, first: int, length: int
) -> None:
    split = _split(range_start, range_start + range_length, log_start)
    start, stop = split.cut(first, first + length)
    assert set(range(start, stop)) == {
        offset
        for offset in range(first, first + length + 1)
        if split.range_start <= offset < split.range_next
        and (offset >= log_start or first + length < log_start)
    }


def test_sizes_are_sums_over_splits() -> None:
    task = DecodeTask((_split(0, 1, sizes=(10, 20)), _split(0, 1, sizes=(5,))), decode_settings())
    assert [split.size_bytes for split in task.splits] == [30, 5]
    assert task.size_bytes == 35
    assert ByteCount(sound=1, quarantined=2, tail=4, below=8, above=16).total == 31


def test_a_task_of_an_attempt_has_its_id_and_the_generations_of_its_own_topics() -> None:
    split = _split(0, 1)
    topic = split.key.topic
    task = DecodeTask((split,), decode_settings())
    other = task.of_attempt("second", {topic: 5, "another": 9})
    assert (other.settings.attempt_id, other.splits) == ("second", task.splits)
    assert other.settings.generations == {topic: 5}
    assert other.settings.origin(split.key).generation == 5
    assert task.settings.origin(split.key).generation == 0
