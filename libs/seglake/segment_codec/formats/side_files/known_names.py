"""Closed list of all names that a broker gives to files and folders in its log dirs.

Each row has the place of a name and its use. A name in no row was not put there by a broker, and is
reported. Digits are decimal digits of any script: a broker formats offsets by the locale of its
Java.

Source: apache/kafka 1eb7644, LocalLog, UnifiedLog, LogFileUtils, LogManager, LogCleanerManager,
ReplicaManager, CleanShutdownFileHandler, CheckpointFile, MetaPropertiesEnsemble,
PartitionMetadataFile, FileQuorumStateStore, Snapshots, BootstrapDirectory, RemoteIndexCache;
apache/kafka up to 3.8, ConsumerTask, RemotePartitionMetadataStore.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

# Digits that Java's Long.parseLong accepts: it reads UTF-16 units, so none beyond the first plane.
DIGIT = r"(?:\d(?<![\U00010000-\U0010ffff]))"
_OFFSET = DIGIT + "{20}"
_EPOCH = DIGIT + "{10}"
_KIND = r"(?:log|index|timeindex|txnindex|snapshot)"
_HEX = r"[0-9a-f]{32}"


class Place(StrEnum):
    """Folder that has a name: the log dir itself or a partition folder."""

    LOG_DIR = "log dir"
    PARTITION = "partition folder"


# In the log dir itself, applications may write their own logs, such as gc.log.0 or 1.log.
_SEGMENT_LIKE = {
    place: re.compile(rf"(?!\._).*{digits}.*\.(?:log|kafka)(?:[^a-z].*)?", re.I | re.S)
    for place, digits in ((Place.LOG_DIR, r"\d{20}"), (Place.PARTITION, r"\d"))
}


class Use(StrEnum):
    """Treatment of an entry with a known name."""

    READ = "read"
    IN_PLACE = "read in place of others"
    ALONE = "read if alone"
    NOTED = "not read, noted"
    UNUSED = "not read"


@dataclass(frozen=True, slots=True)
class KnownName:
    """A row of the list: a name as the documentation shows it, and the pattern of such names."""

    place: Place
    shown: str
    pattern: re.Pattern[str]
    use: Use
    is_folder: bool = False


_Rows = tuple[tuple[str, Use, str | None], ...]  # shown name, use, pattern (None: the name itself)

OF_LOG_DIR = (
    "meta.properties",
    "replication-offset-checkpoint",
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
)
"""Files by which a log dir is known."""

OF_PARTITION = ("leader-epoch-checkpoint", "partition.metadata")
"""Files beside the segments by which a partition folder is known."""

_QUORUM_STATE = "quorum-state"


def _unfinished(*names: str) -> str:
    """Return the pattern of temporary files that will get one of these names."""
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
    """Return the row of a name; None for a name that no broker gives there."""
    rows = (row for row in KNOWN_NAMES if row.place is place and row.is_folder is is_folder)
    return next((row for row in rows if row.pattern.fullmatch(name)), None)


def is_segment_like(place: Place, name: str) -> bool:
    """Return whether a file may be a segment by its name, whatever was added to the name."""
    return _SEGMENT_LIKE[place].fullmatch(name) is not None
