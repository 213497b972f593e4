"""Recognises log dirs and partition folders by their names and contents."""

from collections.abc import Iterable, Mapping

from seglake.segment_codec.formats.side_files.known_names import (
    OF_LOG_DIR,
    OF_PARTITION,
    Place,
    Use,
    known_name,
)
from seglake.segment_codec.formats.side_files.log_dir import (
    parse_file_name,
    parse_folder_name,
    parse_metadata_snapshot_name,
)
from seglake.segment_codec.formats.side_files.unread_names import parse_compressed_name
from seglake.storage.storage import FileInfo


def has_log_dir_files(entries: Iterable[FileInfo]) -> bool:
    """Return whether the entries include a file that brokers write in log dirs."""
    return any(entry.name in OF_LOG_DIR for entry in entries)


def is_partition_folder(name: str, entries: Iterable[FileInfo]) -> bool:
    """Return whether a folder has the name of a partition folder and segment files."""
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


def has_partitions(folders: Mapping[str, Iterable[FileInfo]]) -> bool:
    """Return whether any of the folders is a partition folder."""
    return any(is_partition_folder(name, listing) for name, listing in folders.items())


def is_known_name(name: str) -> bool:
    """Return whether Kafka uses this name for a file or folder in a log dir."""
    return any(known_name(Place.LOG_DIR, name, is_folder=of) is not None for of in (False, True))


def is_unused_folder(name: str) -> bool:
    """Return whether Kafka uses this name for a folder that never has segments."""
    row = known_name(Place.LOG_DIR, name, is_folder=True)
    return row is not None and row.use is Use.UNUSED
