"""Reads the small files of log dirs and partition folders.

A file whose content Kafka never writes is ignored and reported, and the segments are ingested
without it. An existing file that cannot be read is an error, since an ingest without the file may
be wrong.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True)
class SideFileReader:
    """Reader of the small files of log dirs and partition folders.

    Its methods raise StorageError if an existing file cannot be read.

    Attributes:
        storage: storage of the files.
        notes: receives a sentence for each ignored file.
        tolerated: class of errors after which a file is treated as missing.
        implausible: receives the reasons for ignored files, by path; None puts them into `notes`.
    """

    storage: Storage
    notes: list[str] = field(default_factory=list)
    tolerated: type[StorageError] = NotFoundError
    implausible: dict[str, str] | None = None

    def log_dir_files(self, entries: Iterable[FileInfo]) -> LogDirFiles:
        """Read the own files of a log dir with these entries."""
        listed = list(entries)
        by_name = files_by_name(Place.LOG_DIR, listed)

        def offsets(file: SideFile) -> Offsets | None:
            return self._parsed(by_name.get(file), parse_offset_checkpoint)

        entry = by_name.get(SideFile.META_PROPERTIES)
        broker = self._parsed(entry, parse_meta_properties)
        if entry is not None and broker is not None and broker.cluster_id_has_blanks:
            self.notes.append(
                f"{entry.path} has blanks around the cluster.id; Kafka treats them as part of the "
                f"id, seglake ignores them: {broker.cluster_id}"
            )
        return LogDirFiles(
            cluster_id=None if broker is None else broker.cluster_id,
            broker_id=None if broker is None else broker.broker_id,
            high_watermarks=offsets(SideFile.HIGH_WATERMARKS),
            recovery_points=offsets(SideFile.RECOVERY_POINTS),
            log_start_offsets=offsets(SideFile.LOG_START_OFFSETS),
            cleaner_offsets=offsets(SideFile.CLEANER_OFFSETS),
            has_remote_tier=any(e.is_folder and e.name == _REMOTE_CACHE for e in listed),
            directory_id=None if broker is None else broker.directory_id,
        )

    def cluster_id(self, entries: Iterable[FileInfo]) -> str | None:
        """Return the cluster id in a log dir's meta.properties; None if it has none."""
        entry = files_by_name(Place.LOG_DIR, entries).get(SideFile.META_PROPERTIES)
        broker = self._parsed(entry, parse_meta_properties)
        return None if broker is None else broker.cluster_id

    def topic_id(self, by_name: Mapping[str, FileInfo]) -> str | None:
        """Return a partition folder's topic id; None without one, as before Kafka 2.8."""
        entry = by_name.get(SideFile.PARTITION_METADATA)
        metadata = self._parsed(entry, parse_partition_metadata)
        return None if metadata is None else metadata.topic_id

    def epochs(self, by_name: Mapping[str, FileInfo]) -> tuple[EpochStart, ...]:
        """Return the leader epochs in a folder's checkpoint file; empty if there is none."""
        return self._parsed(by_name.get(SideFile.LEADER_EPOCHS), parse_leader_epochs) or ()

    def _parsed(self, entry: FileInfo | None, parse: Callable[[bytes], T]) -> T | None:
        """Return a file's parsed content; None if the file is missing or ignored."""
        if entry is None:
            return None
        try:
            check_readable(entry)
            check_small(entry.path, entry.size_bytes)
            return parse(self.storage.read_bytes(entry.path))
        except (CheckpointFileError, OversizedFileError) as error:
            why = error.reason if isinstance(error, OversizedFileError) else error
            note = f"{entry.path} is ignored as implausible: {why}"
            if self.implausible is None:
                self.notes.append(note)
            else:
                self.implausible[entry.path] = note
        except self.tolerated as error:  # for example: the file vanished after the listing
            self.notes.append(f"{error}; the file counts as missing")
        return None
