"""Inspects a path by its kind. Effect."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

from seglake.errors import ExitCode
from seglake.lake.lake_folder import holds_tables
from seglake.log_dirs.log_dir_search import Closed, find_log_dirs, has_log_dir_files, list_folders
from seglake.log_dirs.unread_files import unread_files
from seglake.pipelines.segment_inspect.contents import Content
from seglake.pipelines.segment_inspect.errors import WrongPathError
from seglake.pipelines.segment_inspect.folder_look import (
    inspect_log_dir,
    inspect_log_dirs,
    inspect_partition_folder,
)
from seglake.pipelines.segment_inspect.json_report import json_line
from seglake.pipelines.segment_inspect.need_of_look import needs_look
from seglake.pipelines.segment_inspect.partition_log import is_partition
from seglake.pipelines.segment_inspect.path_kinds import (
    SEGMENT_KINDS,
    PathKind,
    is_packed,
    kind_of_file,
)
from seglake.pipelines.segment_inspect.segment_look import claimed_first_offset, inspect_segment
from seglake.pipelines.segment_inspect.shown_part import Part, ShownPart
from seglake.pipelines.segment_inspect.side_files import inspect_side_file
from seglake.pipelines.segment_inspect.text_report import TextReport
from seglake.storage.errors import NotFoundError, RefusedError
from seglake.storage.storage import FileInfo, Storage

_EVERYTHING = Part()


def inspect(
    path: str,
    storage: Storage,
    *,
    records: bool,
    as_json: bool,
    out: TextIO,
    part: Part = _EVERYTHING,
    check: bool = False,
) -> ExitCode:
    """Print the contents at a path, and return the exit code.

    Args:
        path: a file or a folder: a path or a URI.
        storage: the storage of all places.
        records: show records too.
        as_json: write one object of `inspected` per line; otherwise text.
        out: stream to write to at once; it stays open.
        part: the part to show; an offset is looked up in a segment or a partition folder.
        check: return LOOK if something needs a look, shown or not, or no record has the requested
            offset. Without it, return DONE.

    Raises:
        UnsupportedUriError: no storage supports this kind of URI.
        WrongPathError: nothing is there, access is denied, or it is nothing to inspect.
        StorageError, StoreSilentError: it cannot be read now.
    """
    inspection = _Inspection(storage, part)
    found = inspection.contents(path, records=records, is_text=not as_json)
    if as_json:
        for content in found:
            # Escaped to ASCII, so that no name on a disk and no terminal can spoil a line.
            out.write(json.dumps(json_line(content, with_payload=records)) + "\n")
    else:
        report = TextReport(out, with_payload=records)
        for content in found:
            report.show(content)
    return ExitCode.LOOK if check and inspection.needs_look else ExitCode.DONE


def inspected(
    path: str, storage: Storage, *, records: bool = False, part: Part = _EVERYTHING
) -> Iterator[dict[str, Any]]:
    """Yield the contents at a path as dicts, whose `type` names the kind; the last is a summary.

    The types are file, batch, hole, defect, tail, record, entry and summary. Damage raises nothing.

    Args:
        path: a file or a folder: a path or a URI.
        storage: the storage of all places.
        records: yield records with their keys and values too, and damaged bytes, in base64;
            without it no payload is yielded.
        part: the part to yield; an offset is looked up in a segment or a partition folder.

    Raises:
        UnsupportedUriError: no storage supports this kind of URI.
        WrongPathError: nothing is there, access is denied, or it is nothing to inspect.
        StorageError, StoreSilentError: it cannot be read now.
    """
    inspection = _Inspection(storage, part)
    for content in inspection.contents(path, records=records, is_text=False):
        yield json_line(content, with_payload=records)


class _Inspection:
    """Inspection of a path by its kind; `needs_look` is complete after all contents."""

    def __init__(self, storage: Storage, part: Part) -> None:
        self._storage = storage
        self._part = part
        self.needs_look = False

    def contents(self, path: str, *, records: bool, is_text: bool) -> Iterator[Content]:
        """Yield the contents to show."""
        found_path = self._storage.locate(path)
        try:
            info = self._storage.info(found_path)
            if info is None:
                raise WrongPathError(
                    path=path, reason="there is no such file or folder; check the path"
                )
            entries = tuple(self._storage.list_folder(found_path)) if info.is_folder else ()
            is_in_partition = not info.is_folder or is_partition(_name(found_path), entries)
            is_brief = is_text and not (records or is_in_partition)
            shown = ShownPart(self._part, records=records, is_brief=is_brief)
            if not info.is_folder:
                found = self._file(found_path, shown)
            elif is_in_partition:
                found = inspect_partition_folder(self._storage, found_path, entries, shown)
            else:
                found = self._folder(found_path, entries, shown)
            yield from shown.of(self._watched(found))
            self.needs_look |= self._part.offset is not None and not shown.is_found
        except (RefusedError, NotFoundError) as error:
            raise WrongPathError(path=error.path, reason=error.reason) from error

    def _watched(self, found: Iterable[Content]) -> Iterator[Content]:
        for content in found:
            self.needs_look = self.needs_look or needs_look(content)
            yield content

    def _folder(
        self, path: str, entries: tuple[FileInfo, ...], shown: ShownPart
    ) -> Iterator[Content]:
        storage = self._storage
        if holds_tables(storage, path):
            raise WrongPathError(
                path=path,
                reason="it holds the tables of a lake: query them with `seglake sql`, prove them"
                " with `seglake audit`",
            )
        closed: Closed = {}
        is_log_dir = has_log_dir_files(entries) or _has_partitions(storage, entries)
        below = [] if is_log_dir else find_log_dirs(storage, path, {}, closed, [])
        if not is_log_dir and not below:
            raise WrongPathError(
                path=path,
                reason="it is a folder, but neither a partition's nor a broker's log dir, and no"
                " folder below it is one; give one of those, or a file in them",
            )
        if self._part.is_of_offsets:
            raise WrongPathError(
                path=path, reason="an offset is looked up in one partition: give its folder"
            )
        if is_log_dir:
            return inspect_log_dir(storage, path, entries, shown)
        if len(below) == 1 and not closed and not unread_files(path, entries):
            (only,) = below
            return inspect_log_dir(storage, only.path, only.entries, shown)
        return inspect_log_dirs(storage, path, below, closed, entries, shown)

    def _file(self, path: str, shown: ShownPart) -> Iterator[Content]:
        storage = self._storage
        with storage.open_reader(path) as reader:
            reader.read(0, 1)  # an unreadable file fails before anything is shown
        kind = kind_of_file(_name(path))
        if kind is PathKind.UNKNOWN:
            if claimed_first_offset(storage, path) is not None:
                kind = PathKind.LOG
            elif is_packed(_name(path)):
                raise WrongPathError(
                    path=path, reason="it is an archive: unpack it, and inspect what was in it"
                )
        if kind in SEGMENT_KINDS:
            return inspect_segment(storage, path, kind, shown)
        if self._part.offset is not None:
            raise WrongPathError(
                path=path, reason="an offset is looked up in a segment or in a partition folder"
            )
        return inspect_side_file(storage, path, kind)


def _has_partitions(storage: Storage, entries: tuple[FileInfo, ...]) -> bool:
    folders, _ = list_folders(storage, entries)
    return any(is_partition(name, listing) for name, listing in folders.items())


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]
