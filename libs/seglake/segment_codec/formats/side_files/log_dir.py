"""Parses names in a broker's log dir, and plans which segment files are read.

This module lists no folder and opens no file. A log dir has one folder per partition replica::

    <topic>-<partition>                        live; the last '-' separates the two
    <topic>-<partition>.<32 hex>-delete        deletion pending; the topic may be cut short
    <topic>-<partition>.<32 hex>-future        being copied to another disk of the same broker
    <topic>-<partition>.<32 hex>-stray         not assigned to this broker; topic may be cut short

A folder has segment files, whose names begin with an offset of 20 digits, and a few other files.
The digits may be of any script, since brokers format them by Java's locale::

    <20 digits>.<kind>            in use; kinds are log, index, timeindex, txnindex, snapshot
    <20 digits>.<kind>.deleted    removed, about to be unlinked
    <20 digits>.<kind>.cleaned    output of a cleaning or a split that was interrupted
    <20 digits>.<kind>.swap       finished output, not yet renamed

Source: apache/kafka 1eb7644, LocalLog, LogFileUtils, Topic; `plan_swaps` follows the first three
passes of LogLoader.java at apache/kafka 0c37e22.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from seglake.segment_codec.formats.errors import SegmentCodecError
from seglake.segment_codec.formats.side_files.known_names import DIGIT, Place, known_name

TOPIC_MAX_LENGTH = 255  # limit before Kafka 0.10; later brokers allow 249
FOLDER_NAME_MAX_LENGTH = 255
PARTITION_MAX = 2**31 - 1
OFFSET_MAX = 2**63 - 1

_TOPIC = re.compile(rf"[a-zA-Z0-9._-]{{1,{TOPIC_MAX_LENGTH}}}")
_PARTITION = re.compile(r"0|[1-9][0-9]{0,9}")
_FOLDER_SUFFIX = re.compile(r"(.+)\.[0-9a-f]{32}-(delete|future|stray)", re.DOTALL)
_FILE_NAME = re.compile(
    rf"({DIGIT}{{20}})\.(log|index|timeindex|txnindex|snapshot)(?:\.(deleted|cleaned|swap))?"
)


class SideFile(StrEnum):
    """Names of a broker's files: the first six in a log dir, the others in a partition folder."""

    META_PROPERTIES = "meta.properties"
    HIGH_WATERMARKS = "replication-offset-checkpoint"
    RECOVERY_POINTS = "recovery-point-offset-checkpoint"
    LOG_START_OFFSETS = "log-start-offset-checkpoint"
    CLEANER_OFFSETS = "cleaner-offset-checkpoint"
    CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
    LEADER_EPOCHS = "leader-epoch-checkpoint"
    PARTITION_METADATA = "partition.metadata"
    QUORUM_STATE = "quorum-state"


_KRAFT_SNAPSHOT = re.compile(rf"({DIGIT}{{20}})-({DIGIT}{{10}})\.checkpoint")


class FolderKind(StrEnum):
    """Kind of a partition folder, by its suffix: none, `-delete`, `-future` or `-stray`."""

    LIVE = "live"
    DELETE = "delete"
    FUTURE = "future"
    STRAY = "stray"


class FileKind(StrEnum):
    """Kind of a segment's file, by its suffix; a snapshot may have another offset."""

    LOG = "log"
    INDEX = "index"
    TIMEINDEX = "timeindex"
    TXNINDEX = "txnindex"
    SNAPSHOT = "snapshot"


_KIND_RANKS = {kind: rank for rank, kind in enumerate(FileKind)}


class FileState(StrEnum):
    """State of a segment file, by its suffix."""

    LIVE = "live"
    DELETED = "deleted"
    CLEANED = "cleaned"
    SWAP = "swap"


_KINDS = {kind.value: kind for kind in FileKind}  # faster than calling the enum
_STATES = {state.value: state for state in FileState}
_SWAP_SUFFIXES = (f".{FileState.SWAP}", f".{FileState.CLEANED}")


class SkipReason(StrEnum):
    """Reason why a segment file is not read."""

    DELETED = "deleted"
    UNFINISHED_CLEANING = "unfinished_cleaning"
    UNFINISHED_SPLIT = "unfinished_split"
    REPLACED_BY_SWAP = "replaced_by_swap"


class TopicPartition(NamedTuple):
    """A topic and a partition number."""

    topic: str
    partition: int


class PartitionFolder(NamedTuple):
    """Parsed name of a partition folder; `topic` is cut short unless `topic_is_complete`."""

    topic: str
    partition: int
    kind: FolderKind
    topic_is_complete: bool


