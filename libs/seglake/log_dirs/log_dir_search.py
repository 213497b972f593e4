"""Finds the log dirs at or below sources, each once, by listing folders.

A log dir is a folder that has a broker's files or partition folders. A partition folder has a name
such as `orders-0` and has segment files. The name alone is not enough, because a log dir may be
named `broker-0`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from seglake.log_dirs.errors import WrongSourceError
from seglake.log_dirs.folder_kinds import (
    has_log_dir_files,
    has_partitions,
    is_known_name,
    is_partition_folder,
    is_unused_folder,
)
from seglake.log_dirs.tier_folders import tier_folder
from seglake.log_dirs.tier_layouts import TierFolder
from seglake.log_dirs.unread_files import (
    UnreadFiles,
    UnreadKind,
    files_with_records,
    segments_of,
    unread_files,
    why_no_source,
)
from seglake.segment_codec.formats.side_files.known_names import Place
from seglake.segment_codec.formats.side_files.log_dir import (
    FolderKind,
    parse_folder_name,
)
from seglake.segment_codec.formats.side_files.tier_names import is_tier_object
from seglake.storage.errors import NotFoundError, RefusedError, StorageError, UnsupportedUriError
from seglake.storage.many_requests import each
from seglake.storage.storage import FileInfo, Storage

MOST_LEVELS = 8

_NOT_SEARCHED = "lost+found"  # file systems make this folder; only root can read it
Listings = dict[str, tuple[FileInfo, ...]]  # listings by the folder's name


class FoundLogDir(NamedTuple):
    """A log dir with the listings of its requested partition folders.

    Attributes:
        unreadable: why partition folders cannot be listed, by the folder's name.
        is_whole: whether all partition folders are requested; False if the source is a partition
            folder.
    """

    path: str
    entries: tuple[FileInfo, ...]
    partition_folders: Listings
    unreadable: dict[str, str]
    is_whole: bool = True

    @property
    def is_parent_only(self) -> bool:
        """Return whether the log dir has no broker file: it is just a partition folder's parent."""
        return not (self.is_whole or has_log_dir_files(self.entries))

    def has(self, name: str) -> bool:
        """Return whether a partition folder with this name exists, readable or not."""
        return name in self.partition_folders or name in self.unreadable


