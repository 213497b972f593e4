"""Finds the log dirs below sources by what they hold, each once. Effect: lists folders.

A log dir is a folder with broker files or with partition folders in it; a partition folder is one
whose name says so and that holds segment files, since `broker-0` could be either by its name.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from seglake.log_dirs.errors import WrongSourceError
from seglake.log_dirs.file_sources import why_no_source
from seglake.log_dirs.unread_files import (
    UnreadFiles,
    UnreadKind,
    files_with_records,
    segments_of,
    unread_files,
)
from seglake.segment_codec.formats.side_files.known_names import Place, Use, known_name
from seglake.segment_codec.formats.side_files.log_dir import (
    FolderKind,
    SideFile,
    parse_file_name,
    parse_folder_name,
    parse_metadata_snapshot_name,
)
from seglake.segment_codec.formats.side_files.unread_names import parse_compressed_name
from seglake.storage.errors import NotFoundError, RefusedError, StorageError, UnsupportedUriError
from seglake.storage.many_requests import each
from seglake.storage.storage import FileInfo, Storage

MOST_LEVELS = 8

_LOG_DIR_FILES = frozenset(
    {
        SideFile.META_PROPERTIES,
        SideFile.HIGH_WATERMARKS,
        SideFile.RECOVERY_POINTS,
        SideFile.LOG_START_OFFSETS,
        SideFile.CLEANER_OFFSETS,
    }
)
_NOT_SEARCHED = "lost+found"  # the file system's own: closed on most disks, without log dirs
Listings = dict[str, tuple[FileInfo, ...]]  # by folder
Closed = dict[str, StorageError]  # folders that cannot be listed, by their place without links

_FOLDER_FILES = frozenset({SideFile.PARTITION_METADATA, SideFile.LEADER_EPOCHS})


@dataclass(frozen=True, slots=True)
class FoundLogDir:
    """A log dir with the listing of each partition folder to take from it.

    `is_whole` unless one partition folder was asked for.
    """

    path: str
    entries: tuple[FileInfo, ...]
    partition_folders: Listings
    unreadable: dict[str, str]  # partition folders that cannot be listed, and why
    is_whole: bool = True

    @property
    def is_parent_only(self) -> bool:
        """Return whether it has no broker files, and a partition folder of it was asked for."""
        return not (self.is_whole or has_log_dir_files(self.entries))

    def has(self, name: str) -> bool:
        """Return whether a folder is one of its partitions, or may be."""
        return name in self.partition_folders or name in self.unreadable


def find_sources(
    sources: Sequence[str],
    storage: Storage,
    notes: list[str],
    unreadable: dict[str, str],
    unread: list[UnreadFiles],
) -> list[FoundLogDir]:
    """Find the log dirs at or below the sources, in their order; a link to one of them is noted.

    Args:
        unreadable: sources, and folders below them, that cannot be searched, and why; added to.
        unread: files below them that are recognised and not read; added to.

    Raises:
        WrongSourceError: a source is missing, no folder or no log dir, or the storage lets us into
            none of them.
        StorageError, StoreSilentError: they may be there another time.
    """
    found: dict[str, FoundLogDir] = {}
    parents: Listings = {}
    failures: list[StorageError] = []
    for source in sources:
        try:
            log_dirs = _log_dirs_of(source, storage, parents, unreadable, unread)
        except StorageError as error:
            failures.append(error)
            unreadable[error.path] = str(error)
            continue
        for log_dir in log_dirs:
            place = storage.without_links(log_dir.path)
            if place not in found:
                found[place] = log_dir
                continue
            known = found[place]
            if known.path != log_dir.path:
                notes.append(f"{log_dir.path} is the same folder as {known.path}: it is read once")
            for name, listing in log_dir.partition_folders.items():
                known.partition_folders.setdefault(name, listing)
            known.unreadable.update(log_dir.unreadable)
            found[place] = replace(known, is_whole=known.is_whole or log_dir.is_whole)
    if failures and not found:
        raise refused_or_failed(failures[0]) from failures[0]
    return list(found.values())


def is_refused(error: StorageError) -> bool:
    """Return whether it will be the same another time."""
    return isinstance(error, RefusedError | NotFoundError)


def refused_or_failed(error: StorageError) -> Exception:
    """Return the error of the whole call: a wrong call if the error is permanent."""
    if is_refused(error):
        return WrongSourceError(f"the source is refused: {error}")
    return error


def _log_dirs_of(
    source: str,
    storage: Storage,
    parents: Listings,
    unreadable: dict[str, str],
    unread: list[UnreadFiles],
) -> list[FoundLogDir]:
    """Find the log dirs at or below one source.

    Raises:
        WrongSourceError: there is none, whatever could be listed.
        StorageError: it cannot be listed.
    """
    closed: Closed = {}
    try:
        path = storage.locate(source)
        info = storage.info(path)
        if info is None:
            if problem := storage.link_problem(path):
                raise RefusedError(action="open", path=path, reason=problem)
            raise WrongSourceError(f"source {source} does not exist: check the path")
        if not info.is_folder:
            raise WrongSourceError(why_no_source(source))
        log_dirs = find_log_dirs(storage, path, parents, closed, unread)
    except (NotFoundError, UnsupportedUriError) as error:
        raise WrongSourceError(f"the source is refused: {error}") from error
    unreadable |= {place: str(error) for place, error in closed.items()}
    if closed and not log_dirs:
        raise next(iter(closed.values()))
    if not log_dirs:
        raise WrongSourceError(
            f"source {source} holds no log dir of a Kafka broker: no folder below it has "
            "meta.properties, offset checkpoints, or partition folders with segments"
            f"{_instead(unread)}"
        )
    return log_dirs


def _instead(unread: Sequence[UnreadFiles]) -> str:
    """Say what a source without a log dir has that could become one."""
    said = {
        UnreadKind.ARCHIVE: "archives ({}): unpack them",
        UnreadKind.TIER_OBJECT: "objects of a remote tier ({}), which are not read",
        UnreadKind.FOLDER: "segments ({}) in a folder whose name is no partition's: rename it to"
        " TOPIC-PARTITION",
    }
    found = {files.kind: files for files in reversed(unread) if files.kind in said}
    listed = " and ".join(said[kind].format(files.example) for kind, files in found.items())
    return f". It holds {listed}" if listed else ""


def find_log_dirs(
    storage: Storage, path: str, parents: Listings, closed: Closed, unread: list[UnreadFiles]
) -> list[FoundLogDir]:
    """Find all log dirs at or below the path, in the order of their paths.

    Args:
        parents: folders above partition folders that were listed before; added to.
        closed: folders above log dirs, or log dirs, that cannot be listed; added to.
        unread: files outside of partition folders that are recognised and not read; added to.
    """
    entries = tuple(storage.list_folder(path))
    search = _Search(storage, closed, unread)
    place = storage.without_links(path)
    parent, _, name = place.rpartition("/")
    if is_partition_folder(name, entries):
        search.below_partition(name, path, entries)
        parent = parent or "/"
        if parent not in parents:
            parents[parent] = tuple(storage.list_folder(parent))
        return [FoundLogDir(parent, parents[parent], {name: entries}, {}, is_whole=False)]
    return search.log_dirs(path, entries, (place,))


class _Search:
    """Walks down from a source; what it cannot list, or does not read, is added to two lists.

    `above` are the folders that led to one, without links: a link back to one of them ends there.
    """

    def __init__(self, storage: Storage, closed: Closed, unread: list[UnreadFiles]) -> None:
        self._storage = storage
        self._closed = closed
        self._unread = unread

    def log_dirs(
        self, path: str, entries: tuple[FileInfo, ...], above: tuple[str, ...]
    ) -> list[FoundLogDir]:
        """Find the log dirs at or below a folder."""
        self._unread += unread_files(path, entries)
        segments = files_with_records(Place.LOG_DIR, entries)
        folders, problems = list_folders(self._storage, entries)
        if has_log_dir_files(entries) or _has_partitions(folders):
            self._unread += segments_of(path, UnreadKind.LOOSE_SEGMENT, segments)
            return [self._log_dir(path, entries, folders, problems)]
        self._unread += segments_of(path, UnreadKind.FOLDER, segments)
        problems |= {entry.name: _no_way(entry) for entry in entries if entry.problem}
        self._close(path, problems)
        return [
            found
            for name, listing, places in self._below(path, folders, above)
            for found in self.log_dirs(self._storage.join(path, name), listing, places)
        ]

    def below_partition(self, name: str, path: str, entries: tuple[FileInfo, ...]) -> None:
        """Look for segments in the folders of a partition folder, where no broker has any."""
        folder = parse_folder_name(name)
        is_read = folder is not None and folder.kind in (FolderKind.LIVE, FolderKind.FUTURE)
        if not is_read or not any(entry.is_folder for entry in entries):
            return
        folders, problems = list_folders(self._storage, entries)
        self._close(path, problems)
        for inner, listing in folders.items():
            place = self._storage.join(path, inner)
            self._stray_folder(place, listing, (self._storage.without_links(path),))

    def _log_dir(
        self,
        path: str,
        entries: tuple[FileInfo, ...],
        folders: Listings,
        problems: dict[str, StorageError],
    ) -> FoundLogDir:
        problems = problems | {entry.name: _no_way(entry) for entry in entries if entry.problem}
        lost = {name: str(why) for name, why in problems.items() if parse_folder_name(name)}
        others = {name: why for name, why in problems.items() if name not in lost}
        self._close(path, {name: why for name, why in others.items() if not _is_known(name)})
        partitions: Listings = {}
        for name, listing in folders.items():
            folder = self._storage.join(path, name)
            if is_partition_folder(name, listing):
                self.below_partition(name, folder, listing)
                partitions[name] = listing
            elif not listing and parse_folder_name(name):
                partitions[name] = listing
            elif not _is_unused(name):
                self._stray_folder(folder, listing, (self._storage.without_links(path),))
        return FoundLogDir(path, entries, partitions, lost)

    def _stray_folder(
        self, path: str, entries: tuple[FileInfo, ...], above: tuple[str, ...]
    ) -> None:
        """Name the segments at and below a folder where no broker has any."""
        parent, _, name = path.rpartition("/")
        self._unread += unread_files(path, entries)
        folders, problems = list_folders(self._storage, entries)
        if has_log_dir_files(entries) or _has_partitions(folders):
            self._unread.append(UnreadFiles(parent, parent, UnreadKind.LOG_DIR, 1, 0, name))
            return
        is_named = parse_folder_name(name) is not None
        kind = UnreadKind.RENAMED_SEGMENT if is_named else UnreadKind.FOLDER
        if is_partition_folder(name, entries):
            kind = UnreadKind.PARTITION_FOLDER
        of = Place.PARTITION if is_named else Place.LOG_DIR
        self._unread += segments_of(path, kind, files_with_records(of, entries))
        dead = (entry for entry in entries if entry.problem and parse_folder_name(entry.name))
        self._close(path, problems | {entry.name: _no_way(entry) for entry in dead})
        for inner, listing, places in self._below(path, folders, above):
            self._stray_folder(self._storage.join(path, inner), listing, places)

    def _below(
        self, path: str, folders: Listings, above: tuple[str, ...]
    ) -> Iterator[tuple[str, tuple[FileInfo, ...], tuple[str, ...]]]:
        """Yield the folders to search next: name, listing and what led there."""
        for name, listing in folders.items():
            folder = self._storage.join(path, name)
            place = self._storage.without_links(folder)
            if place in above:
                continue
            if len(above) > MOST_LEVELS:
                reason = f"it lies more than {MOST_LEVELS} folders below: give it as a source"
                self._close(path, {name: RefusedError(action="search", path=folder, reason=reason)})
                continue
            yield name, listing, (*above, place)

    def _close(self, path: str, problems: Mapping[str, StorageError]) -> None:
        place = self._storage.without_links(path)
        for name, error in problems.items():
            self._closed.setdefault(self._storage.join(place, name), error)


def _no_way(entry: FileInfo) -> StorageError:
    """Return why an entry can be neither listed nor read, as an error."""
    return RefusedError(action="open", path=entry.path, reason=entry.problem)


def _has_partitions(folders: Listings) -> bool:
    return any(is_partition_folder(name, listing) for name, listing in folders.items())


def _is_known(name: str) -> bool:
    """Return whether a broker gives this name to something in a log dir."""
    return any(known_name(Place.LOG_DIR, name, is_folder=of) is not None for of in (False, True))


def _is_unused(name: str) -> bool:
    """Return whether a broker keeps a folder of this name that holds no segment."""
    row = known_name(Place.LOG_DIR, name, is_folder=True)
    return row is not None and row.use is Use.UNUSED


def list_folders(
    storage: Storage, entries: tuple[FileInfo, ...]
) -> tuple[Listings, dict[str, StorageError]]:
    """List the folders, and return the errors of those that cannot be listed, by name."""
    wanted = [entry for entry in entries if entry.is_folder and entry.name != _NOT_SEARCHED]

    def listed(folder: FileInfo) -> tuple[FileInfo, ...] | StorageError:
        try:
            return tuple(storage.list_folder(folder.path))
        except StorageError as error:
            return error

    folders: Listings = {}
    unreadable: dict[str, StorageError] = {}
    place = wanted[0].path if wanted else ""
    answers = each(listed, wanted, storage=storage, path=place)
    for entry, answer in zip(wanted, answers, strict=True):
        if not isinstance(answer, StorageError):
            folders[entry.name] = answer
        elif not isinstance(answer, NotFoundError):  # which went while we looked
            unreadable[entry.name] = answer
    return folders, unreadable


def has_log_dir_files(entries: Iterable[FileInfo]) -> bool:
    """Return whether the files that a broker keeps in a log dir are among these."""
    return any(entry.name in _LOG_DIR_FILES for entry in entries)


def is_partition_folder(name: str, entries: Iterable[FileInfo]) -> bool:
    """Return whether a folder is a partition's by its name and content; an empty one is not."""
    if parse_folder_name(name) is None:
        return False
    return any(
        not entry.is_folder
        and (
            parse_file_name(entry.name) is not None
            or parse_compressed_name(entry.name) is not None
            or parse_metadata_snapshot_name(entry.name) is not None
            or entry.name in _FOLDER_FILES
        )
        for entry in entries
    )
