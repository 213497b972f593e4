"""What was found on the disks: one broker's copy of one partition, as names and numbers.

Nothing here was read from a segment yet; the offsets come from the log dir's checkpoint files.
"""

from dataclasses import dataclass
from typing import NamedTuple


class PartitionKey(NamedTuple):
    """Which log: a topic made again under the same name has another `topic_id`, None if unknown."""

    topic: str
    partition: int
    topic_id: str | None

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """One segment to read: its size when it was listed, and its offset index if there is one.

    `name` is relative to the log dir, as the tables show it.
    """

    base_offset: int
    path: str
    name: str
    size_bytes: int
    index_path: str | None


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """What a log dir's checkpoint files say of one partition.

    `high_watermark` is None when the file is missing or unreadable (`has_high_watermarks` is False
    then) or has no entry for the partition. With a remote tier `log_start_offset` may lie below
    the first segment: what is between them is in remote storage only.
    """

    has_high_watermarks: bool
    high_watermark: int | None
    recovery_point: int | None
    log_start_offset: int | None
    cleaner_offset: int | None
    has_remote_tier: bool


@dataclass(frozen=True, slots=True)
class Replica:
    """One broker's copy of a partition."""

    key: PartitionKey
    broker_id: int | None
    folder: str
    is_future: bool  # an unfinished copy to another disk of the broker
    checkpoints: Checkpoints
    last_epoch: int  # from leader-epoch-checkpoint, -1 when it says nothing
    segments: tuple[SegmentFile, ...]

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self.segments)

    @property
    def log_start_offset(self) -> int:
        """Where the partition begins, by its checkpoint or by its first segment."""
        first = self.segments[0].base_offset if self.segments else 0
        return max(first, self.checkpoints.log_start_offset or 0)

    @property
    def settled_offset(self) -> int:
        """Below this a record was proved replicated or synced to disk."""
        return max(self.checkpoints.high_watermark or 0, self.checkpoints.recovery_point or 0)
