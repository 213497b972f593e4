"""Makes a replica from a partition folder's listing and small files."""

from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple

from seglake.kafka_log.replica import (
    Checkpoints,
    PartitionKey,
    Replica,
    SegmentFile,
    UnreadSegment,
)
from seglake.log_dirs.errors import SourceVanishedError
from seglake.log_dirs.log_dir_files import LogDirFiles, SideFileReader
from seglake.log_dirs.partition_files import PartitionFiles, partition_files
from seglake.log_dirs.plausible_checkpoints import PlausibleCheckpoints, plausible_checkpoints
from seglake.log_dirs.removed_segments import removed_segments
from seglake.log_dirs.side_file_ends import SideFileEnds, side_file_ends, why_without
from seglake.log_dirs.unread_files import (
    UnreadFiles,
    UnreadKind,
    compressed_segments,
    is_recognised,
    segments_of,
    unread_files,
)
from seglake.segment_codec.formats.side_files.checkpoint_files import EpochStart
from seglake.segment_codec.formats.side_files.known_names import Place
from seglake.segment_codec.formats.side_files.log_dir import (
    FileKind,
    FolderKind,
    PartitionFolder,
    SkipReason,
    TopicPartition,
    TwoSpellingsError,
    parse_file_name,
    parse_metadata_snapshot_name,
)
from seglake.segment_codec.formats.side_files.unread_names import is_renamed_segment
from seglake.storage.errors import StorageError
from seglake.storage.storage import FileInfo, Storage

_MOST_NAMED = 3
_MOST_UNKNOWN = 20


class ReadFolder(NamedTuple):
    """A replica, or the error of an unreadable folder, with its notes and unread files.

    Attributes:
        unreadable: why files are unreadable or implausible, by path.
        removed: segments that the broker has removed from the log.
    """

    replica: Replica | Exception
    notes: list[str]
    unread: list[UnreadFiles]
    unreadable: dict[str, str]
    removed: list[FileInfo]


def read_folder(
    storage: Storage,
    path: str,
    folder: PartitionFolder,
    listing: tuple[FileInfo, ...],
    files: LogDirFiles,
    named: Container[str],
) -> ReadFolder:
    """Make the replica of a partition folder, from its listing and its small files.

    `files` are the log dir's own files; folders in `named` are already reported as not read.
    """
    notes: list[str] = []
    unreadable: dict[str, str] = {}
    try:
        content = partition_files(storage, path, listing)
        folders = {entry.name for entry in listing if entry.is_folder} - content.by_name.keys()
        unnamed = (name for name in folders if storage.join(path, name) not in named)
        notes += not_kafkas(path, _unknown(content.unknown, unnamed))
        reader = SideFileReader(storage, notes, implausible=unreadable)
        key = PartitionKey(folder.topic, folder.partition, reader.topic_id(content.by_name))
        # Read the epochs after the listing: if the broker deletes segments now, the epochs show the
        # new log start.
        epochs = reader.epochs(content.by_name)
        believed = _believed(key, content, files, epochs)
        unreadable |= _implausible(storage, path, key, believed)
        checkpoints = _with_mark(believed.checkpoints, key, content, notes)
        last, ignored = _last_side_file(storage, content, checkpoints, believed.epochs)
        unreadable |= ignored
    except (TwoSpellingsError, SourceVanishedError, StorageError) as error:
        return _unreadable_folder(path, error, notes)
    segments, unread = _segments(content, ignored)
    replica = Replica(
        key=key,
        broker_id=files.broker_id,
        folder=path,
        is_future=folder.kind is FolderKind.FUTURE,
        checkpoints=checkpoints,
        epochs=believed.epochs,
        segments=segments,
        snapshots=content.snapshots,
        unread=unread,
        last_side_file=last,
        directory_id=files.directory_id,
        deleting=_deleting(content),
    )
    others = _unread_files(path, listing, content) if folder.kind is FolderKind.LIVE else []
    unreadable |= {entry.path: why_without(entry, entry.problem) for entry in content.unreadable}
    removed = removed_segments(content.skipped, content.by_name)
    return ReadFolder(replica, notes, others, unreadable, removed)


def _unreadable_folder(path: str, error: Exception, notes: list[str]) -> ReadFolder:
    """Return the result for a partition folder that cannot be read, with the error."""
    if isinstance(error, TwoSpellingsError):
        error = StorageError(action="read", path=path, reason=str(error))
    return ReadFolder(error, notes, [], {}, [])


def _segments(
    content: PartitionFiles, ignored: Container[str]
) -> tuple[tuple[SegmentFile, ...], tuple[UnreadSegment, ...]]:
    """Return a partition's readable segments, and its compressed or broken-link segments.

    Segments whose path is in `ignored` are not part of the log.
    """
    lost = {segment.base_offset: segment for segment in content.lost}
    packed = {segment.base_offset: segment for segment in compressed_segments(content.by_name)}
    there = (each for each in content.segments if each.path not in ignored)
    segments = tuple(each for each in there if each.base_offset not in lost)
    return segments, tuple(segment for _, segment in sorted((packed | lost).items()))


