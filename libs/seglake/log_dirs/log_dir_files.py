"""Reads the small files of log dirs and partition folders.

A file whose content Kafka never writes is ignored and reported, and the segments are ingested
without it. An existing file that cannot be read is an error, since an ingest without the file may
be wrong.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from seglake.kafka_log.replica import Checkpoints
from seglake.log_dirs.small_files import (
    OversizedFileError,
    check_readable,
    check_small,
    files_by_name,
)
from seglake.segment_codec.formats.side_files.checkpoint_files import (
    CheckpointFileError,
    EpochStart,
    parse_leader_epochs,
    parse_meta_properties,
    parse_offset_checkpoint,
    parse_partition_metadata,
)
from seglake.segment_codec.formats.side_files.known_names import Place
from seglake.segment_codec.formats.side_files.log_dir import SideFile, TopicPartition
from seglake.storage.errors import NotFoundError, StorageError
from seglake.storage.storage import FileInfo, Storage

T = TypeVar("T")

_REMOTE_CACHE = "remote-log-index-cache"  # this folder shows that the broker has a remote tier
Offsets = dict[TopicPartition, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirFiles:
    """Content of the files of a log dir itself; None for a missing or ignored file.

    Attributes:
        has_remote_tier: whether the broker also keeps segments in remote storage.
    """

    cluster_id: str | None
    broker_id: int | None
    high_watermarks: Offsets | None
    recovery_points: Offsets | None
    log_start_offsets: Offsets | None
    cleaner_offsets: Offsets | None
    has_remote_tier: bool
    directory_id: str | None = None

    def checkpoints_of(
        self, partition: TopicPartition, committed_end: int | None = None
    ) -> Checkpoints:
        """Return the offsets of one partition in the checkpoint files.

        Args:
            partition: the partition.
            committed_end: replaces a missing high watermark.
        """
        high_watermark = (self.high_watermarks or {}).get(partition, committed_end)
        return Checkpoints(
            has_high_watermarks=self.high_watermarks is not None or high_watermark is not None,
            high_watermark=high_watermark,
            recovery_point=(self.recovery_points or {}).get(partition),
            log_start_offset=(self.log_start_offsets or {}).get(partition),
            cleaner_offset=(self.cleaner_offsets or {}).get(partition),
            has_remote_tier=self.has_remote_tier,
        )


def read_log_dir_files(
    storage: Storage,
    entries: Iterable[FileInfo],
    notes: list[str],
    tolerated: type[StorageError] = NotFoundError,
    implausible: dict[str, str] | None = None,
) -> LogDirFiles:
    """Read a log dir's own files.

    Args:
        storage: storage of the files.
        entries: listing of the log dir.
        notes: receives a sentence for each ignored file.
        tolerated: class of errors after which a file is treated as missing.
        implausible: receives the reasons for ignored files, by path; None puts them into `notes`.

    Raises:
        StorageError: an existing file cannot be read.
    """
    listed = list(entries)
    by_name = files_by_name(Place.LOG_DIR, listed)

    def read(file: SideFile, parse: Callable[[bytes], T]) -> T | None:
        return _read(storage, by_name.get(file), parse, notes, tolerated, implausible)

    broker = read(SideFile.META_PROPERTIES, parse_meta_properties)
    if broker is not None and broker.cluster_id_has_blanks:
        path = by_name[SideFile.META_PROPERTIES].path
        notes.append(
            f"{path} has blanks around the cluster.id; Kafka treats them as part of the id, "
            f"seglake ignores them: {broker.cluster_id}"
        )
    return LogDirFiles(
        cluster_id=None if broker is None else broker.cluster_id,
        broker_id=None if broker is None else broker.broker_id,
        high_watermarks=read(SideFile.HIGH_WATERMARKS, parse_offset_checkpoint),
        recovery_points=read(SideFile.RECOVERY_POINTS, parse_offset_checkpoint),
        log_start_offsets=read(SideFile.LOG_START_OFFSETS, parse_offset_checkpoint),
        cleaner_offsets=read(SideFile.CLEANER_OFFSETS, parse_offset_checkpoint),
        has_remote_tier=any(entry.is_folder and entry.name == _REMOTE_CACHE for entry in listed),
        directory_id=None if broker is None else broker.directory_id,
    )


def read_cluster_id(storage: Storage, entries: Iterable[FileInfo]) -> str | None:
    """Return the cluster id in meta.properties; None without a readable one."""
    entry = files_by_name(Place.LOG_DIR, entries).get(SideFile.META_PROPERTIES)
    broker = _read(storage, entry, parse_meta_properties, [], StorageError, None)
    return None if broker is None else broker.cluster_id


def read_topic_id(
    storage: Storage,
    by_name: Mapping[str, FileInfo],
    notes: list[str],
    tolerated: type[StorageError] = NotFoundError,
    implausible: dict[str, str] | None = None,
) -> str | None:
    """Return a partition folder's topic id; None without one, as before Kafka 2.8.

    Args:
        storage: storage of the files.
        by_name: files of the folder.
        notes: receives a sentence for each ignored file.
        tolerated: class of errors after which a file is treated as missing.
        implausible: receives the reasons for ignored files, by path; None puts them into `notes`.

    Raises:
        StorageError: the existing file cannot be read.
    """
    entry = by_name.get(SideFile.PARTITION_METADATA)
    metadata = _read(storage, entry, parse_partition_metadata, notes, tolerated, implausible)
    return None if metadata is None else metadata.topic_id


def read_epochs(
    storage: Storage,
    by_name: Mapping[str, FileInfo],
    notes: list[str],
    implausible: dict[str, str] | None = None,
) -> tuple[EpochStart, ...]:
    """Return the leader epochs in the folder's checkpoint file; empty if there is none.

    Args:
        storage: storage of the files.
        by_name: files of the folder.
        notes: receives a sentence for each ignored file.
        implausible: receives the reasons for ignored files, by path; None puts them into `notes`.

    Raises:
        StorageError: the existing file cannot be read.
    """
    entry = by_name.get(SideFile.LEADER_EPOCHS)
    return _read(storage, entry, parse_leader_epochs, notes, NotFoundError, implausible) or ()


def _read(
    storage: Storage,
    entry: FileInfo | None,
    parse: Callable[[bytes], T],
    notes: list[str],
    tolerated: type[StorageError],
    implausible: dict[str, str] | None,
) -> T | None:
    """Return a file's parsed content; None if the file is missing or ignored."""
    if entry is None:
        return None
    try:
        check_readable(entry)
        check_small(entry.path, entry.size_bytes)
        return parse(storage.read_bytes(entry.path))
    except (CheckpointFileError, OversizedFileError) as error:
        why = error.reason if isinstance(error, OversizedFileError) else error
        note = f"{entry.path} is ignored as implausible: {why}"
        if implausible is None:
            notes.append(note)
        else:
            implausible[entry.path] = note
    except tolerated as error:  # for example: the file vanished after the listing
        notes.append(f"{error}; the file counts as missing")
    return None
