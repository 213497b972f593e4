"""Partition folders and log dirs: their segments walked, their other files told. Effect: reads."""

from collections.abc import Sequence

from seglake.pipelines.segment_inspect.findings import FileFound, LogSummary, Report
from seglake.pipelines.segment_inspect.log_scan import LogScan
from seglake.pipelines.segment_inspect.offset_search import inspect_offset
from seglake.pipelines.segment_inspect.partition_log import (
    FolderLog,
    believed_log_start,
    folder_log,
)
from seglake.pipelines.segment_inspect.path_kinds import PathKind, is_partition_folder, kind_of_file
from seglake.pipelines.segment_inspect.segment_look import folder_standing
from seglake.pipelines.segment_inspect.side_files import read_side_file
from seglake.pipelines.segment_inspect.surroundings import (
    LogDirFiles,
    Standing,
    read_log_dir_files,
    standing_of,
)
from seglake.pipelines.segment_inspect.totals import Totals
from seglake.segment_codec.log_dir import FolderKind, parse_folder_name
from seglake.storage.errors import StorageError
from seglake.storage.storage import FileInfo, Storage

_READ_KINDS = frozenset(
    {
        PathKind.INDEX,
        PathKind.TIMEINDEX,
        PathKind.TXNINDEX,
        PathKind.SNAPSHOT,
        PathKind.OFFSET_CHECKPOINT,
        PathKind.LEADER_EPOCHS,
        PathKind.PARTITION_METADATA,
        PathKind.META_PROPERTIES,
    }
)


def inspect_partition_folder(
    storage: Storage,
    path: str,
    entries: Sequence[FileInfo],
    report: Report,
    *,
    records: bool,
    offset: int | None,
) -> None:
    """Show a partition folder, walked as a conversion would, or one offset of it."""
    notes: list[str] = []
    standing = folder_standing(storage, path, entries, notes)
    if standing is None:
        raise ValueError(f"{path} was a partition folder a moment ago")
    if offset is not None:
        log = folder_log(storage, path.rsplit("/", 1)[-1], entries, notes)
        kind = PathKind.PARTITION_FOLDER
        inspect_offset(storage, path, kind, log.segments, standing, offset, report, notes)
        return
    _walk_folder(storage, path, entries, standing, report, records, notes)


def inspect_log_dir(
    storage: Storage, path: str, entries: Sequence[FileInfo], report: Report, *, records: bool
) -> None:
    """Show a log dir: its own files, then each partition folder, and the sum of all."""
    report.file(FileFound(path, PathKind.LOG_DIR, _size_bytes(entries)))
    notes: list[str] = []
    for entry in entries:
        if not entry.is_folder:
            _side_file(storage, entry, report, notes)
    files = read_log_dir_files(storage, entries, [])  # what is wrong was said file by file
    totals = Totals()
    for entry in entries:
        if entry.is_folder:
            totals.add(_folder_of_log_dir(storage, entry, files, report, records, notes))
    report.summary(
        totals.summary(
            path, PathKind.LOG_DIR, log_start_offset=None, high_watermark=None, notes=tuple(notes)
        )
    )


def _folder_of_log_dir(
    storage: Storage,
    entry: FileInfo,
    files: LogDirFiles,
    report: Report,
    records: bool,
    notes: list[str],
) -> Totals:
    folder = parse_folder_name(entry.name)
    try:
        entries = storage.list_folder(entry.path)
    except StorageError as error:
        notes.append(str(error))
        return Totals()
    if folder is None or not is_partition_folder(entry.name, entries):
        notes.append(f"{entry.name} is a folder, but no partition's")
        return Totals()
    own: list[str] = []
    if folder.kind is not FolderKind.LIVE:
        own.append(f"the folder is marked {folder.kind}: a conversion takes it only if it must")
    standing = standing_of(storage, folder, entries, files, own)
    return _walk_folder(storage, entry.path, entries, standing, report, records, own)


def _walk_folder(
    storage: Storage,
    path: str,
    entries: Sequence[FileInfo],
    standing: Standing,
    report: Report,
    records: bool,
    notes: list[str],
) -> Totals:
    log = folder_log(storage, path.rsplit("/", 1)[-1], entries, notes)
    report.file(FileFound(path, PathKind.PARTITION_FOLDER, _size_bytes(entries)))
    _other_files(storage, log, report, notes)
    claimed = standing.log_start_offset
    log_start_offset = believed_log_start(storage, log.segments, claimed, notes)
    first_offset = log.segments[0].base_offset if log.segments else 0
    scan = LogScan(
        storage,
        standing,
        report,
        first_offset=first_offset,
        with_records=records,
        log_start_offset=max(first_offset, log_start_offset or 0),
    )
    for place in log.segments:
        scan.segment(place)
    scan.finish()
    summary: LogSummary = scan.totals.summary(
        path,
        PathKind.PARTITION_FOLDER,
        log_start_offset=max(first_offset, log_start_offset or 0),
        high_watermark=standing.high_watermark,
        notes=(*notes, *scan.notes),
    )
    report.summary(summary)
    return scan.totals


def _other_files(storage: Storage, log: FolderLog, report: Report, notes: list[str]) -> None:
    for entry, skipped in log.skipped:
        kind = kind_of_file(entry.name)
        base_offset = skipped.file.base_offset
        report.file(
            FileFound(entry.path, kind, entry.size_bytes, base_offset, skipped=skipped.reason)
        )
    for entry in (*log.side_files, *log.unknown):
        _side_file(storage, entry, report, notes)


def _side_file(storage: Storage, entry: FileInfo, report: Report, notes: list[str]) -> None:
    """Tell a side file's size, number of entries and damage; not the entries."""
    kind = kind_of_file(entry.name)
    if kind not in _READ_KINDS:
        report.file(FileFound(entry.path, kind, entry.size_bytes))
        return
    try:
        report.file(read_side_file(storage, entry.path, kind).found)
    except StorageError as error:
        notes.append(str(error))


def _size_bytes(entries: Sequence[FileInfo]) -> int:
    return sum(entry.size_bytes for entry in entries if not entry.is_folder)
