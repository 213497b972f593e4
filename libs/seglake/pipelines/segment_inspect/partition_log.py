"""Identifies the partition of a folder, and the position of its segments in the log.

An unreadable or damaged file beside the log is reported as a finding, and treated as missing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.kafka_log.replica import NO_CHECKPOINTS, Checkpoints, SegmentFile
from seglake.log_dirs.batch_search import log_end_below
from seglake.log_dirs.folder_kinds import is_partition_folder
from seglake.log_dirs.log_dir_files import LogDirFiles, SideFileReader
from seglake.log_dirs.partition_files import PartitionFiles, first_offset_in, partition_files
from seglake.pipelines.segment_inspect.batch_facts import Origin
from seglake.segment_codec.formats.side_files.log_dir import (
    FileKind,
    FolderKind,
    PartitionFolder,
    SideFile,
    TopicPartition,
    parse_file_name,
    parse_folder_name,
)
from seglake.segment_codec.walk.segment_bounds import limit_after
from seglake.storage.errors import StorageError
from seglake.storage.storage import FileInfo, Storage

WINDOW_BYTES = 4 << 20


class Partition(NamedTuple):
    """A partition, with its offsets from the broker's checkpoint files."""

    origin: Origin
    checkpoints: Checkpoints


UNKNOWN_PARTITION = Partition(Origin(), NO_CHECKPOINTS)


class SegmentPlace(NamedTuple):
    """Segment with its position in the log; see `SegmentBounds` for the limits."""

    file: SegmentFile
    limit_offset: int
    is_last: bool


def last_place(file: SegmentFile, partition: Partition = UNKNOWN_PARTITION) -> SegmentPlace:
    """Return a log's last segment with its position in the log."""
    limit_offset = limit_after(file.base_offset, partition.checkpoints.durable_offset)
    return SegmentPlace(file, limit_offset, is_last=True)


def place_in(
    storage: Storage, partition: Partition, segments: Sequence[SegmentFile], index: int
) -> SegmentPlace:
    """Return a segment with its position in its log.

    Args:
        storage: the storage of the segments.
        partition: the partition.
        segments: all segments of the log, by base offset.
        index: index of the segment.
    """
    file = segments[index]
    if index + 1 == len(segments):
        return last_place(file, partition)
    return SegmentPlace(file, first_offset_in(storage, segments[index + 1]), is_last=False)


def lone_segment(storage: Storage, path: str, base_offset: int) -> SegmentFile:
    """Return a segment file without regard to its folder.

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
    """Return whether a folder is a partition folder; an empty folder is judged by its name."""
    if not entries:
        return parse_folder_name(name) is not None
    return is_partition_folder(name, entries)


@dataclass(frozen=True, slots=True)
class FolderReader:
    """Reader of a partition folder and of the files beside it.

    Attributes:
        storage: the storage of the folder.
        findings: findings on what could not be read, in the order of reading.
    """

    storage: Storage
    findings: list[Finding] = field(default_factory=list)

    def note(self, kind: FindingKind, text: str, place: str) -> None:
        """Add a finding."""
        self.findings.append(Finding(kind, text, place))

    def files_in(self, path: str, entries: Sequence[FileInfo]) -> PartitionFiles:
        """Return the sorted files of a partition folder, given its entries."""
        problems: list[str] = []
        files = partition_files(self.storage, path, entries, problems)
        self.findings.extend(Finding(FindingKind.LEFT_OUT, text, path) for text in problems)
        return files

    def listed(self, path: str, unknown: str) -> Sequence[FileInfo]:
        """Return the entries of a folder.

        If it cannot be listed, return nothing and add a finding.

        Args:
            path: the folder; empty for the root.
            unknown: text on the facts that are unknown if the folder cannot be listed.
        """
        try:
            return self.storage.list_folder(path or "/")
        except StorageError as error:
            self.note(FindingKind.LEFT_OUT, f"{error}; {unknown}", path)
            return ()

    def partition_at(self, path: str, entries: Sequence[FileInfo]) -> Partition | None:
        """Identify the partition of a folder, with facts from its log dir.

        The result is None if the folder is no partition folder.

        Args:
            path: the folder.
            entries: its files.
        """
        parent, _, name = path.rpartition("/")
        folder = parse_folder_name(name)
        if folder is None or not is_partition(name, entries):
            return None
        log_dir = self.listed(parent, "the log dir's own files count as missing")
        problems: list[str] = []
        files = SideFileReader(self.storage, problems, StorageError).log_dir_files(log_dir)
        self.findings.extend(Finding(FindingKind.DAMAGED_FILE, text, parent) for text in problems)
        return self.partition_in(files, folder, entries)

    def partition_in(
        self, files: LogDirFiles, folder: PartitionFolder, entries: Sequence[FileInfo]
    ) -> Partition:
        """Identify the partition of a folder in a log dir whose files are known.

        Args:
            files: contents of the log dir's own files.
            folder: name of the folder, parsed.
            entries: its files.
        """
        problems: list[str] = []
        by_name = {entry.name: entry for entry in entries if not entry.is_folder}
        topic, number = folder.topic, folder.partition
        topic_id = SideFileReader(self.storage, problems, StorageError).topic_id(by_name)
        origin = Origin(files.cluster_id, topic_id, topic, number, files.broker_id)
        self.findings.extend(Finding(FindingKind.DAMAGED_FILE, text, topic) for text in problems)
        # The checkpoints' entry belongs to the folder with the same partition that has replaced
        # this one.
        if folder.kind in (FolderKind.DELETE, FolderKind.STRAY):
            return Partition(origin, NO_CHECKPOINTS)
        return Partition(origin, files.checkpoints_of(TopicPartition(topic, number)))

    def checked_log_start(self, partition: Partition, segments: Sequence[SegmentFile]) -> int:
        """Return the log start from its checkpoint; from the first segment if that is implausible.

        Args:
            partition: the partition.
            segments: its segments, by base offset.
        """
        claimed = partition.checkpoints.log_start_offset
        first = segments[0].base_offset if segments else 0
        end = log_end_below(self.storage, segments, claimed or 0)
        if end is None:
            return max(first, claimed or 0)
        text = f"the log start offset {claimed} is above the log's end {end}: ignored"
        self.note(FindingKind.DAMAGED_FILE, text, SideFile.LOG_START_OFFSETS)
        return first
