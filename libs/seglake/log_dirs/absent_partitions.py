"""Partitions that a log dir's checkpoint names and no source has a folder of. Pure."""

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
    """Offsets [start_offset, next_offset) were replicated, and there is no folder with them."""

    partition: TopicPartition
    log_dir: str
    start_offset: int
    next_offset: int
    said_by: SideFile = SideFile.HIGH_WATERMARKS


class _Folders(NamedTuple):
    """Partitions with a folder; of the `cut` ones the name was too long and the topic is cut."""

    known: frozenset[TopicPartition]
    cut: tuple[PartitionFolder, ...]

    @classmethod
    def of(cls, log_dirs: Iterable[FoundLogDir]) -> "_Folders":
        """Collect the folders of log dirs, except those that hold nothing of Kafka's."""
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
        """Return whether a folder is, or may be, that partition's."""
        return partition in self.known or any(
            folder.partition == partition.partition and partition.topic.startswith(folder.topic)
            for folder in self.cut
        )


class _Named(NamedTuple):
    """A partition that a checkpoint names and whose log dir has no folder of it."""

    absent: AbsentPartition
    is_elsewhere: bool  # another log dir has a folder of it


def absent_partitions(
    found: Iterable[FoundLogDir],
    files: Mapping[str, LogDirFiles],
    takes_topic: Callable[[str], bool],
) -> list[AbsentPartition]:
    """Return the partitions of log dirs searched as a whole that no log dir has a folder of."""
    return [each.absent for each in _named(found, files, takes_topic) if not each.is_elsewhere]


def folders_made_up_for(
    found: Iterable[FoundLogDir],
    files: Mapping[str, LogDirFiles],
    takes_topic: Callable[[str], bool],
) -> dict[str, list[str]]:
    """Return the partitions that a log dir lacks and another one has, by log dir."""
    names: dict[str, list[str]] = {}
    for absent, is_elsewhere in _named(found, files, takes_topic):
        if is_elsewhere:
            topic, partition = absent.partition
            names.setdefault(absent.log_dir, []).append(f"{topic}-{partition}")
    return names


def _named(
    found: Iterable[FoundLogDir],
    files: Mapping[str, LogDirFiles],
    takes_topic: Callable[[str], bool],
) -> Iterator[_Named]:
    """Yield the partitions that a checkpoint of a whole log dir names and that lack a folder there.

    A folder that the broker deletes or moves is one: it renames it first, and writes its
    checkpoints a few seconds later. A folder by that name that holds nothing of Kafka's is none.

    The high watermarks of a log dir stay as they were when its last partition has gone. Recovery
    points do not: a broker writes them again for every log dir, and whenever it drops a partition.
    """
    log_dirs = [*found]
    everywhere = _Folders.of(log_dirs)
    for log_dir in log_dirs:
        said = files.get(log_dir.path)
        if said is None or not log_dir.is_whole:
            continue
        here = _Folders.of([log_dir])
        for partition, high_watermark in (said.high_watermarks or {}).items():
            end, said_by = _end(high_watermark, (said.recovery_points or {}).get(partition, 0))
            claimed = (said.log_start_offsets or {}).get(partition, 0)
            start = claimed if claimed <= end else 0  # a log never starts above its high watermark
            is_held = said.recovery_points is None or partition in said.recovery_points
            is_here = here.has(partition)
            if is_held and not is_here and start < end and takes_topic(partition.topic):
                absent = AbsentPartition(partition, log_dir.path, start, end, said_by)
                yield _Named(absent, everywhere.has(partition))


def _end(high_watermark: int, recovery_point: int) -> tuple[int, SideFile]:
    """Return the proved end of a log, and which file proves it."""
    if is_far(high_watermark, recovery_point):
        return recovery_point, SideFile.RECOVERY_POINTS
    return high_watermark, SideFile.HIGH_WATERMARKS
