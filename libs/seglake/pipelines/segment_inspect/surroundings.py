"""Whose a partition folder is: what the files of its log dir and its own side files tell. Effect.

What is ignored as implausible is added to the notes and taken as missing.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from seglake.pipelines.segment_inspect.findings import Origin
from seglake.segment_codec.checkpoint_files import (
    CheckpointFileError,
    parse_meta_properties,
    parse_offset_checkpoint,
    parse_partition_metadata,
)
from seglake.segment_codec.log_dir import PartitionFolder, SideFile, TopicPartition
from seglake.storage.errors import StorageError
from seglake.storage.storage import FileInfo, Storage

T = TypeVar("T")
Offsets = dict[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class LogDirFiles:
    """A log dir's own files; empty or None where one is missing or not believed."""

    source_id: str | None
    broker_id: int | None
    high_watermarks: Offsets
    recovery_points: Offsets
    log_start_offsets: Offsets


@dataclass(frozen=True, slots=True)
class Standing:
    """A partition's origin, and its offsets by the checkpoint files; None where they are silent."""

    origin: Origin
    high_watermark: int | None = None
    recovery_point: int | None = None
    log_start_offset: int | None = None

    @property
    def settled_offset(self) -> int:
        """Below this a record was proved replicated or synced to disk."""
        return max(self.high_watermark or 0, self.recovery_point or 0)


def read_log_dir_files(
    storage: Storage, entries: Iterable[FileInfo], notes: list[str]
) -> LogDirFiles:
    """Read what a log dir says of itself."""
    by_name = _files(entries)

    def offsets(file: SideFile) -> Offsets:
        return _read(storage, by_name, file, parse_offset_checkpoint, notes) or {}

    broker = _read(storage, by_name, SideFile.META_PROPERTIES, parse_meta_properties, notes)
    return LogDirFiles(
        None if broker is None else broker.cluster_id,
        None if broker is None else broker.broker_id,
        offsets(SideFile.HIGH_WATERMARKS),
        offsets(SideFile.RECOVERY_POINTS),
        offsets(SideFile.LOG_START_OFFSETS),
    )


def standing_of(
    storage: Storage,
    folder: PartitionFolder,
    entries: Iterable[FileInfo],
    files: LogDirFiles,
    notes: list[str],
) -> Standing:
    """What is known of one partition folder."""
    file = SideFile.PARTITION_METADATA
    metadata = _read(storage, _files(entries), file, parse_partition_metadata, notes)
    key = TopicPartition(folder.topic, folder.partition)
    topic_id = None if metadata is None else metadata.topic_id
    return Standing(
        Origin(files.source_id, topic_id, folder.topic, folder.partition, files.broker_id),
        files.high_watermarks.get(key),
        files.recovery_points.get(key),
        files.log_start_offsets.get(key),
    )


def _files(entries: Iterable[FileInfo]) -> dict[str, FileInfo]:
    return {entry.name: entry for entry in entries if not entry.is_folder}


def _read(
    storage: Storage,
    by_name: dict[str, FileInfo],
    file: SideFile,
    parse: Callable[[bytes], T],
    notes: list[str],
) -> T | None:
    entry = by_name.get(file)
    if entry is None:
        return None
    try:
        return parse(storage.read_bytes(entry.path))
    except CheckpointFileError as error:
        notes.append(f"{entry.path} is ignored as implausible: {error}")
    except StorageError as error:
        notes.append(f"{error}; it counts as missing")
    return None
