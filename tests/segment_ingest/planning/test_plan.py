"""What is planned from names and numbers alone: coverage, bounds, copies, ranges, tasks, waves."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seglake.kafka_log.log_bounds import bounds_of
from seglake.kafka_log.offset_ranges import OffsetRange, merged, subtracted
from seglake.kafka_log.replica import PartitionKey
from seglake.kafka_log.segment_survey import DataSpan
from seglake.log_tables.coverage import Coverage
from seglake.pipelines.segment_ingest.planning.plan import (
    SurveyedPartition,
    plan_ranges,
    plan_waves,
    wanted_ranges,
)
from seglake.pipelines.settings.settings import Settings
from seglake.segment_codec.transactions import Marker
from support.planned import (
    BATCH_BYTES,
    BATCH_OFFSETS,
    KEY,
    decode_settings,
    replica,
    survey,
    surveyed,
)

_RANGES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=8)


def _offsets(ranges: list[OffsetRange]) -> set[int]:
    return {offset for start, stop in ranges for offset in range(start, stop)}


@given(_RANGES)
def test_merged_ranges_hold_the_same_offsets_in_order_and_apart(ranges: list[OffsetRange]) -> None:
    result = merged(ranges)
    assert _offsets(result) == _offsets(ranges)
    assert all(start < stop for start, stop in result)
    assert all(before[1] < after[0] for before, after in pairwise(result))


@given(st.tuples(st.integers(0, 60), st.integers(0, 60)), _RANGES)
def test_what_is_left_of_a_range_is_what_no_other_holds(
    wanted: OffsetRange, covered: list[OffsetRange]
) -> None:
    result = subtracted(wanted, merged(covered))
    assert _offsets(result) == _offsets([wanted]) - _offsets(covered)
    assert all(start < stop for start, stop in result)
    assert result == merged(result)


def _row(start: int, stop: int, topic_id: str | None, generation: int = 1) -> dict[str, object]:
    return {
        "topic": KEY.topic,
        "partition": KEY.partition,
        "topic_id": topic_id,
        "kind": "ingest",
        "start_offset": start,
        "next_offset": stop,
        "isolation": "read_committed",
        "generation": generation,
    }


def test_coverage_without_an_id_belongs_to_the_first_id_seen() -> None:
    coverage = Coverage([_row(0, 5, None, 1), _row(5, 9, "first", 2), _row(0, 3, "second", 3)])
    assert coverage.ranges(KEY._replace(topic_id="first")) == [(0, 9)]
    assert coverage.ranges(KEY._replace(topic_id="second")) == [(0, 3)]
    assert coverage.ranges(KEY._replace(topic_id="third")) == []
    assert coverage.latest_topic_id(KEY.topic, KEY.partition) == "second"


def test_coverage_without_any_id_belongs_to_the_one_that_asks() -> None:
    coverage = Coverage([_row(0, 5, None)])
    assert coverage.ranges(KEY) == [(0, 5)]
    assert coverage.ranges(KEY._replace(topic_id="new")) == [(0, 5)]
    assert coverage.latest_topic_id(KEY.topic, KEY.partition) is None


def test_repair_ranges_cover_nothing_anew() -> None:
    coverage = Coverage([_row(0, 5, "id"), _row(2, 9, "id", 2) | {"kind": "repair"}])
    assert coverage.ranges(KEY._replace(topic_id="id")) == [(0, 5)]


def test_the_first_isolation_of_a_topic_is_the_one_that_counts() -> None:
    rows = [_row(5, 9, None, 2) | {"isolation": "read_uncommitted"}, _row(0, 5, None, 1)]
    assert Coverage(rows).isolation(KEY.topic) == "read_committed"
    assert Coverage(rows).isolation("other") is None


_UNCOMMITTED = Settings.from_mappings([("t", {"read": {"isolation": "read_uncommitted"}})])
_TO_THE_END = Settings.from_mappings([("t", {"read": {"upper_bound": "log_end"}})])


@pytest.mark.parametrize(
    ("has_file", "entry", "settings", "expected"),
    [
        (True, 70, Settings(), 70),
        (True, 170, Settings(), 100),
        (True, None, Settings(), 0),
        (False, None, Settings(), 100),
        (True, 70, _TO_THE_END, 100),
        (True, None, _TO_THE_END, 100),
    ],
)
def test_the_upper_bound_is_the_high_watermark_or_what_stands_for_it(
    has_file: bool, entry: int | None, settings: Settings, expected: int
) -> None:
    copy = replica(high_watermark=entry, has_high_watermarks=has_file)
    bounds = bounds_of(copy, [survey(0, 100)], settings.read_policy)
    assert bounds.next_offset == expected
    assert bounds.log_end_offset == 100
    is_said = has_file and entry is None and settings is not _TO_THE_END
    assert any("has no entry" in note for note in bounds.notes) == is_said
    is_short = entry is not None and entry > 100
    assert any("70 offsets are not on this disk" in note for note in bounds.notes) == is_short


def test_without_an_entry_a_partition_is_taken_up_to_its_log_start() -> None:
    copy = replica((20, 100), high_watermark=None)
    assert bounds_of(copy, [survey(20, 100)], Settings().read_policy).next_offset == 20


def test_a_log_start_above_the_log_end_is_not_believed() -> None:
    bounds = bounds_of(
        replica((20, 100), log_start_offset=101), [survey(20, 100)], Settings().read_policy
    )
    assert bounds.log_start_offset == 20
    assert "ignored as implausible" in bounds.notes[0]
    at_the_end = bounds_of(
        replica((20, 100), log_start_offset=100), [survey(20, 100)], Settings().read_policy
    )
    assert at_the_end.log_start_offset == 100
    assert not [note for note in at_the_end.notes if "implausible" in note]


@pytest.mark.parametrize(
    ("claimed", "has_remote_tier", "remote"),
    [(None, True, 20), (5, True, 5), (5, False, 20), (30, True, 30)],
)
def test_a_log_start_below_the_first_segment_is_where_the_remote_log_begins(
    claimed: int | None, has_remote_tier: bool, remote: int
) -> None:
    copy = replica((20, 100), log_start_offset=claimed, has_remote_tier=has_remote_tier)
    assert bounds_of(copy, [survey(20, 100)], Settings().read_policy).remote_offset == remote


def test_damage_at_the_end_of_a_log_does_not_hide_what_the_high_watermark_proves() -> None:
    copy = replica(high_watermark=120)
    assert (
        bounds_of(copy, [survey(0, 100, is_cut_open=True)], Settings().read_policy).next_offset
        == 120
    )
    assert bounds_of(copy, [survey(0, 100)], Settings().read_policy).next_offset == 100


def _events(*, is_ended: bool) -> tuple[Marker | DataSpan, ...]:
    ends = (Marker(80, 2, True),) if is_ended else ()
    return (DataSpan(30, 1), DataSpan(50, 2), Marker(60, 1, False), *ends)


def test_read_committed_stops_at_the_first_open_transaction() -> None:
    still_open = [survey(0, 100, events=_events(is_ended=False))]
    bounds = bounds_of(replica(), still_open, Settings().read_policy)
    assert (bounds.next_offset, bounds.last_stable_offset) == (50, 50)
    assert [
        (transaction.producer_id, transaction.first_offset)
        for transaction in bounds.open_transactions
    ] == [(2, 50)]
    uncommitted = bounds_of(replica(), still_open, _UNCOMMITTED.read_policy)
    assert (uncommitted.next_offset, uncommitted.last_stable_offset) == (100, 50)
    ended = bounds_of(
        replica(), [survey(0, 100, events=_events(is_ended=True))], Settings().read_policy
    )
    assert (ended.next_offset, ended.last_stable_offset) == (100, 100)


def test_a_marker_above_the_high_watermark_ends_nothing() -> None:
    surveys = [survey(0, 100, events=_events(is_ended=True))]
    bounds = bounds_of(replica(high_watermark=80), surveys, Settings().read_policy)
    assert (bounds.next_offset, bounds.last_stable_offset) == (50, 50)
    assert bounds.markers == (Marker(60, 1, False),)


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
    partition = SurveyedPartition(
        replica(), surveys, bounds_of(replica(), surveys, settings.read_policy), covered=()
    )
    assert wanted_ranges(partition, settings) == expected
