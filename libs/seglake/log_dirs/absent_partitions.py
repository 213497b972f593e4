"""Partitions that a log dir's checkpoint names and for which no source has a folder. Pure."""

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
    """A partition without a folder whose offsets [start_offset, next_offset) were replicated."""

    partition: TopicPartition
    log_dir: str
    start_offset: int
    next_offset: int
    stated_by: SideFile = SideFile.HIGH_WATERMARKS


class _Folders(NamedTuple):
    """Partitions with a folder; folder names in `cut` were too long, so their topics are cut."""

    known: frozenset[TopicPartition]
    cut: tuple[PartitionFolder, ...]

    @classmethod
    def of(cls, log_dirs: Iterable[FoundLogDir]) -> "_Folders":
        """Return the folders of log dirs, except those without any file of Kafka's."""
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
        """Return whether a folder belongs, or may belong, to a partition."""
        return partition in self.known or any(
            folder.partition == partition.partition and partition.topic.startswith(folder.topic)
            for folder in self.cut
        )


class _Named(NamedTuple):
    """A partition that a checkpoint names and that has no folder in that log dir.

    Attributes:
        is_elsewhere: another log dir has a folder for it.
    """

    absent: AbsentPartition
    is_elsewhere: bool


def absent_partitions(
    found: Iterable[FoundLogDir],
    files: Mapping[str, LogDirFiles],
    selects_topic: Callable[[str], bool],
) -> list[AbsentPartition]:
    """Return partitions that a checkpoint names and for which no log dir has a folder.

    Args:
        found: all log dirs; only those searched as a whole are asked.
        files: checkpoints by the path of the log dir.
        selects_topic: whether a topic is selected.
    """
    return [each.absent for each in _named(found, files, selects_topic) if not each.is_elsewhere]


def folders_made_up_for(
    found: Iterable[FoundLogDir],
    files: Mapping[str, LogDirFiles],
    selects_topic: Callable[[str], bool],
) -> dict[str, list[str]]:
    """Return partitions that one log dir lacks and another one has, by log dir.

    Args:
        found: all log dirs; only those searched as a whole are asked.
        files: checkpoints by the path of the log dir.
        selects_topic: whether a topic is selected.
    """
    names: dict[str, list[str]] = {}
    for absent, is_elsewhere in _named(found, files, selects_topic):
        if is_elsewhere:
            topic, partition = absent.partition
            names.setdefault(absent.log_dir, []).append(f"{topic}-{partition}")
    return names


def _named(
    found: Iterable[FoundLogDir],
    files: Mapping[str, LogDirFiles],
    selects_topic: Callable[[str], bool],
) -> Iterator[_Named]:
    """Yield the partitions that a whole log dir's checkpoint names and that lack a folder there.

    A folder that the broker deletes or moves counts: the broker renames it first, and writes its
    checkpoints a few seconds later. A folder of that name without any of Kafka's files does not
    count.

    The high watermarks of a log dir stay when its last partition has gone. Recovery points do not:
    a broker rewrites them for every log dir whenever it drops a partition.
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
            start = claimed if claimed <= end else 0  # a log never starts above its high watermark
            is_held = stated.recovery_points is None or partition in stated.recovery_points
            is_here = here.has(partition)
            if is_held and not is_here and start < end and selects_topic(partition.topic):
                absent = AbsentPartition(partition, log_dir.path, start, end, stated_by)
                yield _Named(absent, everywhere.has(partition))


def _end(high_watermark: int, recovery_point: int) -> tuple[int, SideFile]:
    """Return the proved end of a log, and the file that proves it."""
    if is_far(high_watermark, recovery_point):
        return recovery_point, SideFile.RECOVERY_POINTS
    return high_watermark, SideFile.HIGH_WATERMARKS
