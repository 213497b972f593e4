"""Writes a broker's log dir: partitions, checkpoint files, meta.properties."""

import base64
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from support.encoder.segment import Segment, WrittenSegment, write_segment

DEFAULT_CLUSTER_ID = "c2VnbGFrZS10ZXN0cy4xMg"


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition to write.

    None for high watermark and recovery point means the log end; None for the log start means no
    line in its checkpoint, as Kafka leaves it when it is the first segment's base. `leader_epochs`
    are pairs of epoch and start offset, cut at the log start as Kafka cuts them. `folder_suffix` is
    for `.<hex>-delete` and `-future`.
    """

    topic: str
    partition: int
    segments: Sequence[Segment]
    high_watermark: int | None = None
    recovery_point: int | None = None
    log_start_offset: int | None = None
    topic_id: uuid.UUID | None = None
    leader_epochs: Sequence[tuple[int, int]] = ((0, 0),)
    folder_suffix: str = ""

    @property
    def kept_epochs(self) -> list[tuple[int, int]]:
        """The leader epochs from the log start on: the one that spans it begins there."""
        start = self.log_start_offset
        if start is None:
            start = self.segments[0].base_offset if self.segments else 0
        below = [(epoch, start) for epoch, first in self.leader_epochs if first < start]
        return below[-1:] + [each for each in self.leader_epochs if each[1] >= start]

    @property
    def log_end_offset(self) -> int:
        """The offset after the last batch of the last segment."""
        return self.segments[-1].next_offset if self.segments else 0


class WrittenPartition(NamedTuple):
    """Folder of a written partition, and its segments in the given order."""

    folder: Path
    segments: tuple[WrittenSegment, ...]


def write_log_dir(
    folder: Path,
    partitions: Sequence[Partition],
    *,
    broker_id: int = 0,
    cluster_id: str | None = DEFAULT_CLUSTER_ID,
    is_clean: bool = True,
) -> tuple[WrittenPartition, ...]:
    """Write a whole log dir; the folder is made when it is missing.

    `is_clean` leaves the marker of a clean shutdown. Without a cluster id there is no
    meta.properties.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = tuple(write_partition(folder, partition) for partition in partitions)
    live = [partition for partition in partitions if not partition.folder_suffix]
    high_watermarks, recovery_points, log_starts = {}, {}, {}
    for partition in live:
        key = (partition.topic, partition.partition)
        end = partition.log_end_offset
        known = partition.high_watermark
        high_watermarks[key] = end if known is None else known
        flushed = 0 if partition.high_watermark == 0 else end  # as before the first checkpoint
        known = partition.recovery_point
        recovery_points[key] = flushed if known is None else known
        if partition.log_start_offset is not None:
            log_starts[key] = partition.log_start_offset
    write_checkpoint(folder / "replication-offset-checkpoint", high_watermarks)
    write_checkpoint(folder / "recovery-point-offset-checkpoint", recovery_points)
    write_checkpoint(folder / "log-start-offset-checkpoint", log_starts)
    if cluster_id is not None:
        (folder / "meta.properties").write_text(meta_properties(broker_id, cluster_id))
    if is_clean:
        (folder / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":-1}')
    return written


def write_partition(log_dir: Path, partition: Partition) -> WrittenPartition:
    """Write one partition's folder into a log dir."""
    name = f"{partition.topic}-{partition.partition}{partition.folder_suffix}"
    folder = log_dir / name
    folder.mkdir(parents=True)
    written = tuple(write_segment(folder, segment) for segment in partition.segments)
    if partition.leader_epochs:
        lines = [f"{epoch} {start_offset}" for epoch, start_offset in partition.kept_epochs]
        (folder / "leader-epoch-checkpoint").write_text(checkpoint_text(lines))
    if partition.topic_id is not None:
        text = f"version: 0\ntopic_id: {topic_id_text(partition.topic_id)}"
        (folder / "partition.metadata").write_text(text)
    return WrittenPartition(folder, written)


def delete_segment(folder: Path, base_offset: int) -> None:
    """Delete a partition's first segment as retention does, in a log of leader epoch 0."""
    for path in folder.glob(f"{base_offset:020}.*"):
        path.unlink()
    start = min((int(path.stem) for path in folder.glob("*.log")), default=0)
    (folder / "leader-epoch-checkpoint").write_text(checkpoint_text([f"0 {start}"]))


def write_checkpoint(path: Path, offsets: Mapping[tuple[str, int], int]) -> None:
    """Write one offset per topic and partition."""
    lines = [f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()]
    path.write_text(checkpoint_text(lines))


def checkpoint_text(lines: Sequence[str], version: int = 0) -> str:
    """The frame of all checkpoint files: version, count, entries."""
    return "".join(f"{line}\n" for line in [str(version), str(len(lines)), *lines])


def meta_properties(broker_id: int, cluster_id: str) -> str:
    """The content of meta.properties as a broker in ZooKeeper mode writes it."""
    return f"#\n#made by tests\ncluster.id={cluster_id}\nbroker.id={broker_id}\nversion=0\n"


def topic_id_text(topic_id: uuid.UUID) -> str:
    """A topic id as Kafka prints it: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(topic_id.bytes).decode("ascii").rstrip("=")
