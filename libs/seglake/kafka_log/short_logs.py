"""Offsets that a broker's files prove and its disk does not have. Pure.

A high watermark is replicated, and a recovery point is flushed. A leader epoch, a producer
snapshot, an index and a segment each begin at an offset where the log once ended. So each of them
proves that the log reached that offset.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from seglake.kafka_log.offset_ranges import OffsetRange, common, subtracted
from seglake.kafka_log.replica import EndClaim, PartitionKey, Replica
from seglake.segment_codec.formats.side_files.log_dir import (
    SideFile,
    parse_metadata_snapshot_name,
)


@dataclass(frozen=True, slots=True)
class ShortLog:
    """A log that ends below an offset that the broker's files prove.

    Attributes:
        ranges: proved offsets that are neither on the disk nor in the lake.
        claim: the proved end of the log, with the file that proves it.
        found: the state of the log on the disk, in words.
    """

    key: PartitionKey
    folder: str
    ranges: tuple[OffsetRange, ...]
    claim: EndClaim
    found: str

    @property
    def offsets(self) -> int:
        """Return the number of lost offsets."""
        return sum(stop - start for start, stop in self.ranges)

    @property
    def reason(self) -> str:
        """Return the lost ranges of the partition and their proof, as a sentence."""
        ranges = ", ".join(f"[{start}, {stop})" for start, stop in self.ranges)
        return f"{self.key}: {ranges}: {self.proof}"

    @property
    def proof(self) -> str:
        """Return which file proves the offsets, and where the log ends, as a sentence."""
        return f"{self.claim.stated_by} says {self.claim.offset}, {self.found}"

    def to_mapping(self) -> dict[str, object]:
        """Return the short log for JSON."""
        return {
            "partition": str(self.key),
            "folder": self.folder,
            "ranges": self.ranges,
            "offsets": self.offsets,
            "found": self.found,
            "stated_by": self.claim.stated_by,
            "stated_offset": self.claim.offset,
        }

    def outside(self, known: Sequence[OffsetRange]) -> "ShortLog | None":
        """Return the lost offsets outside of merged, known ranges; None if there are none."""
        left = tuple(of for lost in self.ranges for of in subtracted(lost, known))
        return replace(self, ranges=left) if left else None

    def below(self, offset: int) -> "ShortLog | None":
        """Return the lost offsets below an offset; None if there are none."""
        left = tuple(common(self.ranges, (0, offset)))
        return replace(self, ranges=left) if left else None


def end_claim(replica: Replica) -> EndClaim:
    """Return the highest offset that the checkpoints and the names of files prove."""
    checkpoints = replica.checkpoints
    claims = [
        EndClaim(checkpoints.high_watermark or 0, SideFile.HIGH_WATERMARKS),
        EndClaim(checkpoints.recovery_point or 0, SideFile.RECOVERY_POINTS),
    ]
    if replica.epochs:
        claims.append(EndClaim(replica.epochs[-1].start_offset, SideFile.LEADER_EPOCHS))
    beside = replica.last_side_file
    if beside is not None:  # no checkpoint covers what a snapshot of the KRaft log proves
        claims.insert(0 if parse_metadata_snapshot_name(beside.stated_by) else len(claims), beside)
    if replica.segments:
        last = replica.segments[-1]
        claims.append(EndClaim(last.base_offset, last.name.rpartition("/")[2]))
    return max(claims, key=lambda claim: claim.offset)


def short_log(
    replica: Replica, log_end_offset: int, known: Sequence[OffsetRange]
) -> ShortLog | None:
    """Return the proved offsets above the end of a replica's log; None if there are none.

    Args:
        replica: the replica, with its checkpoints.
        log_end_offset: exclusive end of its last batch; ignored if it has no segment.
        known: merged ranges of the partition in the lake and in files that are not read.
    """
    claim, folder = end_claim(replica), replica.folder
    start, found = replica.log_start_offset, f"there is no segment in {folder}"
    if replica.segments:
        # The cleaner may have removed the last records before the active segment.
        cleaned = min(replica.checkpoints.cleaner_offset or 0, replica.segments[-1].base_offset)
        start = max(log_end_offset, cleaned)
        found = f"the log in {folder} ends at {log_end_offset}"
    ranges = subtracted((start, claim.offset), known)
    return ShortLog(replica.key, folder, tuple(ranges), claim, found) if ranges else None


def absent_log(
    key: PartitionKey,
    folder: str,
    offsets: OffsetRange,
    covered: Sequence[OffsetRange],
    stated_by: SideFile = SideFile.HIGH_WATERMARKS,
) -> ShortLog | None:
    """Return the lost offsets of a partition that a checkpoint names and that has no folder.

    Args:
        key: the partition.
        folder: the name of the missing folder.
        offsets: the range that the checkpoint proves.
        covered: merged ranges that the lake has.
        stated_by: the checkpoint file.

    Returns:
        None if the lake has all of them.
    """
    claim = EndClaim(offsets[1], stated_by)
    ranges = subtracted(offsets, covered)
    found = f"there is no folder {folder}"
    return ShortLog(key, folder, tuple(ranges), claim, found) if ranges else None
