"""Chooses small data files of a table to merge."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from seglake.grouping import grouped
from seglake.lake.compaction import Merge
from seglake.lake.snapshots import StoredFile, by_time
from seglake.lake.tables import OBSERVATIONS, Table
from seglake.task_engine.packing import packed

_MOST_FILES = 32  # most files in a merge: one row group of each is in memory
# Most rows in a merged file, since a run reads the newest files completely.
_MOST_OBSERVATIONS = 20_000
# Files of the last day are not merged, since clocks differ and runs may be slow.
_DAY_MS = 24 * 3600 * 1000


def merges_of(table: Table, files: Sequence[StoredFile], target_bytes: int) -> list[Merge]:
    """Return the merges: groups of files of one topic below half of the target size.

    Merged files may be merged again, until no topic has two small files. Two kinds of files are not
    merged: files without a row count in Delta's log, because a lost row would not be noticed, and
    files outside of a topic's folder, which seglake did not write.

    Args:
        table: the table.
        files: the data files of its newest version.
        target_bytes: largest size of a merged file.
    """
    if table == OBSERVATIONS:
        return _merged_observations(files)
    own = (file for file in files if file.topic is not None or not table.partition_by)
    return [
        Merge(topic, tuple(group))
        for topic, small in _by_topic(own, target_bytes)
        for group in packed(small, lambda f: f.size_bytes, target_bytes, most_items=_MOST_FILES)
        if len(group) > 1
    ]


def _by_topic(
    files: Iterable[StoredFile], target_bytes: int
) -> Iterator[tuple[str, Sequence[StoredFile]]]:
    """Yield the small files of each topic, sorted by partition and offset."""
    small_files = (file for file in files if _is_small(file, target_bytes))
    by_topic = grouped((file.topic or "", file) for file in small_files)
    for topic, small in sorted(by_topic.items()):
        yield topic, sorted(small, key=_place)


def _merged_observations(files: Sequence[StoredFile]) -> list[Merge]:
    """Return merges of small files that follow each other in time, so that this order is kept.

    Files of the last day are not merged, because a late file might belong between the merged rows.
    """
    settled_ms = max((file.written_at_ms for file in files), default=0) - _DAY_MS
    old = [file for file in files if file.written_at_ms < settled_ms]
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
