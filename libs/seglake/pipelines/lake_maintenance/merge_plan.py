"""Which small data files of a table become larger ones. Pure."""

from seglake.lake.compaction import Merge, TableView
from seglake.lake.snapshots import StoredFile
from seglake.task_engine.packing import packed

_MOST_FILES = 32  # in one new file: of each, a row group is in memory while it is written


def merges_of(view: TableView, target_bytes: int) -> list[Merge]:
    """What to put together: files below half of the target, up to the target, of one topic each.

    What becomes of them may be put together again: nothing is left to do when no topic has two.
    A file is left alone whose rows the log does not count, since nothing could tell that none was
    lost, or which lies in no topic: that is none of ours.
    """
    by_topic: dict[str, list[StoredFile]] = {}
    for file in view.files:
        is_ours = file.topic is not None or not view.table.partition_by
        if is_ours and file.size_bytes < target_bytes // 2 and file.row_count is not None:
            by_topic.setdefault(file.topic or "", []).append(file)
    return [
        Merge(topic, tuple(group))
        for topic, small in sorted(by_topic.items())
        for group in packed(
            sorted(small, key=_place),
            lambda file: file.size_bytes,
            target_bytes,
            most_items=_MOST_FILES,
        )
        if len(group) > 1
    ]


def _place(file: StoredFile) -> tuple[tuple[tuple[str, tuple[int, int]], ...], str]:
    """Files of the same partitions and offsets are put together first."""
    return tuple(sorted(file.bounds.items())), file.path
