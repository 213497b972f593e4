"""A broker's copy of a partition: names and numbers from the listing and the small files.

Nothing here is read from a segment; the offsets come from the log dir's checkpoint files.
"""

from dataclasses import dataclass
from typing import NamedTuple

from seglake.segment_codec.formats.side_files.checkpoint_files import EpochStart


class PartitionKey(NamedTuple):
    """Identity of a log: a recreated topic has another `topic_id`, None if unknown."""

    topic: str
    partition: int
    topic_id: str | None

    def __str__(self) -> str:
        """Return Kafka's name of the partition's folder, without the topic id."""
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """A segment file to read.

    Attributes:
        name: path relative to the log dir, as the tables show it.
        size_bytes: size when the file was listed.
        index_path: offset index, None if it has none.
        origin_position: position of the file's first byte in the original segment; above 0 for
            quarantined bytes of a larger file.
        transaction_index_path: transaction index, None if it has none.
        modified_at_ms: modification time in the listing, in ms since 1970; 0 if not needed.
    """

    base_offset: int
    path: str
    name: str
    size_bytes: int
    index_path: str | None
    origin_position: int = 0
    transaction_index_path: str | None = None
    modified_at_ms: int = 0


class SnapshotFile(NamedTuple):
    """A producer snapshot; `offset`, from the file's name, is the exclusive end of its facts."""

    offset: int
    path: str


class UnreadSegment(NamedTuple):
    """A segment that cannot be read as it is, for a `problem`, or because it is compressed ("")."""

    base_offset: int
    name: str
    size_bytes: int
    problem: str = ""


class EndClaim(NamedTuple):
    """An offset, exclusive, up to which a log reached, by the content or the name of a file."""

    offset: int
    stated_by: str


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """Offsets of one partition in a log dir's checkpoint files.

    Attributes:
        has_high_watermarks: the checkpoint file of high watermarks exists and is plausible.
        high_watermark: None if that file is missing or implausible or does not have the partition.
        log_start_offset: log start; with a remote tier it may be below the first segment: the
            offsets between them are in remote storage only.
        cleaner_offset: end of the range that the cleaner has processed; None if it never ran.
    """

    has_high_watermarks: bool = False
    high_watermark: int | None = None
    recovery_point: int | None = None
    log_start_offset: int | None = None
    cleaner_offset: int | None = None
    has_remote_tier: bool = False

    @property
    def durable_offset(self) -> int:
        """Return the offset below which records are proved to be replicated or synced to disk."""
        return max(self.high_watermark or 0, self.recovery_point or 0)


NO_CHECKPOINTS = Checkpoints()


@dataclass(frozen=True, slots=True)
class Replica:
    """A broker's copy of a partition.

    Attributes:
        broker_id: id of the broker, None if unknown.
        is_future: the folder is an unfinished copy to another disk of the broker (`-future`).
        epochs: entries of leader-epoch-checkpoint, empty if it has none.
        segments: readable segments, by base offset.
        snapshots: producer snapshots, by offset.
        unread: compressed segments and dangling links, by base offset.
        last_side_file: the file beside segments with the highest offset in its name.
        has_id_of_lake: no folder has the topic id, so the key has the lake's newest one.
        planned_start_offset: the log start that this run planned with, if the segments there have
            been deleted since.
        directory_id: the log dir's id in meta.properties; None before Kafka 3.7.
        deleting: base offsets of segments that the broker is deleting (`.deleted`), in order.
        start_of_copies: offset up to which other copies prove that Kafka deleted the log.
    """

    key: PartitionKey
    broker_id: int | None
    folder: str
    is_future: bool
    checkpoints: Checkpoints
    epochs: tuple[EpochStart, ...]
    segments: tuple[SegmentFile, ...]
    snapshots: tuple[SnapshotFile, ...] = ()
    unread: tuple[UnreadSegment, ...] = ()
    last_side_file: EndClaim | None = None
    has_id_of_lake: bool = False
    planned_start_offset: int | None = None
    directory_id: str | None = None
    deleting: tuple[int, ...] = ()
    start_of_copies: int = 0

    @property
    def log_start_offset(self) -> int:
        """Return the partition's start: the higher of its checkpoint and its first segment."""
        first = self.segments[0].base_offset if self.segments else 0
        return max(first, self.checkpoints.log_start_offset or 0)

    @property
    def durable_offset(self) -> int:
        """Return the offset below which records are proved to be replicated or synced to disk."""
        return self.checkpoints.durable_offset

    def may_be_duplicate_of(self, other: "Replica") -> bool:
        """Return whether both are live folders of one broker, in log dirs that may be different."""
        is_of_broker = self.broker_id is not None and self.broker_id == other.broker_id
        is_of_log_dir = self.directory_id is not None and self.directory_id == other.directory_id
        return is_of_broker and not (is_of_log_dir or self.is_future or other.is_future)
