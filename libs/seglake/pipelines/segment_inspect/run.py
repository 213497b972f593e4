"""What a path is, and which look it gets. Effect."""

from typing import TextIO

from seglake.pipelines.segment_inspect.errors import WrongPathError
from seglake.pipelines.segment_inspect.findings import Report
from seglake.pipelines.segment_inspect.folder_look import inspect_log_dir, inspect_partition_folder
from seglake.pipelines.segment_inspect.json_report import JsonReport
from seglake.pipelines.segment_inspect.path_kinds import (
    PathKind,
    has_log_dir_files,
    is_partition_folder,
    kind_of_file,
)
from seglake.pipelines.segment_inspect.segment_look import inspect_segment, looks_like_segment
from seglake.pipelines.segment_inspect.side_files import inspect_side_file
from seglake.pipelines.segment_inspect.text_report import TextReport
from seglake.segment_codec.log_dir import FileKind, parse_file_name
from seglake.storage.errors import NotFoundError, RefusedError, StorageError
from seglake.storage.storage import FileInfo, Storage

_SEGMENT_KINDS = (PathKind.LOG, PathKind.KRAFT_SNAPSHOT)


def inspect(
    path: str, storage: Storage, *, records: bool, offset: int | None, as_json: bool, out: TextIO
) -> int:
    """Show what lies at a path; 0 whatever the bytes are.

    Args:
        records: show records with their keys and values; without it no payload is shown.
        offset: look for this offset only; for a segment, its offset index or a partition folder.
        out: borrowed; written to as findings come.

    Raises:
        UnsupportedUriError: the path is none of a storage that is known.
        WrongPathError: nothing is there, it may not be read, or it is nothing to look into.
        StorageError, StoreSilentError: it cannot be read now.
    """
    found_path = storage.locate(path)
    try:
        info = storage.info(found_path)
        if info is None:
            raise WrongPathError(
                path=path, reason="there is no such file or folder; check the path"
            )
        if info.is_folder:
            _inspect_folder(storage, found_path, records, offset, as_json, out)
        else:
            _inspect_file(storage, found_path, records, offset, as_json, out)
    except (RefusedError, NotFoundError) as error:
        raise WrongPathError(path=error.path, reason=error.reason) from error
    return 0


def _report(out: TextIO, *, as_json: bool, with_payload: bool, is_brief: bool = False) -> Report:
    if as_json:
        return JsonReport(out, with_payload=with_payload)
    return TextReport(out, with_payload=with_payload, is_brief=is_brief)


def _inspect_folder(
    storage: Storage, path: str, records: bool, offset: int | None, as_json: bool, out: TextIO
) -> None:
    entries = tuple(storage.list_folder(path))
    if is_partition_folder(path.rsplit("/", 1)[-1], entries):
        report = _report(out, as_json=as_json, with_payload=records)
        inspect_partition_folder(storage, path, entries, report, records=records, offset=offset)
        return
    if not has_log_dir_files(entries) and not _has_partition_folder(storage, entries):
        raise WrongPathError(
            path=path,
            reason="it is a folder, but neither a partition's nor a broker's log dir; give one of "
            "those, or a file in them",
        )
    if offset is not None:
        raise WrongPathError(
            path=path, reason="an offset is looked up in one partition: give its folder"
        )
    report = _report(out, as_json=as_json, with_payload=records, is_brief=not records)
    inspect_log_dir(storage, path, entries, report, records=records)


def _has_partition_folder(storage: Storage, entries: tuple[FileInfo, ...]) -> bool:
    for entry in entries:
        if entry.is_folder:
            try:
                listed = storage.list_folder(entry.path)
            except StorageError:
                continue
            if is_partition_folder(entry.name, listed):
                return True
    return False


def _inspect_file(
    storage: Storage, path: str, records: bool, offset: int | None, as_json: bool, out: TextIO
) -> None:
    with storage.open_reader(path) as reader:
        reader.read(0, 1)  # so that a file that cannot be read is told before anything is shown
    kind = kind_of_file(path.rsplit("/", 1)[-1])
    report = _report(out, as_json=as_json, with_payload=records)
    is_segment = kind in _SEGMENT_KINDS or (
        kind is PathKind.UNKNOWN and looks_like_segment(storage, path)
    )
    if is_segment:
        kind = PathKind.LOG if kind is PathKind.UNKNOWN else kind
        inspect_segment(storage, path, kind, report, records=records, offset=offset)
    elif offset is None:
        inspect_side_file(storage, path, kind, report)
    elif kind is PathKind.INDEX:
        log_path = _log_beside(storage, path)
        inspect_segment(storage, log_path, PathKind.LOG, report, records=records, offset=offset)
    else:
        raise WrongPathError(
            path=path,
            reason="an offset is looked up in a segment, in its .index file, or in a partition "
            "folder",
        )


def _log_beside(storage: Storage, path: str) -> str:
    folder, _, name = path.rpartition("/")
    log_path = storage.join(folder or "/", name.replace(f".{FileKind.INDEX}", f".{FileKind.LOG}"))
    if parse_file_name(name) is None or storage.info(log_path) is None:
        raise WrongPathError(path=path, reason=f"the segment beside it, {log_path}, is not there")
    return log_path
