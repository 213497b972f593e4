"""Inspects a path according to its kind."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any, TextIO

from seglake.errors import ExitCode
from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.lake.lake_folder import holds_tables
from seglake.log_dirs.log_dir_search import LogDirSearch
from seglake.log_dirs.tier_keys import TierKeys
from seglake.pipelines.segment_inspect.contents import (
    Content,
    FileFound,
    LogSummary,
    SideFileSummary,
)
from seglake.pipelines.segment_inspect.errors import WrongPathError
from seglake.pipelines.segment_inspect.findings import finding_of
from seglake.pipelines.segment_inspect.folder_look import FolderLook
from seglake.pipelines.segment_inspect.json_report import json_lines
from seglake.pipelines.segment_inspect.manifest_look import inspect_manifest
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
from seglake.pipelines.segment_inspect.tier_look import inspect_tier
from seglake.segment_codec.formats.side_files.tier_names import ObjectKind, object_file
from seglake.settings.values import Properties
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
    key_paths: Properties = (),
    check: bool = False,
) -> ExitCode:
    """Print the contents at a path, and return the exit code.

    Args:
        path: a file or a folder: a path or a URI.
        storage: the storage of all places.
        records: whether to show records too.
        as_json: whether to write the objects of `inspected`, one on each line, instead of text.
        out: stream to write to, without delay; it stays open.
        part: the part to show; an offset is looked up in a segment or a partition folder.
        key_paths: files of the private keys of encrypted remote tiers, by key id.
        check: whether to return LOOK if a person should check a finding, even one that is not
            shown, or if the path is a file that cannot be inspected. Otherwise LOOK is returned
            only if a key is missing, and DONE in all other cases.

    Raises:
        UnsupportedUriError: no storage supports this kind of URI.
        WrongPathError: the path does not exist, access is denied, or it has nothing to inspect.
        StorageError, StoreSilentError: the path cannot be read now.
    """
    inspection = _Inspection(storage, part, TierKeys(key_paths))
    found = inspection.contents(path, records=records, is_text=not as_json)
    if as_json:
        for content in found:
            for line in json_lines(content, with_payload=records):
                # ASCII: neither a name on a disk nor a terminal can break a line.
                out.write(json.dumps(line) + "\n")
    else:
        report = TextReport(out, with_payload=records)
        for content in found:
            report.show(content)
    needs_a_look = inspection.lacks_key or (check and inspection.needs_a_look)
    return ExitCode.LOOK if needs_a_look else ExitCode.DONE


def inspected(
    path: str,
    storage: Storage,
    *,
    records: bool = False,
    part: Part = _EVERYTHING,
    key_paths: Properties = (),
) -> Iterator[dict[str, Any]]:
    """Yield the contents at a path as dicts, whose `type` names the kind; the last is a summary.

    The types are file, batch, hole, defect, tail, record, entry, finding and summary. A finding has
    the same form as in other commands, and follows its item. Damage raises no error.

    Args:
        path: a file or a folder: a path or a URI.
        storage: the storage of all places.
        records: whether to yield records with keys and values, and damaged bytes, all in base64;
            otherwise no payload is yielded.
        part: the part to yield; an offset is looked up in a segment or a partition folder.
        key_paths: files of the private keys of encrypted remote tiers, by key id.

    Raises:
        UnsupportedUriError: no storage supports this kind of URI.
        WrongPathError: the path does not exist, access is denied, or it has nothing to inspect.
        StorageError, StoreSilentError: the path cannot be read now.
    """
    inspection = _Inspection(storage, part, TierKeys(key_paths))
    for content in inspection.contents(path, records=records, is_text=False):
        yield from json_lines(content, with_payload=records)


class _Inspection:
    """Inspection of a path; its public attributes are complete after all contents."""

    def __init__(self, storage: Storage, part: Part, keys: TierKeys) -> None:
        self._storage = storage
        self._part = part
        self._keys = keys
        self.needs_a_look = False
        self.lacks_key = False
        keys.check(storage)

    def contents(self, path: str, *, records: bool, is_text: bool) -> Iterator[Content]:
        """Yield the contents of the path to show."""
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
                found = self._file(info, shown)
            elif is_in_partition:
                found = FolderLook(self._storage, shown).at_partition(found_path, entries)
            else:
                found = self._folder(found_path, shown)
            yield from shown.of(self._watched(found, shown))
        except (RefusedError, NotFoundError) as error:
            raise WrongPathError(path=error.path, reason=error.reason) from error

    def _watched(self, found: Iterable[Content], shown: ShownPart) -> Iterator[Content]:
        """Yield the contents, with the number of findings in each summary."""
        counts: dict[PathKind, Counter[FindingKind]] = {kind: Counter() for kind in PathKind}
        for content in self._with_lookup(found, shown):
            if isinstance(content, FileFound):
                counts[content.kind].clear()
            finding = finding_of(content)
            if finding is not None:
                self.needs_a_look |= finding.kind.needs_a_look
                self.lacks_key |= finding.kind is FindingKind.NO_KEY
                for of_kind in counts.values():
                    of_kind[finding.kind] += 1
            if isinstance(content, LogSummary | SideFileSummary):
                yield replace(content, findings_by_kind={**counts[content.kind]})
            else:
                yield content

    def _with_lookup(self, found: Iterable[Content], shown: ShownPart) -> Iterator[Content]:
        """Yield the contents, and a finding if no record with the requested offset was shown."""
        offset = self._part.offset
        for content in found:
            if isinstance(content, LogSummary) and offset is not None and not shown.is_found:
                yield Finding(FindingKind.NO_RECORD, f"no record has offset {offset}", content.path)
            yield content

    def _folder(self, path: str, shown: ShownPart) -> Iterator[Content]:
        storage = self._storage
        if holds_tables(storage, path):
            raise WrongPathError(
                path=path,
                reason="it has the tables of a lake: query them with `seglake sql`, prove them"
                " with `seglake audit`",
            )
        search = LogDirSearch(storage=storage)
        log_dirs = search.log_dirs_at(path)
        if not (log_dirs or search.tier_folders):
            raise WrongPathError(
                path=path,
                reason="it is a folder, but neither a partition's nor a broker's log dir, and no"
                " folder below it is one; give one of those, or a file in them",
            )
        if self._part.is_of_offsets:
            raise WrongPathError(
                path=path, reason="an offset is looked up in one partition: give its folder"
            )
        of_tiers = inspect_tier(storage, search.tier_folders, self._keys)
        partitions = {name for log_dir in log_dirs for name in log_dir.partition_folders}
        findings = [Finding(FindingKind.LEFT_OUT, str(e), e.path) for e in search.closed.values()]
        for files in search.unread:
            is_accounted = files.is_accounted(partitions)
            kind = FindingKind.IN_TIER if is_accounted else FindingKind.NOT_READ
            findings.append(Finding(kind, files.reason, files.place))
        if log_dirs:
            look = FolderLook(storage, shown)
            return chain(of_tiers, look.at_log_dirs(path, log_dirs, findings))
        whole = FileFound(path, PathKind.FOLDER, 0)
        return chain(of_tiers, [whole, *findings, SideFileSummary(whole)] if findings else ())

    def _file(self, info: FileInfo, shown: ShownPart) -> Iterator[Content]:
        storage, path = self._storage, info.path
        with storage.open_reader(path) as reader:
            reader.read(0, 1)  # an unreadable file should fail before anything is shown
        manifest = self._manifest_of(info)
        if manifest is not None:
            return inspect_manifest(storage, manifest, self._keys, shown)
        kind = kind_of_file(_name(path))
        if kind is PathKind.UNKNOWN:
            if claimed_first_offset(storage, path) is not None:
                kind = PathKind.LOG
            elif is_packed(_name(path)):
                raise WrongPathError(
                    path=path, reason="it is an archive: unpack it, and inspect the unpacked files"
                )
            else:
                self.needs_a_look = True  # nothing is inspected, so nothing is checked
        if kind in SEGMENT_KINDS:
            return inspect_segment(storage, path, kind, shown)
        if self._part.offset is not None:
            raise WrongPathError(
                path=path, reason="an offset is looked up in a segment or in a partition folder"
            )
        return inspect_side_file(storage, path, kind)

    def _manifest_of(self, info: FileInfo) -> FileInfo | None:
        """Return the manifest that an object of Aiven's tiered storage has, or is; else None."""
        if kind_of_file(info.name) is PathKind.RSM_MANIFEST:
            return info
        name = object_file(info.name)
        if name is None:
            return None
        folder = info.path.rpartition("/")[0] or "/"
        return self._storage.info(self._storage.join(folder, name.sibling(ObjectKind.MANIFEST)))


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]