@dataclass(slots=True, kw_only=True)
class LogDirSearch:
    """Search of sources for log dirs, and all that it found.

    The argument `above` of its methods has the parent folders, with links resolved, so that a link
    to a parent is not followed.

    Attributes:
        log_dirs: the log dirs of all sources, each once, in the order of the sources.
        tier_folders: folders with objects of a remote tier.
        notes: a sentence for each log dir that was found twice, for example through a link.
        unreadable: why sources and folders cannot be searched, by path.
        unread: files that have records but are not read.
        closed: errors of folders that cannot be listed, by path without links.
        parents: cache of listings of folders above partition folders.
    """

    storage: Storage
    log_dirs: list[FoundLogDir] = field(default_factory=list)
    tier_folders: list[TierFolder] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)
    unread: list[UnreadFiles] = field(default_factory=list)
    closed: dict[str, StorageError] = field(default_factory=dict)
    parents: Listings = field(default_factory=dict)

    def search(self, sources: Sequence[str]) -> None:
        """Find the log dirs at or below the sources.

        Args:
            sources: paths or URIs.

        Raises:
            WrongSourceError: a source does not exist, is a file or has no log dir, or the storage
                denies access to all of them.
            StorageError: no source can be listed; a retry may help.
            StoreSilentError: a store does not answer.
        """
        found: dict[str, FoundLogDir] = {}
        failures: list[StorageError] = []
        for source in sources:
            try:
                log_dirs = self._of_source(source)
            except StorageError as error:
                failures.append(error)
                self.unreadable[error.path] = str(error)
                continue
            for log_dir in log_dirs:
                place = self.storage.without_links(log_dir.path)
                known = found.get(place)
                if known is not None and known.path != log_dir.path:
                    self.notes.append(
                        f"{log_dir.path} is the same folder as {known.path}: the folder is read "
                        "once"
                    )
                found[place] = log_dir if known is None else _joined(known, log_dir)
        if failures and not found:
            raise refused_or_failed(failures[0]) from failures[0]
        self.log_dirs += found.values()

    def _of_source(self, source: str) -> list[FoundLogDir]:
        """Find the log dirs at or below one source.

        Raises:
            WrongSourceError: no log dir was found.
            StorageError: the source or all log dirs cannot be listed.
        """
        own = replace(self, tier_folders=[], closed={})
        try:
            path = self.storage.locate(source)
            info = self.storage.info(path)
            if info is None:
                if problem := self.storage.link_problem(path):
                    raise RefusedError(action="open", path=path, reason=problem)
                raise WrongSourceError(f"source {source} does not exist: check the path")
            if not info.is_folder:
                raise WrongSourceError(why_no_source(source))
            log_dirs = own.log_dirs_at(path)
        except (NotFoundError, UnsupportedUriError) as error:
            raise WrongSourceError(f"the source is refused: {error}") from error
        self.unreadable |= {place: str(error) for place, error in own.closed.items()}
        self.tier_folders += own.tier_folders
        if not (log_dirs or own.tier_folders):
            nothing = WrongSourceError(
                f"source {source} has no log dir of a Kafka broker: no folder below it has "
                "meta.properties, offset checkpoints, or partition folders with segments"
                f"{_instead(self.unread)}"
            )
            raise next(iter(own.closed.values()), nothing)
        return log_dirs

    def log_dirs_at(self, path: str) -> list[FoundLogDir]:
        """Return all log dirs at or below a folder, in the order of their paths."""
        entries = tuple(self.storage.list_folder(path))
        place = self.storage.without_links(path)
        parent, _, name = place.rpartition("/")
        if not is_partition_folder(name, entries):
            return self._log_dirs(path, entries, (place,))
        self._below_partition(name, path, entries)
        parent = parent or "/"
        if parent not in self.parents:
            self.parents[parent] = tuple(self.storage.list_folder(parent))
        return [FoundLogDir(parent, self.parents[parent], {name: entries}, {}, is_whole=False)]

    def _log_dirs(
        self, path: str, entries: tuple[FileInfo, ...], above: tuple[str, ...]
    ) -> list[FoundLogDir]:
        """Find the log dirs at or below a folder."""
        self._find(path, entries)
        segments = files_with_records(Place.LOG_DIR, entries)
        folders, problems = list_folders(self.storage, entries)
        if has_log_dir_files(entries) or has_partitions(folders):
            self.unread += segments_of(path, UnreadKind.LOOSE_SEGMENT, segments)
            return [self._log_dir(path, entries, folders, problems)]
        self.unread += segments_of(path, UnreadKind.FOLDER, segments)
        problems |= {entry.name: _no_way(entry) for entry in entries if entry.problem}
        self._close(path, problems)
        return [
            found
            for name, listing, places in self._below(path, folders, above)
            for found in self._log_dirs(self.storage.join(path, name), listing, places)
        ]

    def _find(self, path: str, entries: tuple[FileInfo, ...]) -> None:
        """Record a folder of a remote tier, and unread files that have records."""
        folder = tier_folder(path, entries)
        if folder is not None:
            self.tier_folders.append(folder)
            entries = tuple(entry for entry in entries if not is_tier_object(entry.name))
        self.unread += unread_files(path, entries)

    def _below_partition(self, name: str, path: str, entries: tuple[FileInfo, ...]) -> None:
        """Record segments in subfolders of a partition folder: brokers write none there."""
        folder = parse_folder_name(name)
        is_read = folder is not None and folder.kind in (FolderKind.LIVE, FolderKind.FUTURE)
        if not is_read or not any(entry.is_folder for entry in entries):
            return
        folders, problems = list_folders(self.storage, entries)
        self._close(path, problems)
        for inner, listing in folders.items():
            place = self.storage.join(path, inner)
            self._stray_folder(place, listing, (self.storage.without_links(path),))

    def _log_dir(
        self,
        path: str,
        entries: tuple[FileInfo, ...],
        folders: Listings,
        problems: dict[str, StorageError],
    ) -> FoundLogDir:
        """Return a log dir; record segments in folders that are not partition folders."""
        problems = problems | {entry.name: _no_way(entry) for entry in entries if entry.problem}
        lost = {name: str(why) for name, why in problems.items() if parse_folder_name(name)}
        others = {name: why for name, why in problems.items() if name not in lost}
        self._close(path, {name: why for name, why in others.items() if not is_known_name(name)})
        partitions: Listings = {}
        for name, listing in folders.items():
            folder = self.storage.join(path, name)
            if is_partition_folder(name, listing):
                self._below_partition(name, folder, listing)
                partitions[name] = listing
            elif not listing and parse_folder_name(name):
                partitions[name] = listing
            elif not is_unused_folder(name):
                self._stray_folder(folder, listing, (self.storage.without_links(path),))
        return FoundLogDir(path, entries, partitions, lost)

    def _stray_folder(
        self, path: str, entries: tuple[FileInfo, ...], above: tuple[str, ...]
    ) -> None:
        """Record the segments in and below a folder in which brokers write none."""
        parent, _, name = path.rpartition("/")
        self._find(path, entries)
        folders, problems = list_folders(self.storage, entries)
        if has_log_dir_files(entries) or has_partitions(folders):
            self.unread.append(UnreadFiles(parent, parent, UnreadKind.LOG_DIR, 1, 0, name))
            return
        is_named = parse_folder_name(name) is not None
        kind = UnreadKind.RENAMED_SEGMENT if is_named else UnreadKind.FOLDER
        if is_partition_folder(name, entries):
            kind = UnreadKind.PARTITION_FOLDER
        of = Place.PARTITION if is_named else Place.LOG_DIR
        self.unread += segments_of(path, kind, files_with_records(of, entries))
        dead = (entry for entry in entries if entry.problem and parse_folder_name(entry.name))
        self._close(path, problems | {entry.name: _no_way(entry) for entry in dead})
        for inner, listing, places in self._below(path, folders, above):
            self._stray_folder(self.storage.join(path, inner), listing, places)

    def _below(
        self, path: str, folders: Listings, above: tuple[str, ...]
    ) -> Iterator[tuple[str, tuple[FileInfo, ...], tuple[str, ...]]]:
        """Yield each subfolder to search: path, listing, and parent folders."""
        for name, listing in folders.items():
            folder = self.storage.join(path, name)
            place = self.storage.without_links(folder)
            if place in above:
                continue
            if len(above) > MOST_LEVELS:
                reason = (
                    f"it is more than {MOST_LEVELS} folders below the source: give it as a source"
                )
                self._close(path, {name: RefusedError(action="search", path=folder, reason=reason)})
                continue
            yield name, listing, (*above, place)

    def _close(self, path: str, problems: Mapping[str, StorageError]) -> None:
        """Record the errors of subfolders that cannot be listed."""
        place = self.storage.without_links(path)
        for name, error in problems.items():
            self.closed.setdefault(self.storage.join(place, name), error)