class SegmentFileName(NamedTuple):
    """Parsed name of a segment file.

    Attributes:
        base_offset: the number in the name; for a snapshot, the exclusive end of the offsets that
            it covers.
        name: the whole name.
    """

    base_offset: int
    kind: FileKind
    state: FileState
    name: str

    def __str__(self) -> str:
        """Return the whole name."""
        return self.name


class MetadataSnapshotName(NamedTuple):
    """Parsed name of a snapshot of the KRaft log: the log's state below `end_offset`."""

    end_offset: int
    epoch: int


class SkippedFile(NamedTuple):
    """A segment file that is not read, with the reason."""

    file: SegmentFileName
    reason: SkipReason


class FolderPlan(NamedTuple):
    """Sorted files of a partition folder; each name is in exactly one of the lists.

    Attributes:
        read: segment files to read, at most one for each base offset and kind, sorted by both.
        superseded: segment files that are not read, with the reasons.
        side_files: Kafka's other files, such as `leader-epoch-checkpoint`.
        unknown: names of files that are not Kafka's.
    """

    read: tuple[SegmentFileName, ...]
    superseded: tuple[SkippedFile, ...]
    side_files: tuple[str, ...]
    unknown: tuple[str, ...]


class MissingSwapEndError(SegmentCodecError):
    """The end offset of a usable `.swap` log was not given, so the folder cannot be planned."""

    def __init__(self, *, file: SegmentFileName) -> None:
        """Make the message from the `.swap` log whose end offset is missing."""
        super().__init__(f"the next offset of {file} was not given: read the log and pass it")


class TwoSpellingsError(SegmentCodecError):
    """Two files have the same offset in their names, in digits of different scripts."""

    def __init__(self, *, first: SegmentFileName, second: SegmentFileName) -> None:
        """Make the message from the names of both files."""
        super().__init__(
            f"{first} and {second} have the same number in digits of two scripts: move away the "
            "file that does not belong to the log"
        )


def is_legal_topic(topic: str) -> bool:
    """Return whether Kafka allows a topic name.

    >>> is_legal_topic("orders.v2"), is_legal_topic("orders/v2"), is_legal_topic("..")
    (True, False, False)
    """
    return _TOPIC.fullmatch(topic) is not None and topic not in {".", ".."}


def parse_folder_name(name: str) -> PartitionFolder | None:
    """Parse the name of a partition folder; return None for any other name.

    >>> parse_folder_name("my-topic-12").partition, parse_folder_name("cleaner")
    (12, None)
    """
    kind = FolderKind.LIVE
    replica = name
    if suffixed := _FOLDER_SUFFIX.fullmatch(name):
        replica, kind = suffixed[1], FolderKind(suffixed[2])
    topic, _, digits = replica.rpartition("-")
    if not is_legal_topic(topic) or _PARTITION.fullmatch(digits) is None:
        return None
    if int(digits) > PARTITION_MAX:
        return None
    may_be_cut = kind in {FolderKind.DELETE, FolderKind.STRAY}
    is_complete = not may_be_cut or len(name) < FOLDER_NAME_MAX_LENGTH
    return PartitionFolder(topic, int(digits), kind, is_complete)


@lru_cache(1 << 12)  # all partitions have the same file names
def parse_file_name(name: str) -> SegmentFileName | None:
    """Parse the name of a segment file; return None for any other name."""
    match = _FILE_NAME.fullmatch(name)
    if match is None or int(match[1]) > OFFSET_MAX:
        return None
    return SegmentFileName(int(match[1]), _KINDS[match[2]], _STATES[match[3] or "live"], name)


def usable_swap_logs(names: Iterable[str]) -> tuple[SegmentFileName, ...]:
    """Return the `.log.swap` files whose end offsets `plan_swaps` needs, by base offset."""
    return _usable_swap_logs(_segment_files(n for n in names if n.endswith(_SWAP_SUFFIXES)))


def _usable_swap_logs(files: Sequence[SegmentFileName]) -> tuple[SegmentFileName, ...]:
    """Return the `.log.swap` files that are not part of an unfinished split."""
    limit = _split_limit(files)
    return tuple(
        file
        for file in files
        if file.state is FileState.SWAP and file.kind is FileKind.LOG and file.base_offset < limit
    )


