"""Identifies the partition of a folder, and the place of its segments in the log. Effect: reads.

An unreadable or damaged file beside the log is no failure: it counts as missing, with a note.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from seglake.kafka_log.replica import NO_CHECKPOINTS, Checkpoints, SegmentFile
from seglake.log_dirs.batch_search import BatchRequest, LogEnd, find_batch
from seglake.log_dirs.log_dir_files import LogDirFiles, read_log_dir_files, read_topic_id
from seglake.log_dirs.log_dir_search import is_partition_folder
from seglake.log_dirs.partition_files import first_offset_of
from seglake.pipelines.segment_inspect.batch_facts import Origin
from seglake.segment_codec.formats.side_files.log_dir import (
    FileKind,
    FolderKind,
    PartitionFolder,
    TopicPartition,
    parse_file_name,
    parse_folder_name,
)
from seglake.segment_codec.walk.segment_bounds import limit_after
from seglake.storage.errors import StorageError
from seglake.storage.storage import FileInfo, Storage

WINDOW_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition, with its offsets from the broker's checkpoint files."""

    origin: Origin
    checkpoints: Checkpoints


UNKNOWN_PARTITION = Partition(Origin(), NO_CHECKPOINTS)


@dataclass(frozen=True, slots=True)
class SegmentPlace:
    """A segment in its log; the limits are those of `SegmentBounds`."""

    file: SegmentFile
    limit_offset: int
    is_last: bool


def last_place(file: SegmentFile, partition: Partition = UNKNOWN_PARTITION) -> SegmentPlace:
    """Return the place of a segment that no other follows."""
    limit_offset = limit_after(file.base_offset, partition.checkpoints.durable_offset)
    return SegmentPlace(file, limit_offset, is_last=True)


def place_in(
    storage: Storage, partition: Partition, segments: Sequence[SegmentFile], index: int
) -> SegmentPlace:
    """Return the place of a segment in its log.

    Args:
        storage: the storage of the segments.
        partition: the partition.
        segments: all segments of the log, by base offset.
        index: index of the segment.
    """
    file = segments[index]
    if index + 1 == len(segments):
        return last_place(file, partition)
    return SegmentPlace(file, first_offset_of(storage, segments[index + 1]), is_last=False)


def lone_segment(storage: Storage, path: str, base_offset: int) -> SegmentFile:
    """Return a segment file without the folder that it belongs to.

    Args:
        storage: the storage of the file.
        path: the file.
        base_offset: its base offset.
    """
    folder, _, name = path.rpartition("/")
    index_name = name.replace(f".{FileKind.LOG}", f".{FileKind.INDEX}")
    index_path = storage.join(folder or "/", index_name)
    has_index = parse_file_name(name) is not None and storage.info(index_path) is not None
    return SegmentFile(
        base_offset, path, name, size_bytes=0, index_path=index_path if has_index else None
    )


def is_partition(name: str, entries: Sequence[FileInfo]) -> bool:
    """Return whether a folder is a partition's; for an empty one its name decides."""
    if not entries:
        return parse_folder_name(name) is not None
    return is_partition_folder(name, entries)


def partition_at(
    storage: Storage, path: str, entries: Sequence[FileInfo], notes: list[str]
) -> Partition | None:
    """Identify the partition of a folder, also by its log dir; None if it is no partition folder.

    Args:
        storage: the storage of the folder.
        path: the folder.
        entries: its files.
        notes: notes on unreadable files are added to it.
    """
    parent, _, name = path.rpartition("/")
    folder = parse_folder_name(name)
    if folder is None or not is_partition(name, entries):
        return None
    log_dir: Sequence[FileInfo] = ()
    try:
        log_dir = storage.list_folder(parent or "/")
    except StorageError as error:
        notes.append(f"{error}; the log dir's own files are taken as missing")
    files = read_log_dir_files(storage, log_dir, notes, StorageError)
    return partition_in(storage, files, folder, entries, notes)


def partition_in(
    storage: Storage,
    files: LogDirFiles,
    folder: PartitionFolder,
    entries: Sequence[FileInfo],
    notes: list[str],
) -> Partition:
    """Identify the partition of a folder inside of a log dir with known files.

    Args:
        storage: the storage of the folder.
        files: contents of the log dir's own files.
        folder: name of the folder, parsed.
        entries: its files.
        notes: notes on unreadable files are added to it.
    """
    by_name = {entry.name: entry for entry in entries if not entry.is_folder}
    origin = Origin(
        source_id=files.cluster_id,
        topic_id=read_topic_id(storage, by_name, notes, StorageError),
        topic=folder.topic,
        partition=folder.partition,
        broker_id=files.broker_id,
    )
    # The checkpoints are those of the folder's successor.
    if folder.kind in (FolderKind.DELETE, FolderKind.STRAY):
        return Partition(origin, NO_CHECKPOINTS)
    return Partition(origin, files.checkpoints_of(TopicPartition(folder.topic, folder.partition)))


def log_start_of(
    storage: Storage, partition: Partition, segments: Sequence[SegmentFile], notes: list[str]
) -> int:
    """Return the log start: that of its checkpoint, unless it is above the end of the log.

    Args:
        storage: the storage of the segments.
        partition: the partition.
        segments: its segments, by base offset.
        notes: a note on an implausible checkpoint is added to it.
    """
    claimed = partition.checkpoints.log_start_offset
    first = segments[0].base_offset if segments else 0
    if claimed is not None and segments and claimed > segments[-1].base_offset:
        end = find_batch(BatchRequest(storage, segments[-1], claimed, True, WINDOW_BYTES, claimed))
        if isinstance(end, LogEnd) and claimed > end.next_offset:
            notes.append(
                f"the log start offset {claimed} lies above the log's end {end.next_offset}: "
                "not believed"
            )
            return first
    return max(first, claimed or 0)
