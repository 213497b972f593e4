"""Partitions that a log dir's checkpoint names and no source has a folder of. Pure."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from seglake.log_dirs.log_dir_files import LogDirFiles
from seglake.log_dirs.log_dir_search import FoundLogDir
from seglake.log_dirs.plausible_checkpoints import is_far
from seglake.segment_codec.log_dir import (
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


def absent_partitions(
    found: Iterable[FoundLogDir],
    files: Mapping[str, LogDirFiles],
    takes_topic: Callable[[str], bool],
) -> list[AbsentPartition]:
    """Those of log dirs that were searched as a whole.

    A folder that the broker deletes or moves is one: it renames it first, and writes its
    checkpoints a few seconds later. A folder by that name that holds nothing of Kafka's is none.

    The high watermarks of a log dir stay as they were when its last partition has gone. Recovery
    points do not: a broker writes them again for every log dir, and whenever it drops a partition.
    """
    log_dirs = [*found]
    folders = [
        folder
        for log_dir in log_dirs
        for entry in log_dir.entries
        if (entry.is_folder or entry.problem)
        and (folder := parse_folder_name(entry.name)) is not None
        if folder.kind is not FolderKind.LIVE or log_dir.has(entry.name)
    ]
    known = {TopicPartition(folder.topic, folder.partition) for folder in folders}
    cut = [folder for folder in folders if not folder.topic_is_complete]
    absent: list[AbsentPartition] = []
    for log_dir in log_dirs:
        said = files.get(log_dir.path)
        if said is None or not log_dir.is_whole:
            continue
        for partition, high_watermark in (said.high_watermarks or {}).items():
            end, said_by = _end(high_watermark, (said.recovery_points or {}).get(partition, 0))
            claimed = (said.log_start_offsets or {}).get(partition, 0)
            start = claimed if claimed <= end else 0  # a log never starts above its high watermark
            is_held = said.recovery_points is None or partition in said.recovery_points
            is_there = partition in known or any(_may_be(folder, partition) for folder in cut)
            if is_held and not is_there and start < end and takes_topic(partition.topic):
                absent.append(AbsentPartition(partition, log_dir.path, start, end, said_by))
    return absent


def _end(high_watermark: int, recovery_point: int) -> tuple[int, SideFile]:
    """Return the proved end of a log, and which file proves it."""
    if is_far(high_watermark, recovery_point):
        return recovery_point, SideFile.RECOVERY_POINTS
    return high_watermark, SideFile.HIGH_WATERMARKS


def _may_be(folder: PartitionFolder, partition: TopicPartition) -> bool:
    """Whether a folder whose name was too long is that partition's."""
    is_number = folder.partition == partition.partition
    return is_number and partition.topic.startswith(folder.topic)
