"""Which small data files of a table become larger ones. Pure."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from seglake.lake.compaction import Merge, TableView
from seglake.lake.snapshots import StoredFile, by_time
from seglake.lake.tables import OBSERVATIONS
from seglake.task_engine.packing import packed

_MOST_FILES = 32  # in one new file: of each, a row group is in memory while it is written
_MOST_OBSERVATIONS = 20_000  # in one new file: a run reads the newest files whole
_DAY_MS = 24 * 3600 * 1000  # by which clocks may differ, or a run be late


def merges_of(view: TableView, target_bytes: int) -> list[Merge]:
    """What to put together: files below half of the target, up to the target, of one topic each.

    What becomes of them may be put together again: nothing is left to do when no topic has two
    that may be. A file is left alone whose rows the log does not count, since nothing could tell
    that none was lost, or which lies in no topic: that is none of ours.
    """
    if view.table == OBSERVATIONS:
        return _merged_observations(view)
    return [
        Merge(topic, tuple(group))
        for topic, small in _by_topic(view, target_bytes)
        for group in packed(small, lambda f: f.size_bytes, target_bytes, most_items=_MOST_FILES)
        if len(group) > 1
    ]


def _by_topic(view: TableView, target_bytes: int) -> Iterator[tuple[str, Sequence[StoredFile]]]:
    """The small files of each topic; those of the same partitions and offsets come together."""
    by_topic: dict[str, list[StoredFile]] = {}
    for file in view.files:
        is_ours = file.topic is not None or not view.table.partition_by
        if is_ours and _is_small(file, target_bytes):
            by_topic.setdefault(file.topic or "", []).append(file)
    for topic, small in sorted(by_topic.items()):
        yield topic, sorted(small, key=_place)


def _merged_observations(view: TableView) -> list[Merge]:
    """Small files with none between them: readers stop where they have found the newest rows.

    Those of the last day are left: a file that comes late, by its time, must not get in between
    the rows of one that was merged.
    """
    settled_ms = max((file.written_at_ms for file in view.files), default=0) - _DAY_MS
    old = [file for file in view.files if file.written_at_ms < settled_ms]
    runs = groupby(sorted(old, key=by_time), key=_has_few_rows)
    return [
        Merge("", tuple(group))
        for are_small, files in runs
        if are_small
        for group in packed(files, _row_count, _MOST_OBSERVATIONS, most_items=_MOST_FILES)
        if len(group) > 1
    ]


def _has_few_rows(file: StoredFile) -> bool:
    return file.row_count is not None and file.row_count < _MOST_OBSERVATIONS // 2


def _row_count(file: StoredFile) -> int:
    return file.row_count or 0


def _is_small(file: StoredFile, target_bytes: int) -> bool:
    return file.size_bytes < target_bytes // 2 and file.row_count is not None


def _place(file: StoredFile) -> tuple[tuple[tuple[str, tuple[int, int]], ...], str]:
    return tuple(sorted(file.bounds.items())), file.path