def _unread_files(
    path: str, listing: Sequence[FileInfo], content: PartitionFiles
) -> list[UnreadFiles]:
    """Return the folder's unread files with records, including renamed segments.

    Call it only for a live folder, because a broker may be deleting the files in other folders.
    """
    renamed = [e for e in content.by_name.values() if is_renamed_segment(Place.PARTITION, e.name)]
    found = segments_of(path, UnreadKind.RENAMED_SEGMENT, renamed)
    return [*unread_files(path, listing), *found]


def _deleting(content: PartitionFiles) -> tuple[int, ...]:
    """Return the base offsets of the segments that the broker is deleting, in order."""
    return tuple(
        skipped.file.base_offset
        for skipped in content.skipped
        if skipped.reason is SkipReason.DELETED and skipped.file.kind is FileKind.LOG
    )


def _unknown(names: Iterable[str], folders: Iterable[str]) -> list[str]:
    """Return the names to report as not Kafka's: folders, and files without records."""
    files = (name for name in names if not is_recognised(Place.PARTITION, name))
    return [*files, *(f"{name}/" for name in folders)]


def _believed(
    key: PartitionKey,
    content: PartitionFiles,
    files: LogDirFiles,
    epochs: tuple[EpochStart, ...],
) -> PlausibleCheckpoints:
    """Return a partition's plausible checkpoints, and why other offsets are ignored."""
    partition = TopicPartition(key.topic, key.partition)
    stated = files.checkpoints_of(partition, _committed_end(content.by_name))
    return plausible_checkpoints(stated, epochs, _reached(content))


def _implausible(
    storage: Storage, path: str, key: PartitionKey, believed: PlausibleCheckpoints
) -> dict[str, str]:
    """Return, by the path of the checkpoint file, why its offset is ignored."""
    return {
        storage.join(path, file): f"{key}: an offset in {file} is ignored as implausible: {why}"
        for file, why in believed.ignored.items()
    }


def _last_side_file(
    storage: Storage,
    content: PartitionFiles,
    checkpoints: Checkpoints,
    epochs: tuple[EpochStart, ...],
) -> SideFileEnds:
    """Return the highest log end that side files prove, and why other side files are ignored."""
    proved = (checkpoints.durable_offset, *(epoch.start_offset for epoch in epochs[-1:]))
    is_cleaned = checkpoints.cleaner_offset is not None
    return side_file_ends(storage, content, proved, is_cleaned=is_cleaned)


def _reached(content: PartitionFiles) -> list[int]:
    """Return offsets that the log has reached, by names and sizes of its files."""
    names = map(parse_file_name, content.by_name)
    ends = [segment.base_offset + segment.size_bytes for segment in content.segments]
    return [*ends, *(name.base_offset for name in names if name is not None)]


def _with_mark(
    checkpoints: Checkpoints, key: PartitionKey, content: PartitionFiles, notes: list[str]
) -> Checkpoints:
    """Return the checkpoints without a high watermark that the recovery point contradicts.

    If a broker starts without the file of high watermarks, it writes 0 for all partitions. With
    this value, a run would ingest nothing. `notes` receives a sentence on an ignored value.
    """
    mark, flushed = checkpoints.high_watermark, checkpoints.recovery_point or 0
    first_offset = content.segments[0].base_offset if content.segments else 0
    start = max(first_offset, checkpoints.log_start_offset or 0)
    if mark is None or flushed <= start or 0 < mark >= start:
        return checkpoints
    notes.append(
        f"{key}: the high watermark {mark} is ignored as implausible: the recovery point says "
        f"that the log was flushed up to {flushed}"
    )
    return checkpoints._replace(high_watermark=None)


def _committed_end(names: Iterable[str]) -> int | None:
    """Return the end of the KRaft log's newest snapshot; None for other logs.

    No checkpoint file has the offsets of the KRaft log, but its snapshots contain only committed
    records.
    """
    snapshots = map(parse_metadata_snapshot_name, names)
    ends = [snapshot.end_offset for snapshot in snapshots if snapshot is not None]
    return max(ends, default=None)


def not_kafkas(path: str, names: Sequence[str]) -> list[str]:
    """Return a note on files or folders that Kafka does not know; empty if there are none."""
    shown = examples(names, _MOST_UNKNOWN)
    return [f"{path} has files that are not Kafka's: {shown}"] if names else []


def examples(names: Iterable[str], most: int = _MOST_NAMED) -> str:
    """Return the first few names as text, with the number of further names."""
    first, rest = (listed := sorted(names))[:most], len(listed) - most
    return ", ".join(first) + (f" and {rest} more" if rest > 0 else "")
