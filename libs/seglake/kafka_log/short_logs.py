"""Finds offsets that a disk lacks although the broker's files prove them.

Offsets below a high watermark are replicated, and those below a recovery point are synced to disk.
A leader epoch, a producer snapshot, an index and a segment each start at an offset where the log
once ended. So each of these files proves that the log reached an offset.
"""

from collections.abc import Sequence
from typing import NamedTuple

from seglake.kafka_log.offset_ranges import OffsetRange, common, subtracted
from seglake.kafka_log.replica import EndClaim, PartitionKey, Replica
from seglake.segment_codec.formats.side_files.log_dir import (
    SideFile,
    parse_metadata_snapshot_name,
)


class ShortLog(NamedTuple):
    """Log whose segments end below an offset that it once reached, as other files prove.

    Attributes:
        ranges: offsets below that offset that are neither on the disk nor in the lake.
        claim: highest offset that the log reached (exclusive), and the file that proves it.
        found: state of the log on the disk, as text.
    """

    key: PartitionKey
    folder: str
    ranges: tuple[OffsetRange, ...]
    claim: EndClaim
    found: str

    @property
    def offsets(self) -> int:
        """Return the number of missing offsets."""
        return sum(stop - start for start, stop in self.ranges)

    @property
    def reason(self) -> str:
        """Return a sentence with the missing ranges and their proof."""
        ranges = ", ".join(f"[{start}, {stop})" for start, stop in self.ranges)
        return f"{self.key}: {ranges}: {self.proof}"

    @property
    def proof(self) -> str:
        """Return a sentence with the file that proves the offsets and the log's end on disk."""
        return f"{self.claim.stated_by} says {self.claim.offset}, {self.found}"

    def outside(self, known: Sequence[OffsetRange]) -> "ShortLog | None":
        """Return this value without the known ranges, which are merged; None if nothing remains."""
        left = tuple(of for lost in self.ranges for of in subtracted(lost, known))
        return self._replace(ranges=left) if left else None

    def below(self, offset: int) -> "ShortLog | None":
        """Return this value with only the offsets below a limit; None if there are none."""
        left = tuple(common(self.ranges, (0, offset)))
        return self._replace(ranges=left) if left else None


def end_claim(replica: Replica) -> EndClaim:
    """Return the highest log end in a checkpoint file or a file name, with that file."""
    checkpoints = replica.checkpoints
    claims = [
        EndClaim(checkpoints.high_watermark or 0, checkpoints.mark_stated_by),
        EndClaim(checkpoints.recovery_point or 0, SideFile.RECOVERY_POINTS),
    ]
    if replica.epochs:
        claims.append(EndClaim(replica.epochs[-1].start_offset, replica.epochs_stated_by))
    beside = replica.last_side_file
    # The offset in a KRaft snapshot's name may be above all checkpoints.
    if beside is not None:
        claims.insert(0 if parse_metadata_snapshot_name(beside.stated_by) else len(claims), beside)
    if replica.segments:
        last = replica.segments[-1]
        claims.append(EndClaim(last.base_offset, last.name.rpartition("/")[2]))
    return max(claims, key=lambda claim: claim.offset)


def short_log(
    replica: Replica, log_end_offset: int, known: Sequence[OffsetRange]
) -> ShortLog | None:
    """Find proved offsets above the end of a replica's log; None if there are none.

    Args:
        replica: the replica, with its checkpoints.
        log_end_offset: exclusive end of the replica's last batch; ignored if the replica has no
            segment.
        known: merged ranges of the partition in the lake and in unread files.
    """
    claim, folder = end_claim(replica), replica.folder
    start, found = replica.log_start_offset, f"there is no segment in {folder}"
    if replica.segments:
        # The cleaner may have removed the last records below the active segment.
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
    """Return the missing offsets of a partition that has a checkpoint entry but no folder.

    Args:
        key: the partition.
        folder: the name of the missing folder.
        offsets: the range that the checkpoint proves.
        covered: merged ranges in the lake.
        stated_by: the checkpoint file.

    Returns:
        The missing offsets; None if all of them are in the lake.
    """
    claim = EndClaim(offsets[1], stated_by)
    ranges = subtracted(offsets, covered)
    found = f"there is no folder {folder}"
    return ShortLog(key, folder, tuple(ranges), claim, found) if ranges else None
