"""What a path is, and which look it gets. Effect."""

import json
from collections.abc import Iterator
from typing import Any, TextIO

from seglake.log_dirs.log_dir_search import has_log_dir_files, list_folders
from seglake.pipelines.segment_inspect.errors import WrongPathError
from seglake.pipelines.segment_inspect.findings import Finding
from seglake.pipelines.segment_inspect.folder_look import inspect_log_dir, inspect_partition_folder
from seglake.pipelines.segment_inspect.json_report import json_line
from seglake.pipelines.segment_inspect.partition_log import is_partition
from seglake.pipelines.segment_inspect.path_kinds import PathKind, kind_of_file
from seglake.pipelines.segment_inspect.segment_look import claimed_first_offset, inspect_segment
from seglake.pipelines.segment_inspect.side_files import inspect_side_file
from seglake.pipelines.segment_inspect.text_report import TextReport
from seglake.segment_codec.log_dir import FileKind, parse_file_name
from seglake.storage.errors import NotFoundError, RefusedError
from seglake.storage.storage import FileInfo, Storage

_SEGMENT_KINDS = (PathKind.LOG, PathKind.KRAFT_SNAPSHOT)


def inspect(
    path: str, storage: Storage, *, records: bool, offset: int | None, as_json: bool, out: TextIO
) -> int:
    """Print what lies at a path; 0 whatever the bytes are.

    Args:
        as_json: one object a line, as `inspected` yields them; otherwise text.
        out: borrowed; written to as findings come.

    Raises:
        As `inspected`.
    """
    if as_json:
        for line in inspected(path, storage, records=records, offset=offset):
            # Escaped to ASCII, so that no name on a disk and no terminal can spoil a line.
            out.write(json.dumps(line) + "\n")
    else:
        report = TextReport(out, with_payload=records)
        for finding in _findings(path, storage, records=records, offset=offset):
            report.show(finding)
    return 0


def inspected(
    path: str, storage: Storage, *, records: bool = False, offset: int | None = None
) -> Iterator[dict[str, Any]]:
    """What lies at a path, one dict per finding; its `type` says what it is, the last is a summary.

    The types are file, batch, defect, tail, record, entry and summary. Damage raises nothing.

    Args:
        records: also the records with their keys and values, and damaged bytes, in base64; without
            it no payload is shown.
        offset: look for this offset only; for a segment, its offset index or a partition folder.

    Raises:
        UnsupportedUriError: the path is none of a storage that is known.
        WrongPathError: nothing is there, it may not be read, or it is nothing to look into.
        StorageError, StoreSilentError: it cannot be read now.
    """
    for finding in _findings(path, storage, records=records, offset=offset):
        line = json_line(finding, with_payload=records)
        if line is not None:
            yield line


def _findings(
    path: str, storage: Storage, *, records: bool, offset: int | None
) -> Iterator[Finding]:
    found_path = storage.locate(path)
    try:
        info = storage.info(found_path)
        if info is None:
            raise WrongPathError(
                path=path, reason="there is no such file or folder; check the path"
            )
        if info.is_folder:
            yield from _folder_findings(storage, found_path, records=records, offset=offset)
        else:
            yield from _file_findings(storage, found_path, records=records, offset=offset)
    except (RefusedError, NotFoundError) as error:
        raise WrongPathError(path=error.path, reason=error.reason) from error


def _folder_findings(
    storage: Storage, path: str, *, records: bool, offset: int | None
) -> Iterator[Finding]:
    entries = tuple(storage.list_folder(path))
    if is_partition(path.rsplit("/", 1)[-1], entries):
        return inspect_partition_folder(storage, path, entries, records=records, offset=offset)
    if not has_log_dir_files(entries) and not _has_partitions(storage, entries):
        raise WrongPathError(
            path=path,
            reason="it is a folder, but neither a partition's nor a broker's log dir; give one of "
            "those, or a file in them",
        )
    if offset is not None:
        raise WrongPathError(
            path=path, reason="an offset is looked up in one partition: give its folder"
        )
    return inspect_log_dir(storage, path, entries, records=records)


def _has_partitions(storage: Storage, entries: tuple[FileInfo, ...]) -> bool:
    folders, _ = list_folders(storage, entries)
    return any(is_partition(name, listing) for name, listing in folders.items())


def _file_findings(
    storage: Storage, path: str, *, records: bool, offset: int | None
) -> Iterator[Finding]:
    with storage.open_reader(path) as reader:
        reader.read(0, 1)  # so that a file that cannot be read fails before anything is shown
    kind = kind_of_file(path.rsplit("/", 1)[-1])
    if kind is PathKind.UNKNOWN and claimed_first_offset(storage, path) is not None:
        kind = PathKind.LOG
    if kind in _SEGMENT_KINDS:
        return inspect_segment(storage, path, kind, records=records, offset=offset)
    if offset is None:
        return inspect_side_file(storage, path, kind)
    if kind is not PathKind.INDEX:
        raise WrongPathError(
            path=path,
            reason="an offset is looked up in a segment, in its .index file, or in a partition "
            "folder",
        )
    log_path = _log_beside(storage, path)
    return inspect_segment(storage, log_path, PathKind.LOG, records=records, offset=offset)


def _log_beside(storage: Storage, path: str) -> str:
    folder, _, name = path.rpartition("/")
    log_path = storage.join(folder or "/", name.replace(f".{FileKind.INDEX}", f".{FileKind.LOG}"))
    if parse_file_name(name) is None or storage.info(log_path) is None:
        raise WrongPathError(path=path, reason=f"the segment beside it, {log_path}, is not there")
    return log_path