def plan_swaps(names: Iterable[str], swap_next_offsets: Mapping[int, int]) -> FolderPlan:
    """Decide which files of a partition folder are read, like a broker when it starts.

    A cleaning or a split writes `.cleaned` files, renames them to `.swap`, removes the replaced
    files, and renames `.swap` files to their final names. If it was interrupted, either the old or
    the new files are complete. So `.deleted` and `.cleaned` files are skipped. If there are
    `.cleaned` files, `.swap` files at or above the lowest of them belong to an unfinished split and
    are skipped too. The other `.swap` files replace all files whose number is in [lowest base
    offset, highest end offset) of the `.swap` logs.

    Args:
        names: names of the folder's files, in any order.
        swap_next_offsets: exclusive end offset of each of `usable_swap_logs`, by base offset; the
            base offset itself if the log has no batch.

    Raises:
        MissingSwapEndError: a usable `.swap` log is not in `swap_next_offsets`.
        TwoSpellingsError: two files to read have the same number in their names.
    """
    names = set(names)
    files = _segment_files(names)
    limit = _split_limit(files)
    replaced = _replaced_offsets(_usable_swap_logs(files), swap_next_offsets)
    renamed = {
        (file.base_offset, file.kind)
        for file in files
        if file.state is FileState.SWAP and file.base_offset < limit
    }
    read: list[SegmentFileName] = []
    superseded: list[SkippedFile] = []
    is_untouched = all(file.state is FileState.LIVE for file in files)  # the usual case
    for file in files:
        reason = None if is_untouched else _skip_reason(file, limit, replaced, renamed)
        if reason is None:
            read.append(file)
        else:
            superseded.append(SkippedFile(file, reason))
    for first, second in pairwise(read):
        if (first.base_offset, first.kind) == (second.base_offset, second.kind):
            raise TwoSpellingsError(first=first, second=second)
    others = sorted(names - {file.name for file in files})
    return FolderPlan(
        read=tuple(read),
        superseded=tuple(superseded),
        side_files=tuple(name for name in others if _is_side_file(name)),
        unknown=tuple(name for name in others if not _is_side_file(name)),
    )


def _segment_files(names: Iterable[str]) -> list[SegmentFileName]:
    """Return the parsed names of segment files, sorted by base offset and kind."""
    files = [file for name in names if (file := parse_file_name(name)) is not None]
    return sorted(
        files, key=lambda file: (file.base_offset, _KIND_RANKS[file.kind], file.state, file.name)
    )


def _split_limit(files: Sequence[SegmentFileName]) -> int:
    """Return the lowest base offset of the `.cleaned` files, which show an unfinished split."""
    cleaned = (file.base_offset for file in files if file.state is FileState.CLEANED)
    return min(cleaned, default=OFFSET_MAX + 1)


def _replaced_offsets(
    swap_logs: tuple[SegmentFileName, ...], swap_next_offsets: Mapping[int, int]
) -> range:
    """Return the offsets from the first `.swap` log to the end of the last; may be empty."""
    for file in swap_logs:
        if file.base_offset not in swap_next_offsets:
            raise MissingSwapEndError(file=file)
    if not swap_logs:
        return range(0)
    start = min(file.base_offset for file in swap_logs)
    return range(start, max(swap_next_offsets[file.base_offset] for file in swap_logs))


def _skip_reason(
    file: SegmentFileName, limit: int, replaced: range, renamed: set[tuple[int, FileKind]]
) -> SkipReason | None:
    """Return why a broker would not read a file when it starts; None if it would read it."""
    match file.state:
        case FileState.DELETED:
            return SkipReason.DELETED
        case FileState.CLEANED:
            return SkipReason.UNFINISHED_CLEANING
        case FileState.SWAP:
            return SkipReason.UNFINISHED_SPLIT if file.base_offset >= limit else None
        case FileState.LIVE:
            is_replaced = file.base_offset in replaced or (file.base_offset, file.kind) in renamed
            return SkipReason.REPLACED_BY_SWAP if is_replaced else None


def parse_metadata_snapshot_name(name: str) -> MetadataSnapshotName | None:
    """Parse the name of a complete snapshot of the KRaft log; return None for any other name.

    >>> parse_metadata_snapshot_name("00000000000000000042-0000000003.checkpoint")
    MetadataSnapshotName(end_offset=42, epoch=3)
    """
    match = _KRAFT_SNAPSHOT.fullmatch(name)
    return None if match is None else MetadataSnapshotName(int(match[1]), int(match[2]))


def _is_side_file(name: str) -> bool:
    """Return whether a name is that of a Kafka file that is no segment file."""
    return _FILE_NAME.fullmatch(name) is None and known_name(Place.PARTITION, name) is not None
