"""Which small data files of a table become larger ones. Pure."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from seglake.lake.compaction import Merge, TableView
from seglake.lake.snapshots import StoredFile, by_time
from seglake.lake.tables import OBSERVATIONS
from seglake.task_engine.packing import packed

_MOST_FILES = 32  # in one new file: of each, a row group is in memory while it is written


def merges_of(view: TableView, target_bytes: int) -> list[Merge]:
    """What to put together: files below half of the target, up to the target, of one topic each.

    What becomes of them may be put together again: nothing is left to do when no topic has two
    that may be. A file is left alone whose rows the log does not count, since nothing could tell
    that none was lost, or which lies in no topic: that is none of ours.
    """
    by = _by_time if view.table == OBSERVATIONS else _by_topic
    return [
        Merge(topic, tuple(group))
        for topic, small in by(view, target_bytes)
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


def _by_time(view: TableView, target_bytes: int) -> Iterator[tuple[str, Sequence[StoredFile]]]:
    """Small files with none between them: readers stop where they have found the newest rows."""
    in_order = sorted(view.files, key=by_time)
    for is_small, files in groupby(in_order, key=lambda file: _is_small(file, target_bytes)):
        if is_small:
            yield "", [*files]


def _is_small(file: StoredFile, target_bytes: int) -> bool:
    return file.size_bytes < target_bytes // 2 and file.row_count is not None


def _place(file: StoredFile) -> tuple[tuple[tuple[str, tuple[int, int]], ...], str]:
    return tuple(sorted(file.bounds.items())), file.path
