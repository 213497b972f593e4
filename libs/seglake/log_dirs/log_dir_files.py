"""Reads the small files beside the segments. Effect.

A file that is not what Kafka writes is ignored as implausible, with a note; the partitions are
ingested by what the segments themselves say. A file that exists and cannot be read is an error,
since what would be ingested without it may be wrong.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from seglake.segment_codec.checkpoint_files import (
    CheckpointFileError,
    EpochStart,
    parse_leader_epochs,
    parse_meta_properties,
    parse_offset_checkpoint,
    parse_partition_metadata,
)
from seglake.segment_codec.log_dir import SideFile, TopicPartition
from seglake.storage.errors import NotFoundError
from seglake.storage.storage import FileInfo, Storage

T = TypeVar("T")

_REMOTE_CACHE = "remote-log-index-cache"  # a folder that brokers with remote storage keep
Offsets = dict[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class LogDirFiles:
    """A log dir's own files; None where one is missing or not believed.

    `has_remote_tier` says that the broker keeps older segments in remote storage as well.
    """

    cluster_id: str | None
    broker_id: int | None
    high_watermarks: Offsets | None
    recovery_points: Offsets | None
    log_start_offsets: Offsets | None
    cleaner_offsets: Offsets | None
    has_remote_tier: bool


def read_log_dir_files(
    storage: Storage, path: str, entries: Iterable[FileInfo], notes: list[str]
) -> LogDirFiles:
    """Read what a log dir says of itself; what is ignored as implausible is added to the notes.

    Raises:
        StorageError: a file is there and cannot be read.
    """
    listed = list(entries)
    by_name = {entry.name: entry for entry in listed if not entry.is_folder}

    def offsets(file: SideFile) -> Offsets | None:
        return _read(storage, by_name, file, parse_offset_checkpoint, notes)

    broker = _read(storage, by_name, SideFile.META_PROPERTIES, parse_meta_properties, notes)
    if SideFile.HIGH_WATERMARKS not in by_name:
        notes.append(f"{path} has no {SideFile.HIGH_WATERMARKS}: logs are ingested to their end")
    return LogDirFiles(
        cluster_id=None if broker is None else broker.cluster_id,
        broker_id=None if broker is None else broker.broker_id,
        high_watermarks=offsets(SideFile.HIGH_WATERMARKS),
        recovery_points=offsets(SideFile.RECOVERY_POINTS),
        log_start_offsets=offsets(SideFile.LOG_START_OFFSETS),
        cleaner_offsets=offsets(SideFile.CLEANER_OFFSETS),
        has_remote_tier=any(entry.is_folder and entry.name == _REMOTE_CACHE for entry in listed),
    )


def read_topic_id(
    storage: Storage, by_name: Mapping[str, FileInfo], notes: list[str]
) -> str | None:
    """The topic id of a partition folder; brokers before 2.8 wrote none.

    Raises:
        StorageError: the file is there and cannot be read.
    """
    file = SideFile.PARTITION_METADATA
    metadata = _read(storage, by_name, file, parse_partition_metadata, notes)
    return None if metadata is None else metadata.topic_id


def read_epochs(
    storage: Storage, by_name: Mapping[str, FileInfo], notes: list[str]
) -> tuple[EpochStart, ...]:
    """The leader epochs that the folder's checkpoint knows of; none before Kafka 0.11.

    Raises:
        StorageError: the file is there and cannot be read.
    """
    return _read(storage, by_name, SideFile.LEADER_EPOCHS, parse_leader_epochs, notes) or ()


def _read(
    storage: Storage,
    by_name: Mapping[str, FileInfo],
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
    except NotFoundError as error:  # it went since the folder was listed
        notes.append(f"{error}; it counts as missing")
    return None
