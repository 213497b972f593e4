"""Patterns of all names that brokers give to files and folders in their log dirs.

Each row has the folder in which a name is found, and its use. Names without a row are reported,
since no broker writes them. Digits are decimal digits of any script: brokers format offsets by
Java's locale.

Source: apache/kafka 1eb7644, LocalLog, UnifiedLog, LogFileUtils, LogManager, LogCleanerManager,
ReplicaManager, CleanShutdownFileHandler, CheckpointFile, MetaPropertiesEnsemble,
PartitionMetadataFile, FileQuorumStateStore, Snapshots, BootstrapDirectory, RemoteIndexCache;
apache/kafka up to 3.8, ConsumerTask, RemotePartitionMetadataStore; pinterest/tiered-storage
afee07f, DirectoryTreeWatcher: it uploads segments under brokers' names, with two files of its own.
"""

import re
from enum import StrEnum
from typing import NamedTuple

# Digits that Java's Long.parseLong accepts: only those of the basic multilingual plane.
DIGIT = r"(?:\d(?<![\U00010000-\U0010ffff]))"
_OFFSET = DIGIT + "{20}"
_EPOCH = DIGIT + "{10}"
_KIND = r"(?:log|index|timeindex|txnindex|snapshot)"
_HEX = r"[0-9a-f]{32}"


class Place(StrEnum):
    """Folder in which a name is found: the log dir itself or a partition folder."""

    LOG_DIR = "log dir"
    PARTITION = "partition folder"


# Names that look like a segment's. In a log dir the pattern is narrower: applications write logs
# there, such as gc.log.0 or 1.log.
_SEGMENT_LIKE = {
    place: re.compile(rf"(?!\._).*{digits}.*\.(?:log|kafka)(?:[^a-z].*)?", re.I | re.S)
    for place, digits in ((Place.LOG_DIR, r"\d{20}"), (Place.PARTITION, r"\d"))
}


class Use(StrEnum):
    """Treatment of a file or folder that has a known name."""

    READ = "read"
    IN_PLACE = "read in place of others"
    ALONE = "read if alone"
    NOTED = "not read, noted"
    UNUSED = "not read"


class KnownName(NamedTuple):
    """Kind of a name that brokers give, with its pattern and its form in the documentation."""

    place: Place
    shown: str
    pattern: re.Pattern[str]
    use: Use
    is_folder: bool = False


# Name as documented, use, pattern (None: exactly this name).
_Rows = tuple[tuple[str, Use, str | None], ...]

OF_LOG_DIR = (
    "meta.properties",
    "replication-offset-checkpoint",
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
)
"""Files by which a log dir is recognised."""

OF_PARTITION = ("leader-epoch-checkpoint", "partition.metadata")
"""Files beside the segments by which a partition folder is recognised."""

_QUORUM_STATE = "quorum-state"


def _unfinished(*names: str) -> str:
    """Return the pattern of the temporary files that brokers write before they rename them."""
    return rf"(?:{'|'.join(map(re.escape, names))})\.tmp"


_FOLDERS: _Rows = (
    ("<topic>-<partition>.<32 hex>-future", Use.ALONE, rf".+-\d+\.{_HEX}-future"),
    ("<topic>-<partition>.<32 hex>-delete", Use.NOTED, rf".+-\d+\.{_HEX}-delete"),
    ("<topic>-<partition>.<32 hex>-stray", Use.NOTED, rf".+-\d+\.{_HEX}-stray"),
    ("remote-log-index-cache", Use.UNUSED, None),
    ("lost+found", Use.UNUSED, None),
    ("<topic>-<partition>", Use.READ, r".+-[0-9]+"),
)
_LOG_DIR_FILES: _Rows = (
    *((name, Use.READ, None) for name in OF_LOG_DIR),
    ("<one of these>.tmp", Use.UNUSED, _unfinished(*OF_LOG_DIR)),
    (".kafka_cleanshutdown", Use.UNUSED, r"\.kafka_cleanshutdown(?:\.tmp)?"),
    (".lock", Use.UNUSED, None),
    ("bootstrap.checkpoint", Use.UNUSED, None),
    ("_rlmm_committed_offsets", Use.UNUSED, r"_rlmm_committed_offsets(?:\.tmp)?"),
)
_PARTITION_FILES: _Rows = (
    ("<20 digits>.log", Use.READ, rf"{_OFFSET}\.log"),
    ("<20 digits>.index", Use.READ, rf"{_OFFSET}\.index"),
    ("<20 digits>.timeindex", Use.UNUSED, rf"{_OFFSET}\.timeindex"),
    ("<20 digits>.txnindex", Use.READ, rf"{_OFFSET}\.txnindex"),
    ("<20 digits>.snapshot", Use.READ, rf"{_OFFSET}\.snapshot"),
    ("….swap", Use.IN_PLACE, rf"{_OFFSET}\.{_KIND}\.swap"),
    ("….cleaned", Use.UNUSED, rf"{_OFFSET}\.{_KIND}\.cleaned"),
    ("….deleted", Use.NOTED, rf"{_OFFSET}\.{_KIND}\.deleted"),
    *((name, Use.READ, None) for name in OF_PARTITION),
    (_QUORUM_STATE, Use.UNUSED, None),
    ("<one of these>.tmp", Use.UNUSED, _unfinished(*OF_PARTITION, _QUORUM_STATE)),
    ("<20 digits>-<10 digits>.checkpoint", Use.READ, rf"{_OFFSET}-{_EPOCH}\.checkpoint"),
    ("….checkpoint.part", Use.UNUSED, rf"{_OFFSET}-{_EPOCH}(?:-\d+)?\.checkpoint\.part"),
    ("….checkpoint.deleted", Use.UNUSED, rf"{_OFFSET}-{_EPOCH}\.checkpoint\.deleted"),
    ("remote_log_snapshot", Use.UNUSED, r"remote_log_snapshot(?:\.tmp)?"),
    ("offset.wm", Use.UNUSED, None),
    ("_metadata", Use.UNUSED, None),
)
KNOWN_NAMES = tuple(
    KnownName(place, shown, re.compile(re.escape(shown) if form is None else form), use, is_folder)
    for place, is_folder, rows in (
        (Place.LOG_DIR, True, _FOLDERS),
        (Place.LOG_DIR, False, _LOG_DIR_FILES),
        (Place.PARTITION, False, _PARTITION_FILES),
    )
    for shown, use, form in rows
)


def known_name(place: Place, name: str, *, is_folder: bool = False) -> KnownName | None:
    """Return the row of a name in a folder; None for a name that is not a broker's."""
    rows = (row for row in KNOWN_NAMES if row.place is place and row.is_folder is is_folder)
    return next((row for row in rows if row.pattern.fullmatch(name)), None)


def is_segment_like(place: Place, name: str) -> bool:
    """Return whether a name resembles a segment's, perhaps with a user's prefix or suffix."""
    return _SEGMENT_LIKE[place].fullmatch(name) is not None
