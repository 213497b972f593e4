"""Bytes and offsets in must equal bytes and offsets out, or nothing of it is committed. Pure."""

from collections.abc import Sequence

from lake.tables import RECORDS
from pipelines.segment_ingest.partition_log import PartitionKey
from pipelines.segment_ingest.plan import Wave
from pipelines.segment_ingest.tasks import DecodeTask, Stretch, StretchReport, TaskReport

_Range = tuple[PartitionKey, int]  # whose, and where it starts


def failures_of(wave: Wave, reports: Sequence[TaskReport]) -> dict[int, str]:
    """Tasks that must be left out, by index, each with the reason.

    A stretch that could not be read wrote nothing, but the other pieces of its range did: their
    tasks are left out, with all else in their files.
    """
    failed: dict[int, str] = {}
    for index, (task, report) in enumerate(zip(wave.tasks, reports, strict=True)):
        reason = _imbalance(task, report)
        if reason is not None:
            failed[index] = reason
    pieces = _tasks_by_range(wave)
    for index, report in enumerate(reports):
        for stretch_index, reason in report.failures:
            stretch = wave.tasks[index].stretches[stretch_index]
            for other in pieces[_range_of(stretch)] - {index}:
                failed.setdefault(other, f"{stretch.key}: {reason}")
    return _spread(failed, pieces)


def _spread(failed: dict[int, str], pieces: dict[_Range, set[int]]) -> dict[int, str]:
    """A range with a piece in a failed task fails in its other tasks too, and so on."""
    spread = dict(failed)
    is_growing = True
    while is_growing:
        is_growing = False
        for tasks in pieces.values():
            reason = next((spread[index] for index in sorted(tasks) if index in spread), None)
            for index in tasks:
                if reason is not None and index not in spread:
                    spread[index] = reason
                    is_growing = True
    return spread


def _range_of(stretch: Stretch) -> _Range:
    return stretch.key, stretch.range_start


def _tasks_by_range(wave: Wave) -> dict[_Range, set[int]]:
    pieces: dict[_Range, set[int]] = {}
    for index, task in enumerate(wave.tasks):
        for stretch in task.stretches:
            pieces.setdefault(_range_of(stretch), set()).add(index)
    return pieces


def _imbalance(task: DecodeTask, report: TaskReport) -> str | None:
    """Why a task's numbers do not add up, or None."""
    rows = 0
    for stretch, done in zip(task.stretches, report.reports, strict=True):
        if done is None:
            continue
        rows += done.totals.records
        if done.bytes.total != stretch.size_bytes:
            return (
                f"{stretch.key}: {stretch.size_bytes} bytes were planned and "
                f"{done.bytes.total} are accounted for"
            )
        reason = _marker_difference(stretch, done)
        if reason is not None:
            return reason
    in_files = sum(file.row_count for file in report.files if file.table == RECORDS.name)
    if rows != in_files:
        return f"{rows} records were counted and {in_files} are in the files"
    return None


def _marker_difference(stretch: Stretch, done: StretchReport) -> str | None:
    """The markers that the survey saw must be those that the task met."""
    if not stretch.is_plain or done.first_offset is None or done.next_offset is None:
        return None  # where offsets are out of order, survey and task may judge a batch differently
    span = range(done.first_offset, done.next_offset)
    expected = {marker for marker in stretch.markers if marker.offset in span}
    met = {marker for marker in done.markers if marker.offset in span}
    if expected == met:
        return None
    return f"{stretch.key}: the ends of transactions changed while the log was read"
