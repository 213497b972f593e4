"""What is planned from names and numbers alone: ranges, splits, tasks, waves."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seglake.ingest_steps.planning.partitions import SurveyedPartition
from seglake.ingest_steps.planning.plan import plan_ranges, plan_waves, requested_ranges
from seglake.kafka_log.leader_epochs import leader_epochs_of
from seglake.kafka_log.log_bounds import bounds_of
from seglake.kafka_log.offset_ranges import OffsetRange, merged
from seglake.kafka_log.replica import PartitionKey
from seglake.kafka_log.replica_selection import PartitionChoice
from seglake.settings.settings import Settings
from support.planned import (
    BATCH_BYTES,
    BATCH_OFFSETS,
    decode_settings,
    partition_of,
    replica,
    survey,
    surveyed,
)


def _settings(split_bytes: int, wave_bytes: int) -> Settings:
    settings = Settings()
    object.__setattr__(settings.read, "split_bytes", split_bytes)
    object.__setattr__(settings.write, "wave_bytes", wave_bytes)
    return settings


def _planned_bytes(partition: SurveyedPartition, settings: Settings) -> Counter[tuple[str, int]]:
    """How many times each batch of each segment is in a task."""
    ranges = plan_ranges(partition, settings)
    read, write = settings.read, settings.write
    waves = plan_waves(ranges, write.wave_bytes, read.split_bytes, decode_settings())
    assert [offset_range for wave in waves for offset_range in wave.ranges] == ranges
    in_tasks = [split for wave in waves for task in wave.tasks for split in task.splits]
    assert len(in_tasks) == sum(len(offset_range.splits) for offset_range in ranges)
    return Counter(
        (piece.file.path, position)
        for split in in_tasks
        for piece in split.segment_splits
        for position in range(piece.start, piece.stop, BATCH_BYTES)
    )


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=5),
    st.integers(1, 6),
    st.integers(1, 6),
    st.integers(0, 6),
    st.integers(0, 60),
    st.booleans(),
)
def test_each_byte_that_is_wanted_lies_in_one_task_and_no_other_in_any(
    lengths: list[int], splits: int, tasks: int, waves: int, covered: int, is_plain: bool
) -> None:
    edges = [0]
    for length in lengths:
        edges.append(edges[-1] + length * BATCH_OFFSETS)
    covered = min(covered * BATCH_OFFSETS, edges[-1])
    settings = _settings(tasks * BATCH_BYTES, (tasks + waves) * BATCH_BYTES)
    partition = surveyed(
        edges,
        covered=[(0, covered)] if covered else [],
        split_bytes=splits * BATCH_BYTES,
        is_plain=is_plain,
    )
    found = _planned_bytes(partition, settings)
    assert set(found.values()) <= {1}
    wanted = {
        (file.path, position)
        for file in partition.replica.segments
        for position in range(0, file.size_bytes, BATCH_BYTES)
        if file.base_offset + position // BATCH_BYTES * BATCH_OFFSETS >= covered
    }
    assert wanted <= set(found)
    if is_plain and splits == 1:
        assert wanted == set(found)
    ranges = plan_ranges(partition, settings)
    assert merged(
        (offset_range.start_offset, offset_range.next_offset) for offset_range in ranges
    ) == merged([(covered, edges[-1])])
    assert all(a.next_offset == b.start_offset for a, b in pairwise(ranges))


def test_a_piece_is_planned_for_the_last_offset_that_is_wanted_of_it() -> None:
    settings = _settings(BATCH_BYTES, 10 * BATCH_BYTES)
    last = 2 * BATCH_OFFSETS - 1
    found = _planned_bytes(surveyed((0, 40), covered=[(0, last)]), settings)
    assert sorted(position for _, position in found) == [
        BATCH_BYTES,
        2 * BATCH_BYTES,
        3 * BATCH_BYTES,
    ]


def test_tasks_and_waves_are_not_larger_than_asked_but_for_a_single_piece() -> None:
    settings = _settings(3 * BATCH_BYTES, 7 * BATCH_BYTES)
    ranges = plan_ranges(surveyed((0, 100, 250)), settings)
    waves = plan_waves(ranges, 7 * BATCH_BYTES, 3 * BATCH_BYTES, decode_settings())
    assert len(waves) == 4
    assert max(wave.size_bytes for wave in waves) <= 7 * BATCH_BYTES
    assert max(task.size_bytes for wave in waves for task in wave.tasks) <= 3 * BATCH_BYTES
    for wave in waves:
        sizes = [task.size_bytes for task in wave.tasks]
        assert sizes == sorted(sizes, reverse=True)


def test_small_logs_share_a_task() -> None:
    keys = [PartitionKey("orders", number, None) for number in range(6)]
    ranges = [
        plan_range
        for key in keys
        for plan_range in plan_ranges(surveyed((0, 20), key=key), _settings(500, 10_000))
    ]
    (wave,) = plan_waves(ranges, 10_000, 500, decode_settings())
    assert [len(task.splits) for task in wave.tasks] == [2, 2, 2]


@pytest.mark.parametrize(
    ("partitions", "batches", "task_sizes"),
    [(1, 25, [2500]), (5, 5, [2500]), (1, 26, [1300, 1300]), (4, 10, [2000, 2000])],
)
def test_what_is_more_than_half_a_task_is_shared_by_two(
    partitions: int, batches: int, task_sizes: list[int]
) -> None:
    ranges = [
        plan
        for number in range(partitions)
        for plan in plan_ranges(
            surveyed((0, batches * BATCH_OFFSETS), key=PartitionKey("orders", number, None)),
            _settings(5_000, 10**9),
        )
    ]
    (wave,) = plan_waves(ranges, 10**9, 5_000, decode_settings())
    assert [task.size_bytes for task in wave.tasks] == task_sizes


def test_a_large_segment_has_as_many_splits_as_tasks_and_no_seams_inside_them() -> None:
    # A survey proposes the first batch behind a quarter of a task: its pieces are a little larger.
    partition = surveyed((0, 2250), split_bytes=1300)
    (plan,) = plan_ranges(partition, _settings(5_000, 10**9))
    assert [len(split.segment_splits) for split in plan.splits] == [1] * 5
    sizes = [split.size_bytes for split in plan.splits]
    assert sum(sizes) == 22_500
    assert max(sizes) <= 5_000 + 1_300 / 2
    assert {split.is_plain for split in plan.splits} == {True}
    pieces = [piece for split in plan.splits for piece in split.segment_splits]
    assert [piece.next_offset * BATCH_BYTES // BATCH_OFFSETS for piece in pieces] == [
        piece.stop for piece in pieces
    ]


@pytest.mark.parametrize(("partitions", "segments"), [(1, 20_000), (4_000, 5)])
def test_many_tiny_segments_are_neither_one_task_nor_a_task_each(
    partitions: int, segments: int
) -> None:
    edges = range(0, (segments + 1) * BATCH_OFFSETS, BATCH_OFFSETS)
    keys = [PartitionKey("orders", number, None) for number in range(partitions)]
    settings = Settings()
    ranges = [plan for key in keys for plan in plan_ranges(surveyed(edges, key=key), settings)]
    read, write = settings.read, settings.write
    (wave,) = plan_waves(ranges, write.wave_bytes, read.split_bytes, decode_settings())
    counts = [sum(len(split.segment_splits) for split in task.splits) for task in wave.tasks]
    assert sum(counts) == 20_000
    assert len(counts) in (39, 40)
    assert max(counts) <= 512 + 512 // 2


def test_tasks_are_of_one_size_however_the_topics_are_skewed() -> None:
    logs = {"large": 10_000, "small": 10}
    ranges = [
        plan
        for topic, stop in logs.items()
        for number in range(1 if topic == "large" else 40)
        for plan in plan_ranges(
            surveyed((0, stop), key=PartitionKey(topic, number, None)), _settings(5_000, 10**9)
        )
    ]
    (wave,) = plan_waves(ranges, 10**9, 5_000, decode_settings())
    sizes = [task.size_bytes for task in wave.tasks]
    assert sum(sizes) == 100_000 + 40 * 100
    assert max(sizes) <= 1.25 * min(sizes)


def test_segments_below_the_log_start_or_above_the_bound_are_not_read() -> None:
    partition = surveyed((0, 100, 200, 300, 400), log_start_offset=230, high_watermark=290)
    (plan,) = plan_ranges(partition, Settings())
    assert (plan.start_offset, plan.next_offset) == (0, 290)
    bases = {piece.file.base_offset for split in plan.splits for piece in split.segment_splits}
    assert bases == {200}


def test_a_partition_whose_offsets_are_in_doubt_is_one_piece() -> None:
    partition = surveyed((0, 100, 200), is_plain=False)
    (plan,) = plan_ranges(partition, _settings(BATCH_BYTES, 2 * BATCH_BYTES))
    (split,) = plan.splits
    assert [piece.size_bytes for piece in split.segment_splits] == [1000, 1000]
    assert not split.is_plain


def _window(**select: str) -> Settings:
    return Settings.from_mappings([("t", {"select": select})])


@pytest.mark.parametrize(
    ("found", "select", "expected"),
    [
        ((30, 70), {"from": True, "to": True}, [(30, 70)]),
        ((30, None), {"from": True, "to": True}, [(30, 100)]),
        ((None, None), {"from": True, "to": True}, []),
        ((30, 70), {"from": True}, [(30, 100)]),
        ((30, 70), {"to": True}, [(0, 70)]),
        ((50, 50), {"from": True, "to": True}, []),
    ],
)
def test_a_window_is_between_the_first_batches_that_reach_its_ends(
    found: tuple[int | None, int | None], select: dict[str, bool], expected: list[OffsetRange]
) -> None:
    times = {"from": "2024-01-01T00:00:00Z", "to": "2024-02-01T00:00:00Z"}
    settings = _window(**{f"{name}_timestamp": times[name] for name in select})
    surveys = (survey(0, 100, window=found),)
    choice = PartitionChoice(replica(), surveys, leader_epochs_of(()), (), ())
    bounds = bounds_of(replica(), surveys, settings.read_policy)
    partition = partition_of(choice, bounds)
    assert requested_ranges(partition, settings) == expected
