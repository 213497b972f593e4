"""Inspects partition folders and log dirs: walks segments, lists other files. Effect: reads."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from seglake.kafka_log.unread_segments import described
from seglake.log_dirs.log_dir_files import LogDirFiles, read_log_dir_files
from seglake.log_dirs.log_dir_search import Closed, FoundLogDir
from seglake.log_dirs.partition_files import PartitionFiles, partition_files
from seglake.log_dirs.unread_files import compressed_segments, unread_files
from seglake.pipelines.segment_inspect.contents import Content, FileFound, LogSummary
from seglake.pipelines.segment_inspect.log_scan import LogScan
from seglake.pipelines.segment_inspect.partition_log import (
    UNKNOWN_PARTITION,
    Partition,
    is_partition,
    log_start_of,
    partition_at,
    partition_in,
    place_in,
)
from seglake.pipelines.segment_inspect.path_kinds import PathKind, kind_of_file
from seglake.pipelines.segment_inspect.shown_part import ShownPart
from seglake.pipelines.segment_inspect.side_files import READ_KINDS, read_side_file
from seglake.pipelines.segment_inspect.totals import Totals
from seglake.segment_codec.formats.side_files.log_dir import FolderKind, parse_folder_name
from seglake.storage.errors import StorageError
from seglake.storage.storage import FileInfo, Storage

_GIVEN_UP = "an ingest does not read it"
_USES = {
    FolderKind.FUTURE: "an ingest reads it if the partition has no other folder",
    FolderKind.DELETE: _GIVEN_UP,
    FolderKind.STRAY: _GIVEN_UP,
}


def inspect_partition_folder(
    storage: Storage, path: str, entries: Sequence[FileInfo], shown: ShownPart
) -> Iterator[Content]:
    """Yield a partition folder's contents as an ingest reads them; for one offset, one segment.

    Args:
        storage: the storage of the folder.
        path: the folder.
        entries: its files.
        shown: the part to show.
    """
    notes: list[str] = []
    partition = partition_at(storage, path, entries, notes) or UNKNOWN_PARTITION
    yield from _walk_folder(storage, path, entries, partition, shown, notes)


def inspect_log_dirs(
    storage: Storage,
    path: str,
    log_dirs: Sequence[FoundLogDir],
    closed: Closed,
    entries: Sequence[FileInfo],
    shown: ShownPart,
) -> Iterator[Content]:
    """Yield the contents of each log dir below a folder, and the sum of all.

    Args:
        storage: the storage of the folder.
        path: the folder.
        log_dirs: the log dirs below it.
        closed: folders that could not be listed.
        entries: entries of the folder itself.
        shown: the part to show.
    """
    yield FileFound(path, PathKind.FOLDER, 0)
    totals = Totals()
    for log_dir in log_dirs:
        inspection = inspect_log_dir(storage, log_dir.path, log_dir.entries, shown)
        totals.add((yield from inspection))
    notes = tuple(str(error) for error in closed.values())
    notes += tuple(found.reason for found in unread_files(path, entries))
    yield LogSummary(path, PathKind.FOLDER, totals, notes)


def inspect_log_dir(
    storage: Storage, path: str, entries: Sequence[FileInfo], shown: ShownPart
) -> Generator[Content, None, Totals]:
    """Yield a log dir's files, then each partition folder's contents, and the sum of all."""
    yield FileFound(path, PathKind.LOG_DIR, _size_bytes(entries))
    notes: list[str] = []
    for entry in entries:
        if not entry.is_folder:
            yield from _side_file(storage, entry, notes)
    # Their damage has been shown with each file.
    files = read_log_dir_files(storage, entries, [], StorageError)
    notes += [found.reason for found in unread_files(path, entries)]
    totals = Totals()
    for entry in entries:
        if entry.is_folder:
            totals.add((yield from _folder_of_log_dir(storage, entry, files, shown, notes)))
    yield LogSummary(path, PathKind.LOG_DIR, totals, tuple(notes))
    return totals


def _folder_of_log_dir(
    storage: Storage, entry: FileInfo, files: LogDirFiles, shown: ShownPart, notes: list[str]
) -> Generator[Content, None, Totals]:
    folder = parse_folder_name(entry.name)
    try:
        entries = storage.list_folder(entry.path)
    except StorageError as error:
        notes.append(str(error))
        return Totals()
    if folder is None or not is_partition(entry.name, entries):
        notes.append(f"{entry.name} is a folder, but no partition's")
        return Totals()
    folder_notes: list[str] = []
    if folder.kind is not FolderKind.LIVE:
        folder_notes.append(f"the folder is marked {folder.kind}: {_USES[folder.kind]}")
    partition = partition_in(storage, files, folder, entries, folder_notes)
    return (yield from _walk_folder(storage, entry.path, entries, partition, shown, folder_notes))


def _walk_folder(
    storage: Storage,
    path: str,
    entries: Sequence[FileInfo],
    partition: Partition,
    shown: ShownPart,
    notes: list[str],
) -> Generator[Content, None, Totals]:
    files = partition_files(storage, path, entries, notes)
    kind = PathKind.PARTITION_FOLDER
    yield FileFound(path, kind, _size_bytes(entries))
    yield from _other_files(storage, files, notes)
    log_start_offset = log_start_of(storage, partition, files.segments, notes)
    packed = compressed_segments(files.by_name)
    unread_bases = {segment.base_offset for segment in packed}
    bases = sorted(unread_bases.union(file.base_offset for file in files.segments))
    scan = LogScan(
        storage,
        partition,
        first_offset=files.segments[0].base_offset if files.segments else 0,
        log_start_offset=log_start_offset,
        shown=shown,
        unread=[ends for ends in pairwise(bases) if ends[0] in unread_bases],
    )
    indexes = [*range(len(files.segments))]
    if shown.offset is not None:
        indexes = [at for at in indexes if files.segments[at].base_offset <= shown.offset][-1:]
    for index in indexes:
        yield from scan.segment(place_in(storage, partition, files.segments, index))
    yield from scan.finish()
    if packed:
        notes.append(described(packed))
    summary = scan.summary(path, kind, log_start_offset, notes)
    yield replace(summary, unread_segments=len(packed))
    return scan.totals


def _other_files(storage: Storage, files: PartitionFiles, notes: list[str]) -> Iterator[Content]:
    for skipped in files.skipped:
        found = _unread(files.by_name[str(skipped.file)])
        yield replace(found, base_offset=skipped.file.base_offset, skipped=skipped.reason)
    for name in (*files.side_files, *files.unknown):
        yield from _side_file(storage, files.by_name[name], notes)


def _side_file(storage: Storage, entry: FileInfo, notes: list[str]) -> Iterator[Content]:
    """Yield a side file's size, number of entries and damage, without the entries."""
    if entry.problem:
        notes.append(f"{entry.path}: {entry.problem}")
        return
    found = _unread(entry)
    if found.kind in READ_KINDS:
        try:
            found, _ = read_side_file(storage, entry.path, found.kind)
        except StorageError as error:
            notes.append(str(error))
            return
    yield found


def _unread(entry: FileInfo) -> FileFound:
    return FileFound(entry.path, kind_of_file(entry.name), entry.size_bytes)


def _size_bytes(entries: Sequence[FileInfo]) -> int:
    return sum(entry.size_bytes for entry in entries if not entry.is_folder)
