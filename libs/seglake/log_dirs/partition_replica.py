"""A partition folder to a replica: its segments, and what lies beside them. Effect: reads."""

from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple

from seglake.kafka_log.replica import EndClaim, PartitionKey, Replica
from seglake.log_dirs.errors import SourceVanishedError
from seglake.log_dirs.log_dir_files import LogDirFiles, read_epochs, read_topic_id
from seglake.log_dirs.partition_files import PartitionFiles, partition_files
from seglake.log_dirs.small_files import MOST_BYTES
from seglake.log_dirs.unread_files import (
    UnreadFiles,
    UnreadKind,
    compressed_segments,
    is_recognised,
    last_side_file,
    segments_of,
    unread_files,
)
from seglake.segment_codec import offset_index, time_index
from seglake.segment_codec.known_names import Place
from seglake.segment_codec.log_dir import (
    FileKind,
    FileState,
    FolderKind,
    PartitionFolder,
    SegmentFileName,
    TopicPartition,
    TwoSpellingsError,
    parse_file_name,
    parse_metadata_snapshot_name,
)
from seglake.segment_codec.unread_names import is_renamed_segment
from seglake.storage.errors import NotFoundError, StorageError
from seglake.storage.storage import FileInfo, Storage

_MOST_NAMED = 3
_MOST_UNKNOWN = 20
_MOST_TRIMMED_BYTES = 2 << 20  # an index is made with 10 MiB, and trimmed when it is closed


class ReadFolder(NamedTuple):
    """A partition folder, or why it cannot be read; what to say of it, and its unread files."""

    replica: Replica | Exception
    notes: list[str]
    unread: list[UnreadFiles]
    unreadable: dict[str, str]


def read_folder(
    storage: Storage,
    path: str,
    folder: PartitionFolder,
    listing: tuple[FileInfo, ...],
    files: LogDirFiles,
    named: Container[str],
) -> ReadFolder:
    """Read the small files of a partition folder, and say what else lies in it.

    Args:
        named: folders of which something is said already.
    """
    notes: list[str] = []
    unreadable: dict[str, str] = {}
    try:
        content = partition_files(storage, path, listing)
        strange = {entry.name for entry in listing if entry.is_folder} - content.by_name.keys()
        folders = [name for name in strange if storage.join(path, name) not in named]
        notes += not_kafkas(path, _unknown(content.unknown, folders))
        topic_id = read_topic_id(storage, content.by_name, notes, implausible=unreadable)
        epochs = read_epochs(storage, content.by_name, notes, unreadable)
        last = _last_side_file(storage, content, unreadable)
    except TwoSpellingsError as error:
        return ReadFolder(StorageError(action="read", path=path, reason=str(error)), notes, [], {})
    except (SourceVanishedError, StorageError) as error:
        return ReadFolder(error, notes, [], {})
    topic_partition = TopicPartition(folder.topic, folder.partition)
    lost = {segment.base_offset: segment for segment in content.lost}
    packed = {segment.base_offset: segment for segment in compressed_segments(content.by_name)}
    replica = Replica(
        key=PartitionKey(folder.topic, folder.partition, topic_id),
        broker_id=files.broker_id,
        folder=path,
        is_future=folder.kind is FolderKind.FUTURE,
        checkpoints=files.checkpoints_of(topic_partition, _committed_end(content.by_name)),
        epochs=epochs,
        segments=tuple(each for each in content.segments if each.base_offset not in lost),
        snapshots=content.snapshots,
        unread=tuple(segment for _, segment in sorted((packed | lost).items())),
        last_side_file=last,
        directory_id=files.directory_id,
    )
    # Of another than a live folder they may be what its broker is about to drop.
    is_live = folder.kind is FolderKind.LIVE
    renamed = [e for e in content.by_name.values() if is_renamed_segment(Place.PARTITION, e.name)]
    kind = UnreadKind.RENAMED_SEGMENT
    unread = [*unread_files(path, listing), *segments_of(path, kind, renamed)]
    unreadable |= {entry.path: _without(entry, entry.problem) for entry in content.unreadable}
    return ReadFolder(replica, notes, unread if is_live else [], unreadable)


def _unknown(names: Iterable[str], folders: Iterable[str]) -> list[str]:
    """Return the names of files that may have no records, and of folders."""
    files = (name for name in names if not is_recognised(Place.PARTITION, name))
    return [*files, *(f"{name}/" for name in folders)]


def _without(entry: FileInfo, reason: str) -> str:
    return f"{entry.path}: {reason}; the log is read without this file"


def _last_side_file(
    storage: Storage, content: PartitionFiles, unreadable: dict[str, str]
) -> EndClaim | None:
    """Return the file that proves most, by its name or as an index whose log is gone or empty.

    Beside an empty log, an index of the size that a broker makes in advance is not worth a look.

    Args:
        unreadable: indexes that cannot be read, and why; added to.
    """
    sizes = {segment.base_offset: segment.size_bytes for segment in content.segments}
    for segment in content.lost:
        del sizes[segment.base_offset]
    last_base = max((base for base, size_bytes in sizes.items() if size_bytes), default=-1)
    claims = [claim for claim in (last_side_file(content.by_name),) if claim is not None]
    claims += [EndClaim(segment.base_offset, segment.name) for segment in content.lost]
    for entry in content.by_name.values():
        file = parse_file_name(entry.name)
        if file is None or file.state is not FileState.LIVE or file.base_offset <= last_base:
            continue
        most_bytes = _MOST_TRIMMED_BYTES if file.base_offset in sizes else MOST_BYTES
        if 0 < entry.size_bytes <= most_bytes and not entry.problem:
            try:
                claims += _index_end(storage, entry, file)
            except NotFoundError:
                continue  # a broker deletes an index with its segment
            except StorageError as error:
                unreadable[entry.path] = _without(entry, error.reason)
    return max(claims, default=None)


def _index_end(storage: Storage, entry: FileInfo, file: SegmentFileName) -> list[EndClaim]:
    """Return up to where the entries of an index prove its log; nothing of other files."""
    if file.kind is FileKind.INDEX:
        found = offset_index.parse(storage.read_bytes(entry.path), file.base_offset).entries
        return [EndClaim(last.offset + 1, entry.name) for last in found[-1:]]
    if file.kind is FileKind.TIMEINDEX:
        times = time_index.parse(storage.read_bytes(entry.path), file.base_offset).entries
        return [EndClaim(last.offset + 1, entry.name) for last in times[-1:]]
    return []


def _committed_end(names: Iterable[str]) -> int | None:
    """Return up to where the KRaft log is committed, which no checkpoint says: its snapshots hold
    nothing else. None for any other log."""
    snapshots = map(parse_metadata_snapshot_name, names)
    ends = [snapshot.end_offset for snapshot in snapshots if snapshot is not None]
    return max(ends, default=None)


def not_kafkas(path: str, names: Sequence[str]) -> list[str]:
    """Return the note of names that no broker gives; nothing where there is none."""
    return [f"{path} holds what is not Kafka's: {examples(names, _MOST_UNKNOWN)}"] if names else []


def examples(names: Iterable[str], most: int = _MOST_NAMED) -> str:
    """List the first names, and say how many more there are."""
    first, rest = (listed := sorted(names))[:most], len(listed) - most
    return ", ".join(first) + (f" and {rest} more" if rest > 0 else "")
