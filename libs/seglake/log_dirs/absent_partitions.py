"""Finds partitions that are in a log dir's checkpoint files but have no folder."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from seglake.log_dirs.log_dir_files import LogDirFiles
from seglake.log_dirs.log_dir_search import FoundLogDir
from seglake.log_dirs.plausible_checkpoints import is_far
from seglake.segment_codec.formats.side_files.log_dir import (
    FolderKind,
    PartitionFolder,
    SideFile,
    TopicPartition,
    parse_folder_name,
)


class AbsentPartition(NamedTuple):
    """A partition without a folder; its checkpoint entries prove the offsets [start, next).

    Attributes:
        is_elsewhere: whether another log dir has a folder for the partition.
    """

    partition: TopicPartition
    log_dir: str
    start_offset: int
    next_offset: int
    stated_by: SideFile = SideFile.HIGH_WATERMARKS
    is_elsewhere: bool = False


class _Folders(NamedTuple):
    """Partitions that have a folder in some log dir.

    `cut` has folders whose name has only the beginning of the topic.
    """

    known: frozenset[TopicPartition]
    cut: tuple[PartitionFolder, ...]

    @classmethod
    def of(cls, log_dirs: Iterable[FoundLogDir]) -> "_Folders":
        """Collect the partition folders of log dirs, except folders without any Kafka file."""
        folders = [
            folder
            for log_dir in log_dirs
            for entry in log_dir.entries
            if (entry.is_folder or entry.problem)
            and (folder := parse_folder_name(entry.name)) is not None
            if folder.kind is not FolderKind.LIVE or log_dir.has(entry.name)
        ]
        known = frozenset(TopicPartition(each.topic, each.partition) for each in folders)
        return cls(known, tuple(each for each in folders if not each.topic_is_complete))

    def has(self, partition: TopicPartition) -> bool:
        """Return whether a partition has a folder, or may have one whose name is cut short."""
        return partition in self.known or any(
            folder.partition == partition.partition and partition.topic.startswith(folder.topic)
            for folder in self.cut
        )


def absent_partitions(
    found: Iterable[FoundLogDir],
    files: Mapping[str, LogDirFiles],
    selects_topic: Callable[[str], bool],
) -> Iterator[AbsentPartition]:
    """Yield the partitions in a log dir's checkpoint files that have no folder in this log dir.

    A folder that the broker is deleting or moving counts as a folder, because the broker renames it
    first, and updates the checkpoint files a few seconds later. A folder without any Kafka file
    does not count.

    When the last partition of a log dir is removed, the file of high watermarks keeps the
    partition's entry. The file of recovery points does not keep it, because a broker rewrites this
    file whenever it removes a partition.

    Args:
        found: all log dirs; checkpoint files are used only in log dirs whose folders are all known.
        files: checkpoint files by the path of the log dir.
        selects_topic: returns whether a topic is selected.
    """
    log_dirs = [*found]
    everywhere = _Folders.of(log_dirs)
    for log_dir in log_dirs:
        stated = files.get(log_dir.path)
        if stated is None or not log_dir.is_whole:
            continue
        here = _Folders.of([log_dir])
        for partition, high_watermark in (stated.high_watermarks or {}).items():
            end, stated_by = _end(high_watermark, (stated.recovery_points or {}).get(partition, 0))
            claimed = (stated.log_start_offsets or {}).get(partition, 0)
            start = claimed if claimed <= end else 0  # no log starts above its high watermark
            is_held = stated.recovery_points is None or partition in stated.recovery_points
            is_here = here.has(partition)
            if is_held and not is_here and start < end and selects_topic(partition.topic):
                proof = log_dir.path, start, end, stated_by
                yield AbsentPartition(partition, *proof, everywhere.has(partition))


def _end(high_watermark: int, recovery_point: int) -> tuple[int, SideFile]:
    """Return the highest plausible end of a log in checkpoint files, and the file that has it."""
    if is_far(high_watermark, recovery_point):
        return recovery_point, SideFile.RECOVERY_POINTS
    return high_watermark, SideFile.HIGH_WATERMARKS
