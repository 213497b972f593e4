"""Finds the log dirs below a source by what they hold. Effect: lists folders.

A log dir is a folder with broker files or with partition folders in it; a partition folder is one
whose name says so and that holds segment files, since `broker-0` could be either by its name.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from seglake.log_dirs.unread_files import UnreadFiles, unread_files
from seglake.segment_codec.log_dir import SideFile, parse_file_name, parse_folder_name
from seglake.segment_codec.unread_names import parse_compressed_name
from seglake.storage.errors import NotFoundError, StorageError
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
        for name in folders.keys() - partitions.keys():
            unread += unread_files(storage.join(path, name), folders[name])
        # Other folders of a log dir hold no partition: nothing is lost by those.
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
