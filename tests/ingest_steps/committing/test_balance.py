"""What a task counted must be what was planned and what it wrote, or it is left out."""

from dataclasses import replace
from typing import Any

import pytest

from seglake.ingest_steps.committing.balance import failures_of
from seglake.ingest_steps.planning.plan import RangePlan, Wave, plan_ranges, plan_waves
from seglake.kafka_log.replica import PartitionKey
from seglake.kafka_log.transaction_markers import Marker
from seglake.lake.parquet_files import DataFile
from seglake.segment_decoding.tasks import (
    ByteCount,
    DecodeTask,
    PartitionSplit,
    SplitReport,
    TaskReport,
    Totals,
)
from seglake.settings.settings import Settings
from support.planned import BATCH_BYTES, BATCH_OFFSETS, KEY, decode_settings, report, surveyed


def _ranges(partitions: int) -> list[RangePlan]:
    """One range of two pieces for each partition."""
    settings = Settings()
    object.__setattr__(settings.read, "split_bytes", 5 * BATCH_BYTES)
    return [
        plan
        for number in range(partitions)
        for plan in plan_ranges(surveyed(key=KEY._replace(partition=number)), settings)
    ]


def _wave(*, partitions: int = 2, tasks: int = 2) -> Wave:
    """By default each task holds two pieces."""
    ranges = _ranges(partitions)
    task_bytes = 5 * BATCH_BYTES * partitions * 2 // tasks
    (wave,) = plan_waves(ranges, 10**9, task_bytes, decode_settings())
    assert len(wave.tasks) == tasks
    return wave


def _file(records: int) -> DataFile:
    return DataFile("records", KEY.topic, "x.parquet", 1, records, "{}")


def _span(split: PartitionSplit) -> tuple[int, int]:
    first = split.segment_splits[0].expected_offset
    return first, first + split.size_bytes // BATCH_BYTES * BATCH_OFFSETS


def _reports(wave: Wave) -> list[TaskReport]:
    """What tasks say that did all they were told."""
    return [
        TaskReport(
            tuple(
                report(*_span(split), size_bytes=split.size_bytes, records=3)
                for split in task.splits
            ),
            (_file(3 * len(task.splits)),),
            (),
        )
        for task in wave.tasks
    ]


# Any: values of all fields.
def _changed(done: TaskReport, **facts: Any) -> TaskReport:
    first = done.reports[0]
    assert first is not None
    return done._replace(reports=(first._replace(**facts), *done.reports[1:]))


def test_tasks_that_add_up_are_all_committed() -> None:
    wave = _wave()
    assert failures_of(wave, _reports(wave)) == {}


@pytest.mark.parametrize("wrong_bytes", [-1, 1])
def test_a_byte_more_or_less_than_planned_fails_the_task(wrong_bytes: int) -> None:
    wave = _wave()
    reports = _reports(wave)
    counted = ByteCount(sound=wave.tasks[0].splits[0].size_bytes + wrong_bytes)
    reports[0] = _changed(reports[0], bytes=counted)
    failures = failures_of(wave, reports)
    assert list(failures) == [0]
    assert "accounted for" in failures[0]


def test_every_kind_of_bytes_counts() -> None:
    wave = _wave()
    reports = _reports(wave)
    size_bytes = wave.tasks[0].splits[0].size_bytes
    reports[0] = _changed(reports[0], bytes=ByteCount(size_bytes - 10, 1, 2, 3, 4))
    assert failures_of(wave, reports) == {}


@pytest.mark.parametrize("rows", [5, 7])
def test_rows_that_are_not_in_the_files_fail_the_task(rows: int) -> None:
    wave = _wave()
    reports = _reports(wave)
    reports[1] = reports[1]._replace(files=(_file(rows),))
    assert failures_of(wave, reports) == {1: f"6 records were counted, but {rows} are in the files"}