def _joined(known: FoundLogDir, again: FoundLogDir) -> FoundLogDir:
    """Return a log dir with what was found of it a second time."""
    have = known.partition_folders
    new = {name: of for name, of in again.partition_folders.items() if name not in have}
    return known._replace(
        partition_folders=have | new,
        unreadable=known.unreadable | again.unreadable,
        is_whole=known.is_whole or again.is_whole,
    )


def is_refused(error: StorageError) -> bool:
    """Return whether the storage refuses an access, so that a retry is useless."""
    return isinstance(error, RefusedError | NotFoundError)


def refused_or_failed(error: StorageError) -> Exception:
    """Return WrongSourceError if a retry is useless, else the error itself."""
    if is_refused(error):
        return WrongSourceError(f"the source is refused: {error}")
    return error


def _instead(unread: Sequence[UnreadFiles]) -> str:
    """Return advice on found files that can be made readable; empty without such files."""
    forms = {
        UnreadKind.ARCHIVE: "archives ({}): unpack them",
        UnreadKind.TIER_OBJECT: "objects of a remote tier ({}), which are not read",
        UnreadKind.HDFS_SEGMENT: "segments of a tier on HDFS ({}), which are not read",
        UnreadKind.REDPANDA_SEGMENT: "segments of Redpanda ({}), which are not Kafka's",
        UnreadKind.FOLDER: "segments ({}) in a folder that is not named like a partition: "
        "rename it to TOPIC-PARTITION",
    }
    found = {files.kind: files for files in reversed(unread) if files.kind in forms}
    listed = " and ".join(forms[kind].format(files.example) for kind, files in found.items())
    return f". It has {listed}" if listed else ""


def _no_way(entry: FileInfo) -> StorageError:
    """Return the error for an entry that can be neither listed nor read."""
    return RefusedError(action="open", path=entry.path, reason=entry.problem)


def list_folders(
    storage: Storage, entries: tuple[FileInfo, ...]
) -> tuple[Listings, dict[str, StorageError]]:
    """List all folders among the entries; return their listings and errors, by name."""
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
        elif not isinstance(
            answer, NotFoundError
        ):  # a folder that has vanished meanwhile is no error
            unreadable[entry.name] = answer
    return folders, unreadable
