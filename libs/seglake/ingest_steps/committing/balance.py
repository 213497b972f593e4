"""Checks that a wave's reports account for all bytes and offsets.

A range that fails is not committed.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from seglake.grouping import grouped
from seglake.ingest_steps.planning.plan import Wave
from seglake.lake.tables import RECORDS
from seglake.segment_decoding.tasks import DecodeTask, PartitionSplit, SplitReport, TaskReport


def failures_of(wave: Wave, reports: Sequence[TaskReport]) -> dict[int, str]:
    """Return the reason why a task's rows must not be committed, by the task's index.

    If a split is unreadable, other tasks may have written parts of the same range. Their rows must
    not be committed either.

    Args:
        wave: the planned ranges and tasks.
        reports: the report of each task, in the tasks' order.
    """
    # The keys are object ids, because a wave may have several ranges of one partition.
    range_of = {id(split): at for at, plan in enumerate(wave.ranges) for split in plan.splits}
    pieces = _tasks_by_range(wave, range_of)
    failed = dict(_overlaps(wave, reports, range_of))
    for index, (task, report) in enumerate(zip(wave.tasks, reports, strict=True)):
        reason = _imbalance(task, report)
        if reason is not None:
            failed[index] = reason
    for index, report in enumerate(reports):
        for split_index, reason in report.failures:
            split = wave.tasks[index].splits[split_index]
            for other in pieces[range_of[id(split)]] - {index}:
                failed.setdefault(other, f"{split.key}: {reason}")
    return _spread(failed, pieces)


def _spread(failed: Mapping[int, str], pieces: dict[int, set[int]]) -> dict[int, str]:
    """Return the tasks that share a range with a failed task, directly or through other tasks."""
    ranges = grouped((index, number) for number, tasks in pieces.items() for index in tasks)
    spread = dict(failed)
    waiting = deque(sorted(failed))
    while waiting:
        index = waiting.popleft()
        for number in ranges.pop(index, ()):
            for other in sorted(pieces.pop(number, ())):  # each range is visited once
                if other not in spread:
                    spread[other] = spread[index]
                    waiting.append(other)
    return spread


def _overlaps(
    wave: Wave, reports: Sequence[TaskReport], range_of: Mapping[int, int]
) -> Iterator[tuple[int, str]]:
    """Yield the tasks that read offsets which an earlier task of the same range has read."""
    spans = grouped(
        (range_of[id(split)], (done.first_offset, done.next_offset, index))
        for index, (task, report) in enumerate(zip(wave.tasks, reports, strict=True))
        for split, done in zip(task.splits, report.reports, strict=True)
        if done is not None and done.first_offset is not None and done.next_offset is not None
    )
    for number, found in spans.items():
        for (_, stop, _), (start, _, index) in pairwise(sorted(found)):
            if start < stop:
                key = wave.ranges[number].key
                yield index, f"{key}: offsets from {start} on were ingested twice"


def _tasks_by_range(wave: Wave, range_of: Mapping[int, int]) -> dict[int, set[int]]:
    """Return, for each range by its index, the indexes of the tasks with some of its splits."""
    pieces = grouped(
        (range_of[id(split)], index)
        for index, task in enumerate(wave.tasks)
        for split in task.splits
    )
    return {number: set(tasks) for number, tasks in pieces.items()}


def _imbalance(task: DecodeTask, report: TaskReport) -> str | None:
    """Return why the counts in a task's report do not add up; None if they do."""
    rows = 0
    for split, done in zip(task.splits, report.reports, strict=True):
        if done is None:
            continue
        rows += done.totals.records - done.erased.records
        if done.bytes.total != split.size_bytes:
            return (
                f"{split.key}: {split.size_bytes} bytes were planned, but {done.bytes.total} "
                "are accounted for"
            )
        reason = _lost_offsets(split, done) or _marker_difference(split, done)
        if reason is not None:
            return reason
    in_files = sum(file.row_count for file in report.files if file.table == RECORDS.name)
    if rows != in_files:
        return f"{rows} records were counted, but {in_files} are in the files"
    return None


def _lost_offsets(split: PartitionSplit, done: SplitReport) -> str | None:
    """Return an error if batches and gaps miss some of a split's offsets; else None.

    Only offsets from the first batch to the end of the last batch are compared: the driver itself
    writes the gaps between splits and at the ends of the range.
    """
    covered = (done.next_offset or 0) - (done.first_offset or 0)
    if done.totals.offsets == covered:
        return None
    counted = done.totals.offsets
    return f"{split.key}: {covered} offsets were read, but {counted} are in batches or gaps"


def _marker_difference(split: PartitionSplit, done: SplitReport) -> str | None:
    """Return an error if task and survey found different transaction markers; else None."""
    if not split.is_plain or done.first_offset is None or done.next_offset is None:
        return None  # offsets are out of order: driver and task may judge a batch differently
    span = range(done.first_offset, done.next_offset)
    expected = {marker for marker in split.markers if marker.is_read and marker.offset in span}
    found = {marker for marker in done.markers if marker.offset in span}
    if expected == found:
        return None
    return f"{split.key}: the ends of transactions changed while the log was read"