@pytest.mark.parametrize(
    ("planned", "met"),
    [
        ((), (Marker(40, 1, True),)),
        ((Marker(40, 1, True),), ()),
        ((Marker(40, 1, True),), (Marker(40, 1, False),)),
        ((Marker(40, 1, True),), (Marker(40, 2, True),)),
    ],
)
def test_markers_other_than_those_of_the_survey_fail_the_task(
    planned: tuple[Marker, ...], met: tuple[Marker, ...]
) -> None:
    wave = _wave()
    first = wave.tasks[0].splits[0]
    split = first._replace(markers=(*planned, Marker(900, 1, True)))
    task = wave.tasks[0]._replace(splits=(split, *wave.tasks[0].splits[1:]))
    ranges = (
        replace(plan, splits=tuple(split if each is first else each for each in plan.splits))
        for plan in wave.ranges
    )
    wave = wave._replace(ranges=tuple(ranges), tasks=(task, *wave.tasks[1:]))
    reports = _reports(wave)
    assert failures_of(wave, [_changed(reports[0], markers=planned), reports[1]]) == {}
    failures = failures_of(wave, [_changed(reports[0], markers=met), reports[1]])
    assert "transactions changed" in failures[0]


@pytest.mark.parametrize("offsets", [0, 49, 51])
def test_offsets_in_no_batch_and_no_gap_or_in_two_fail_the_task(offsets: int) -> None:
    wave = _wave()
    reports = _reports(wave)
    reports[0] = _changed(reports[0], totals=Totals(records=3, offsets=offsets))
    assert "50 offsets were read" in failures_of(wave, reports)[0]


def test_pieces_of_a_range_that_overlap_fail_with_it() -> None:
    wave = _wave(partitions=2, tasks=4)
    reports = _reports(wave)
    later = next(i for i, task in enumerate(wave.tasks) if task.splits[0].segment_splits[0].start)
    reports[later] = _changed(reports[later], first_offset=49, totals=Totals(3, offsets=51))
    key = wave.tasks[later].splits[0].key
    assert failures_of(wave, reports) == {
        index: f"{key}: offsets from 49 on were ingested twice"
        for index, task in enumerate(wave.tasks)
        if task.splits[0].key == key
    }


def test_a_failure_spreads_along_a_chain_of_tasks_and_no_further() -> None:
    *chain, alone = _ranges(1000)
    pieces = [piece for plan in chain for piece in plan.splits]
    links = [tuple(pieces[index : index + 2]) for index in range(1, len(pieces), 2)]
    tasks = [alone.splits, *reversed(links), tuple(pieces[:1])]
    wave = Wave((*chain, alone), tuple(DecodeTask(task, decode_settings()) for task in tasks))
    reports = _reports(wave)
    reports[-1] = reports[-1]._replace(files=())
    assert set(failures_of(wave, reports)) == set(range(1, len(tasks)))


def test_a_range_with_a_piece_in_a_failed_task_fails_with_all_its_tasks() -> None:
    wave = _wave(partitions=3, tasks=6)
    reports = _reports(wave)
    reports[0] = reports[0]._replace(files=())
    other = next(
        index
        for index, task in enumerate(wave.tasks)
        if index and task.splits[0].key == wave.tasks[0].splits[0].key
    )
    assert set(failures_of(wave, reports)) == {0, other}


def test_a_piece_that_could_not_be_read_takes_the_tasks_of_its_range_with_it() -> None:
    wave = _wave(partitions=2, tasks=4)
    reports = _reports(wave)
    gone: tuple[SplitReport | None, ...] = (None,)
    reports[0] = TaskReport(gone, (), ((0, "it is gone"),))
    failures = failures_of(wave, reports)
    key = wave.tasks[0].splits[0].key
    assert failures == {
        index: f"{key}: it is gone"
        for index, task in enumerate(wave.tasks)
        if task.splits[0].key == key
    }
    assert len(failures) == 2


def test_a_piece_alone_in_its_range_fails_no_other_task() -> None:
    ranges = [
        plan_range
        for number in range(2)
        for plan_range in plan_ranges(surveyed(key=PartitionKey("t", number, None)), Settings())
    ]
    (wave,) = plan_waves(ranges, 10**9, 10**9, decode_settings())
    (done,) = _reports(wave)
    one = TaskReport((None, done.reports[1]), (_file(3),), ((0, "it is gone"),))
    assert failures_of(wave, [one]) == {}
