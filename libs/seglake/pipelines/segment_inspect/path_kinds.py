"""Kinds of files, recognised by name."""

import re
from enum import StrEnum

from seglake.segment_codec.formats.side_files.log_dir import SideFile, parse_file_name
from seglake.segment_codec.formats.side_files.tier_names import ObjectKind


class PathKind(StrEnum):
    """Kinds of files and folders that can be inspected."""

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
    RSM_MANIFEST = "rsm_manifest"  # the manifest of a segment in Aiven's tiered storage
    UNKNOWN = "unknown"
    PARTITION_FOLDER = "partition_folder"
    LOG_DIR = "log_dir"
    FOLDER = "folder"  # a folder that contains log dirs


SEGMENT_KINDS = frozenset({PathKind.LOG, PathKind.KRAFT_SNAPSHOT})
FOLDER_KINDS = frozenset({PathKind.PARTITION_FOLDER, PathKind.LOG_DIR, PathKind.FOLDER})
_SIDE_KINDS = {
    SideFile.HIGH_WATERMARKS: PathKind.OFFSET_CHECKPOINT,
    SideFile.RECOVERY_POINTS: PathKind.OFFSET_CHECKPOINT,
    SideFile.LOG_START_OFFSETS: PathKind.OFFSET_CHECKPOINT,
    SideFile.CLEANER_OFFSETS: PathKind.OFFSET_CHECKPOINT,
    SideFile.LEADER_EPOCHS: PathKind.LEADER_EPOCHS,
    SideFile.PARTITION_METADATA: PathKind.PARTITION_METADATA,
    SideFile.META_PROPERTIES: PathKind.META_PROPERTIES,
}
_PACKED = (".gz", ".tgz", ".tar", ".zip", ".bz2", ".xz", ".zst", ".lz4", ".7z")
_KRAFT_SNAPSHOT = re.compile(r"\d{20}-\d{10}(-\d+)?\.checkpoint(\.part|\.deleted)?")


def is_packed(name: str) -> bool:
    """Return whether a file is an archive or a compressed file, by its name."""
    return name.lower().endswith(_PACKED)


def kind_of_file(name: str) -> PathKind:
    """Return the kind of a file, by its name."""
    segment_file = parse_file_name(name)
    if segment_file is not None:
        return PathKind(segment_file.kind)  # both enums have these names
    if _KRAFT_SNAPSHOT.fullmatch(name):
        return PathKind.KRAFT_SNAPSHOT
    if name.endswith(f".{ObjectKind.MANIFEST}"):
        return PathKind.RSM_MANIFEST
    if name in _SIDE_KINDS:
        return _SIDE_KINDS[SideFile(name)]
    return PathKind.UNKNOWN
