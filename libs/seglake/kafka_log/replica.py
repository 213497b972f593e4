"""A broker's copy of a partition, from the file listing and the log dir's small files.

No segment is opened: all offsets come from file names and checkpoint files.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from seglake.segment_codec.formats.side_files.checkpoint_files import EpochStart
from seglake.segment_codec.formats.side_files.log_dir import SideFile


class PartitionKey(NamedTuple):
    """Identity of a log; `topic_id` differs after a topic is recreated, and is None if unknown."""

    topic: str
    partition: int
    topic_id: str | None

    def __str__(self) -> str:
        """Return Kafka's name of the partition's folder, without the topic id."""
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class RemoteObject:
    """The object of a remote tier that has a segment's bytes.

    Attributes:
        segment_id: id of the upload, 22 characters.
        next_offset: exclusive end of the offsets that are read from the object; 0 if unknown.
        stop_position: position in the segment where reading stops, because another segment
            continues the log; None if the whole segment is read.
        manifest_path: manifest of the chunks in the object; None if the object has the segment's
            own bytes.
        key_paths: files of private keys, by key id.
        stored_bytes: size of the object when it was listed; None if unknown.
        manifest_bytes: size of the manifest when it was listed; None if unknown.
        manifest: content of the manifest, if the run has read it and it is small.
        index_bytes: size of the offset index when it was listed; None if unknown.
        transaction_index_bytes: size of the transaction index when it was listed; None if unknown.
        is_ingested: whether an earlier run has ingested the segment up to its end.
        rivals: ids of the uploads that begin within the segment and are not read; known only of a
            log's last upload.
    """

    segment_id: str
    next_offset: int = 0
    stop_position: int | None = None
    manifest_path: str | None = None
    key_paths: tuple[tuple[str, str], ...] = ()
    stored_bytes: int | None = None
    manifest_bytes: int | None = None
    manifest: bytes | None = field(default=None, repr=False)
    index_bytes: int | None = None
    transaction_index_bytes: int | None = None
    is_ingested: bool = False
    rivals: tuple[str, ...] = ()


class SegmentFile(NamedTuple):
    """A readable segment file.

    Attributes:
        name: path relative to the log dir, as in the tables.
        size_bytes: size when the file was listed.
        index_path: path of the offset index; None if it has none.
        origin_position: position of the file's first byte in the original segment; above 0 for
            quarantined bytes of a larger file.
        transaction_index_path: path of the transaction index; None if it has none.
        modified_at_ms: modification time in the listing, in ms since 1970; 0 if not needed.
        remote: the object of a remote tier that `path` names; None for a broker's own file.
    """

    base_offset: int
    path: str
    name: str
    size_bytes: int
    index_path: str | None
    origin_position: int = 0
    transaction_index_path: str | None = None
    modified_at_ms: int = 0
    remote: RemoteObject | None = None


class SnapshotFile(NamedTuple):
    """Producer snapshot; `offset`, from its file name, is the exclusive end of its records."""

    offset: int
    path: str


class UnreadSegment(NamedTuple):
    """A segment that cannot be read; `problem` is the reason, empty if it is only compressed."""

    base_offset: int
    name: str
    size_bytes: int
    problem: str = ""


class RemoteGap(NamedTuple):
    """Offsets that a remote tier should have, and why they are unreadable there."""

    start_offset: int
    next_offset: int
    reason: str


class EndClaim(NamedTuple):
    """An exclusive end of a log, and the file whose content or name states it."""

    offset: int
    stated_by: str


class Checkpoints(NamedTuple):
    """A partition's offsets in the checkpoint files of a log dir.

    Attributes:
        has_high_watermarks: whether the file with the high watermarks exists and is plausible.
        high_watermark: high watermark; None if its file is missing or implausible, or lacks the
            partition.
        mark_stated_by: the file, or the part of a remote tier, that states the high watermark.
        log_start_offset: log start; with a remote tier it may be below the first segment: then only
            the tier has the offsets in between.
        cleaner_offset: exclusive end of the range that the cleaner has processed; None if it never
            ran.
    """

    has_high_watermarks: bool = False
    high_watermark: int | None = None
    recovery_point: int | None = None
    log_start_offset: int | None = None
    cleaner_offset: int | None = None
    has_remote_tier: bool = False
    mark_stated_by: str = SideFile.HIGH_WATERMARKS

    @property
    def durable_offset(self) -> int:
        """Return the offset below which records are known to be replicated or synced to disk."""
        return max(self.high_watermark or 0, self.recovery_point or 0)


NO_CHECKPOINTS = Checkpoints()


class Replica(NamedTuple):
    """A broker's copy of a partition.

    Attributes:
        broker_id: id of the broker, None if unknown.
        is_future: whether the folder is an unfinished copy for another disk of the broker
            (`-future`).
        epochs: entries of leader-epoch-checkpoint.
        segments: readable segments, by base offset.
        snapshots: producer snapshots, by offset.
        unread: compressed segments and dangling links, by base offset.
        last_side_file: index or snapshot file with the highest offset in its name.
        has_id_of_lake: whether the topic id in `key` is the newest one in the lake, because no disk
            has an id.
        planned_start_offset: log start when this run was planned, if the segments at this offset
            have been deleted since.
        directory_id: the log dir's id in meta.properties; None before Kafka 3.7.
        deleting: base offsets of segments that the broker is deleting (`.deleted`), in order.
        start_of_copies: exclusive end of the offsets that Kafka deleted, as other copies prove.
        remote_gaps: unreadable offsets that the given remote tier should have, rising.
        epochs_stated_by: the file, or the part of a remote tier, that states the epochs.
        last_upload: last segment of the log in the remote tier, even if the replica has a local
            segment with these offsets; None if a run need not remember it.
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
    remote_gaps: tuple[RemoteGap, ...] = ()
    epochs_stated_by: str = SideFile.LEADER_EPOCHS
    last_upload: SegmentFile | None = None

    @property
    def log_start_offset(self) -> int:
        """Return the log start checkpoint or the first segment's base offset, if that is higher."""
        first = self.segments[0].base_offset if self.segments else 0
        return max(first, self.checkpoints.log_start_offset or 0)

    @property
    def durable_offset(self) -> int:
        """Return the offset below which records are known to be replicated or synced to disk.

        Brokers upload only replicated records.
        """
        last = self.segments[-1].remote if self.segments else None
        return max(self.checkpoints.durable_offset, 0 if last is None else last.next_offset)

    def may_be_duplicate_of(self, other: "Replica") -> bool:
        """Return whether both are live copies on one broker, possibly in different log dirs."""
        is_of_broker = self.broker_id is not None and self.broker_id == other.broker_id
        is_of_log_dir = self.directory_id is not None and self.directory_id == other.directory_id
        return is_of_broker and not (is_of_log_dir or self.is_future or other.is_future)
