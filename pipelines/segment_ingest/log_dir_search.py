"""Finds the log dirs below a source by what they hold. Effect: lists folders.

A log dir is a folder with broker files or with partition folders in it; a partition folder is one
whose name says so and that holds segment files, since `broker-0` could be either by its name.
"""

from dataclasses import dataclass

from lake.storage import FileInfo, Storage
from segment_codec.log_dir import SideFile, parse_file_name, parse_folder_name

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
_FOLDER_FILES = frozenset({SideFile.PARTITION_METADATA, SideFile.LEADER_EPOCHS})


@dataclass(frozen=True, slots=True)
class FoundLogDir:
    """A log dir with the listing of each partition folder to take from it."""

    path: str
    entries: tuple[FileInfo, ...]
    partition_folders: dict[str, tuple[FileInfo, ...]]


def find_log_dirs(storage: Storage, path: str) -> list[FoundLogDir]:
    """All log dirs at or below the path, in the order of their paths."""
    entries = tuple(storage.list_folder(path))
    name = path.rsplit("/", 1)[-1]
    if _is_partition_folder(name, entries):
        parent = path.rsplit("/", 1)[0] or "/"
        return [FoundLogDir(parent, tuple(storage.list_folder(parent)), {name: entries})]
    return _search(storage, path, entries, MOST_LEVELS)


def _search(
    storage: Storage, path: str, entries: tuple[FileInfo, ...], levels: int
) -> list[FoundLogDir]:
    folders = {
        entry.name: tuple(storage.list_folder(entry.path)) for entry in entries if entry.is_folder
    }
    partitions = {
        name: listing for name, listing in folders.items() if _is_partition_folder(name, listing)
    }
    if partitions or any(entry.name in _LOG_DIR_FILES for entry in entries):
        return [FoundLogDir(path, entries, partitions)]
    if levels == 0:
        return []
    return [
        found
        for entry in entries
        if entry.is_folder
        for found in _search(storage, entry.path, folders[entry.name], levels - 1)
    ]


def _is_partition_folder(name: str, entries: tuple[FileInfo, ...]) -> bool:
    if parse_folder_name(name) is None:
        return False
    return not entries or any(
        not entry.is_folder
        and (parse_file_name(entry.name) is not None or entry.name in _FOLDER_FILES)
        for entry in entries
    )
