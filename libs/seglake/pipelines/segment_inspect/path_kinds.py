"""What a file or folder is, by its name and by what lies in it."""

import re
from collections.abc import Iterable
from enum import StrEnum

from seglake.segment_codec.log_dir import FileKind, SideFile, parse_file_name, parse_folder_name
from seglake.storage.storage import FileInfo


class PathKind(StrEnum):
    """Everything that can be looked into."""

    LOG = "log"
    INDEX = "index"
    TIMEINDEX = "timeindex"
    TXNINDEX = "txnindex"
    SNAPSHOT = "snapshot"
    KRAFT_SNAPSHOT = "kraft_snapshot"
    OFFSET_CHECKPOINT = "offset_checkpoint"
    LEADER_EPOCHS = "leader_epochs"
    PARTITION_METADATA = "partition_metadata"
    META_PROPERTIES = "meta_properties"
    UNKNOWN = "unknown"
    PARTITION_FOLDER = "partition_folder"
    LOG_DIR = "log_dir"


_SEGMENT_KINDS = {
    FileKind.LOG: PathKind.LOG,
    FileKind.INDEX: PathKind.INDEX,
    FileKind.TIMEINDEX: PathKind.TIMEINDEX,
    FileKind.TXNINDEX: PathKind.TXNINDEX,
    FileKind.SNAPSHOT: PathKind.SNAPSHOT,
}
_SIDE_KINDS = {
    SideFile.HIGH_WATERMARKS: PathKind.OFFSET_CHECKPOINT,
    SideFile.RECOVERY_POINTS: PathKind.OFFSET_CHECKPOINT,
    SideFile.LOG_START_OFFSETS: PathKind.OFFSET_CHECKPOINT,
    SideFile.CLEANER_OFFSETS: PathKind.OFFSET_CHECKPOINT,
    SideFile.LEADER_EPOCHS: PathKind.LEADER_EPOCHS,
    SideFile.PARTITION_METADATA: PathKind.PARTITION_METADATA,
    SideFile.META_PROPERTIES: PathKind.META_PROPERTIES,
}
_KRAFT_SNAPSHOT = re.compile(r"[0-9]{20}-[0-9]{10}\.checkpoint(\.part|\.deleted)?", re.ASCII)
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


def kind_of_file(name: str) -> PathKind:
    """What a file is by its name."""
    segment_file = parse_file_name(name)
    if segment_file is not None:
        return _SEGMENT_KINDS[segment_file.kind]
    if _KRAFT_SNAPSHOT.fullmatch(name):
        return PathKind.KRAFT_SNAPSHOT
    if name in _SIDE_KINDS:
        return _SIDE_KINDS[SideFile(name)]
    return PathKind.UNKNOWN


def is_partition_folder(name: str, entries: Iterable[FileInfo]) -> bool:
    """Whether a folder is a partition's: its name says so, and what lies in it does not deny it."""
    if parse_folder_name(name) is None:
        return False
    listed = tuple(entries)
    return not listed or any(
        not entry.is_folder
        and (parse_file_name(entry.name) is not None or entry.name in _FOLDER_FILES)
        for entry in listed
    )


def has_log_dir_files(entries: Iterable[FileInfo]) -> bool:
    """Whether the files of a broker's log dir are among these."""
    return any(entry.name in _LOG_DIR_FILES for entry in entries if not entry.is_folder)
