"""Finds the log dirs below sources by what they hold, each once. Effect: lists folders.

A log dir is a folder with broker files or with partition folders in it; a partition folder is one
whose name says so and that holds segment files, since `broker-0` could be either by its name.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from seglake.log_dirs.errors import WrongSourceError
from seglake.log_dirs.unread_files import (
    UnreadFiles,
    UnreadKind,
    inner_log_dirs,
    unread_files,
)
from seglake.segment_codec.log_dir import SideFile, parse_file_name, parse_folder_name
from seglake.segment_codec.unread_names import parse_compressed_name
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
        """Whether it has no broker files, and a partition folder of it was asked for."""
        return not (self.is_whole or has_log_dir_files(self.entries))

    def has(self, name: str) -> bool:
        """Whether a folder is one of its partitions, or may be."""
        return name in self.partition_folders or name in self.unreadable


def find_sources(
    sources: Sequence[str],
    storage: Storage,
    notes: list[str],
    unreadable: dict[str, str],
    unread: list[UnreadFiles],
) -> list[FoundLogDir]:
    """The log dirs at or below the sources, in their order; a link to one of them is noted.

    Args:
        unreadable: folders below the sources that cannot be searched, and why; added to.
        unread: files below them that are recognised and not read; added to.

    Raises:
        WrongSourceError: a source is missing, no folder or no log dir, or its storage does not let
            us in.
        StorageError, StoreSilentError: it may be there another time.
    """
    found: dict[str, FoundLogDir] = {}
    parents: Listings = {}
    for source in sources:
        for log_dir in _log_dirs_of(source, storage, parents, unreadable, unread):
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
    return list(found.values())


def refused_or_failed(error: StorageError) -> Exception:
    """The error as that of the whole call: a wrong one where it will be the same another time."""
    if isinstance(error, RefusedError | NotFoundError):
        return WrongSourceError(f"the source is refused: {error}")
    return error


def _log_dirs_of(
    source: str,
    storage: Storage,
    parents: Listings,
    unreadable: dict[str, str],
    unread: list[UnreadFiles],
) -> list[FoundLogDir]:
    closed: Closed = {}
    try:
        path = storage.locate(source)
        info = storage.info(path)
        if info is None:
            raise WrongSourceError(f"source {source} does not exist: check the path")
        if not info.is_folder:
            raise WrongSourceError(
                f"source {source} is a file: give a broker's log dir, a partition folder, or a "
                "folder above log dirs"
            )
        log_dirs = find_log_dirs(storage, path, parents, closed, unread)
    except (RefusedError, NotFoundError, UnsupportedUriError) as error:
        raise WrongSourceError(f"the source is refused: {error}") from error
    if closed and not log_dirs:
        first = next(iter(closed.values()))
        raise refused_or_failed(first) from first
    unreadable |= {place: str(error) for place, error in closed.items()}
    if not log_dirs:
        raise WrongSourceError(
            f"source {source} holds no log dir of a Kafka broker: no folder below it has "
            "meta.properties, offset checkpoints, or partition folders with segments"
            f"{_instead(unread)}"
        )
    return log_dirs


def _instead(unread: Sequence[UnreadFiles]) -> str:
    """What a source without a log dir holds that could become one."""
    said = {
        UnreadKind.ARCHIVE: "archives ({}): unpack them",
        UnreadKind.TIER_OBJECT: "objects of a remote tier ({}), which are not read",
    }
    found = {files.kind: files for files in reversed(unread) if files.kind in said}
    listed = " and ".join(said[kind].format(files.example) for kind, files in found.items())
    return f". It holds {listed}" if listed else ""


def find_log_dirs(
    storage: Storage, path: str, parents: Listings, closed: Closed, unread: list[UnreadFiles]
) -> list[FoundLogDir]:
    """All log dirs at or below the path, in the order of their paths.

    Args:
        parents: folders above partition folders that were listed before; added to.
        closed: folders above log dirs, or log dirs, that cannot be listed; added to.
        unread: files outside of partition folders that are recognised and not read; added to.
    """
    entries = tuple(storage.list_folder(path))
    parent, _, name = storage.without_links(path).rpartition("/")
    if is_partition_folder(name, entries):
        parent = parent or "/"
        if parent not in parents:
            parents[parent] = tuple(storage.list_folder(parent))
        return [FoundLogDir(parent, parents[parent], {name: entries}, {}, is_whole=False)]
    return _search(storage, (path, entries), MOST_LEVELS, closed, unread)


def _search(
    storage: Storage,
    place: tuple[str, tuple[FileInfo, ...]],
    levels: int,
    closed: Closed,
    unread: list[UnreadFiles],
) -> list[FoundLogDir]:
    path, entries = place
    unread += unread_files(path, entries)
    folders, unreadable = list_folders(storage, entries)
    partitions = {
        name: listing for name, listing in folders.items() if is_partition_folder(name, listing)
    }
    empty = {
        name: () for name, listing in folders.items() if not listing and parse_folder_name(name)
    }
    if partitions or has_log_dir_files(entries):
        others = folders.keys() - partitions.keys()
        for name in others:
            unread += unread_files(storage.join(path, name), folders[name])
        unread += inner_log_dirs(path, (name for name in others if _holds_logs(folders[name])))
        # Other closed folders of a log dir hold no partition: nothing is lost by those.
        lost = {name: str(why) for name, why in unreadable.items() if parse_folder_name(name)}
        return [FoundLogDir(path, entries, {**partitions, **empty}, lost)]
    for name, error in unreadable.items():
        closed.setdefault(storage.without_links(storage.join(path, name)), error)
    if levels == 0:
        return []
    return [
        found
        for entry in entries
        if entry.name in folders
        for found in _search(storage, (entry.path, folders[entry.name]), levels - 1, closed, unread)
    ]


def list_folders(
    storage: Storage, entries: tuple[FileInfo, ...]
) -> tuple[Listings, dict[str, StorageError]]:
    """What lies in the folders, and which of them cannot be listed, by name."""
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


def _holds_logs(listing: Iterable[FileInfo]) -> bool:
    """Whether a folder looks like a log dir."""
    entries = [*listing]
    folders = (entry.name for entry in entries if entry.is_folder)
    return has_log_dir_files(entries) or any(map(parse_folder_name, folders))


def has_log_dir_files(entries: Iterable[FileInfo]) -> bool:
    """Whether the files that a broker keeps in a log dir are among these."""
    return any(entry.name in _LOG_DIR_FILES for entry in entries)


def is_partition_folder(name: str, entries: Iterable[FileInfo]) -> bool:
    """Whether a folder is a partition's by its name and by what lies in it; an empty one is not."""
    if parse_folder_name(name) is None:
        return False
    return any(
        not entry.is_folder
        and (
            parse_file_name(entry.name) is not None
            or parse_compressed_name(entry.name) is not None
            or entry.name in _FOLDER_FILES
        )
        for entry in entries
    )
