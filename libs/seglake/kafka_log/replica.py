"""A broker's copy of a partition, as names and numbers found on its disks.

Nothing here was read from a segment yet; the offsets come from the log dir's checkpoint files.
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
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """A segment to read: its size when it was listed, and its index files if it has any.

    `name` is relative to the log dir, as the tables show it. `origin_position` is where in that
    segment the file begins: not at 0 for bytes that were kept of a larger file. `modified_at_ms` is
    that of the listing, 0 where nobody asks.
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
    """A producer snapshot; `offset`, of its name, is behind the last record that it knows of."""

    offset: int
    path: str


class UnreadSegment(NamedTuple):
    """A segment that is not read as it is: `problem` says why, or somebody compressed it."""

    base_offset: int
    name: str
    size_bytes: int
    problem: str = ""


class EndClaim(NamedTuple):
    """A log reached up to `offset`, exclusive, as a file says by its content or by its name."""

    offset: int
    said_by: str


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """Offsets of one partition in a log dir's checkpoint files.

    `high_watermark` is None when the file is missing or not believed (`has_high_watermarks` is
    False then) or has no entry for the partition. With a remote tier `log_start_offset` may lie
    below the first segment: what is between them is in remote storage only.
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
        takes_id_of_lake: no folder has the topic id, so the key has the lake's newest one.
        unread: compressed segments and dangling links, by base offset.
        last_side_file: the file beside segments with the highest offset in its name.
        directory_id: the log dir's id in meta.properties; None before Kafka 3.7.
        planned_start_offset: log start when this run planned to read segments deleted since.
        deleting: base offsets of segments that the broker is deleting (`.deleted`), in order.
        start_of_copies: offset up to which other copies prove that Kafka deleted the log.
    """

    key: PartitionKey
    broker_id: int | None
    folder: str
    is_future: bool  # an unfinished copy to another disk of the broker
    checkpoints: Checkpoints
    epochs: tuple[EpochStart, ...]  # of leader-epoch-checkpoint, none when it says nothing
    segments: tuple[SegmentFile, ...]
    snapshots: tuple[SnapshotFile, ...] = ()  # by offset
    unread: tuple[UnreadSegment, ...] = ()
    last_side_file: EndClaim | None = None
    takes_id_of_lake: bool = False
    planned_start_offset: int | None = None
    directory_id: str | None = None
    deleting: tuple[int, ...] = ()
    start_of_copies: int = 0

    @property
    def log_start_offset(self) -> int:
        """Return the start of the partition, by its checkpoint or its first segment."""
        first = self.segments[0].base_offset if self.segments else 0
        return max(first, self.checkpoints.log_start_offset or 0)

    @property
    def durable_offset(self) -> int:
        """Return the offset below which records are proved to be replicated or synced to disk."""
        return self.checkpoints.durable_offset

    def may_be_duplicate_of(self, other: "Replica") -> bool:
        """Return whether both are live folders of one broker, not known to be in one log dir."""
        is_of_broker = self.broker_id is not None and self.broker_id == other.broker_id
        is_of_log_dir = self.directory_id is not None and self.directory_id == other.directory_id
        return is_of_broker and not (is_of_log_dir or self.is_future or other.is_future)
