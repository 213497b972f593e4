"""Finds the log dirs below sources by their content, each once. Effect: lists folders.

A log dir is a folder with broker files or with partition folders in it. A partition folder is one
with such a name and with segment files, since `broker-0` could be either by its name.
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
from seglake.segment_codec.formats.side_files.known_names import (
    OF_LOG_DIR,
    OF_PARTITION,
    Place,
    Use,
    known_name,
)
from seglake.segment_codec.formats.side_files.log_dir import (
    FolderKind,
    parse_file_name,
    parse_folder_name,
    parse_metadata_snapshot_name,
)
from seglake.segment_codec.formats.side_files.unread_names import parse_compressed_name
from seglake.storage.errors import NotFoundError, RefusedError, StorageError, UnsupportedUriError
from seglake.storage.many_requests import each
from seglake.storage.storage import FileInfo, Storage

MOST_LEVELS = 8

_NOT_SEARCHED = "lost+found"  # the file system's own folder: unreadable, without log dirs
Listings = dict[str, tuple[FileInfo, ...]]  # entries by folder
Closed = dict[str, StorageError]  # errors by folder that cannot be listed, links resolved


@dataclass(frozen=True, slots=True)
class FoundLogDir:
    """A log dir with the listing of each of its partition folders that was asked for.

    Attributes:
        unreadable: reasons by name of partition folders that cannot be listed.
        is_whole: all partition folders were asked for, not a single one.
    """

    path: str
    entries: tuple[FileInfo, ...]
    partition_folders: Listings
    unreadable: dict[str, str]
    is_whole: bool = True

    @property
    def is_parent_only(self) -> bool:
        """Return whether it has no broker files, and only a partition folder was asked for."""
        return not (self.is_whole or has_log_dir_files(self.entries))

    def has(self, name: str) -> bool:
        """Return whether a folder is, or may be, one of its partitions."""
        return name in self.partition_folders or name in self.unreadable


def find_sources(
    sources: Sequence[str],
    storage: Storage,
    notes: list[str],
    unreadable: dict[str, str],
    unread: list[UnreadFiles],
) -> list[FoundLogDir]:
    """Return the log dirs at or below the sources, in their order.

    Args:
        sources: paths or URIs.
        storage: storage of the sources.
        notes: receives a sentence for each folder reached twice, for example by a link.
        unreadable: receives sources and folders that cannot be searched, with the reason.
        unread: receives files that are recognised and not read.

    Raises:
        WrongSourceError: a source is missing, no folder or no log dir, or the storage refuses all
            of them.
        StorageError: no source can be listed now.
        StoreSilentError: a store does not answer.
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
    """Return whether a later try will fail in the same way."""
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
    """Return the log dirs at or below one source.

    Raises:
        WrongSourceError: there is none in any folder that could be listed.
        StorageError: the source, or all log dirs, cannot be listed.
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
    """Return a sentence about content that could become a log dir; empty without any."""
    forms = {
        UnreadKind.ARCHIVE: "archives ({}): unpack them",
        UnreadKind.TIER_OBJECT: "objects of a remote tier ({}), which are not read",
        UnreadKind.FOLDER: "segments ({}) in a folder whose name is no partition's: rename it to"
        " TOPIC-PARTITION",
    }
    found = {files.kind: files for files in reversed(unread) if files.kind in forms}
    listed = " and ".join(forms[kind].format(files.example) for kind, files in found.items())
    return f". It holds {listed}" if listed else ""


def find_log_dirs(
    storage: Storage, path: str, parents: Listings, closed: Closed, unread: list[UnreadFiles]
) -> list[FoundLogDir]:
    """Return all log dirs at or below the path, in the order of their paths.

    Args:
        storage: storage of the path.
        path: a folder.
        parents: cache of listings of folders above partition folders.
        closed: receives folders that cannot be listed, with the error.
        unread: receives files outside of partition folders that are recognised and not read.
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
    """Search downwards from a source; it collects folders that cannot be listed, and unread files.

    In its methods, `above` has the folders on the way, links resolved: a link back to one ends
    there.
    """

    def __init__(self, storage: Storage, closed: Closed, unread: list[UnreadFiles]) -> None:
        """Store the lists that receive the findings.

        Args:
            storage: storage of the source; borrowed.
            closed: receives folders that cannot be listed, with the error.
            unread: receives files that are recognised and not read.
        """
        self._storage = storage
        self._closed = closed
        self._unread = unread

    def log_dirs(
        self, path: str, entries: tuple[FileInfo, ...], above: tuple[str, ...]
    ) -> list[FoundLogDir]:
        """Return the log dirs at or below a folder."""
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
        """Report segments in folders inside a partition folder, where no broker has any."""
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
        """Return a log dir, and report segments in its other folders."""
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
        """Report the segments in and below a folder where no broker has any."""
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
        """Yield the folders to search next: name, listing, and the folders on the way."""
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
        """Record folders that cannot be listed."""
        place = self._storage.without_links(path)
        for name, error in problems.items():
            self._closed.setdefault(self._storage.join(place, name), error)


def _no_way(entry: FileInfo) -> StorageError:
    """Return the error of an entry that can be neither listed nor read."""
    return RefusedError(action="open", path=entry.path, reason=entry.problem)


def _has_partitions(folders: Listings) -> bool:
    """Return whether one of the folders is a partition folder."""
    return any(is_partition_folder(name, listing) for name, listing in folders.items())


def _is_known(name: str) -> bool:
    """Return whether a broker gives this name to an entry of a log dir."""
    return any(known_name(Place.LOG_DIR, name, is_folder=of) is not None for of in (False, True))


def _is_unused(name: str) -> bool:
    """Return whether a broker has a folder of this name without segments."""
    row = known_name(Place.LOG_DIR, name, is_folder=True)
    return row is not None and row.use is Use.UNUSED


def list_folders(
    storage: Storage, entries: tuple[FileInfo, ...]
) -> tuple[Listings, dict[str, StorageError]]:
    """Return the listings of the folders, and the errors of unreadable ones, by name."""
    searched = [entry for entry in entries if entry.is_folder and entry.name != _NOT_SEARCHED]

    def listed(folder: FileInfo) -> tuple[FileInfo, ...] | StorageError:
        try:
            return tuple(storage.list_folder(folder.path))
        except StorageError as error:
            return error

    folders: Listings = {}
    unreadable: dict[str, StorageError] = {}
    place = searched[0].path if searched else ""
    answers = each(listed, searched, storage=storage, path=place)
    for entry, answer in zip(searched, answers, strict=True):
        if not isinstance(answer, StorageError):
            folders[entry.name] = answer
        elif not isinstance(answer, NotFoundError):  # ignore a folder that vanished meanwhile
            unreadable[entry.name] = answer
    return folders, unreadable


def has_log_dir_files(entries: Iterable[FileInfo]) -> bool:
    """Return whether the entries include a file that a broker keeps in a log dir."""
    return any(entry.name in OF_LOG_DIR for entry in entries)


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
            or entry.name in OF_PARTITION
        )
        for entry in entries
    )
