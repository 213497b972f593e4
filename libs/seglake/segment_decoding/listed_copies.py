"""Avoids listing one conflicting batch twice if several copies have it."""

from typing import NamedTuple

from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import Replica
from seglake.log_dirs.batch_walk import BatchHead, LogHeads


class ListedCopy(NamedTuple):
    """Copy whose conflicts are listed before those of the other copies of its partition.

    Attributes:
        divergence_offset: see `CompareRequest`.
        start_offset: first offset to compare.
    """

    replica: Replica
    divergence_offset: int
    start_offset: int = 0


class CopyBefore:
    """Reader of a copy whose conflicts are already listed, in step with another copy."""

    def __init__(self, copy: ListedCopy, log: LogHeads, offsets: OffsetRange) -> None:
        """Start at the first batch in a range.

        Args:
            copy: the copy.
            log: reader of its batch headers.
            offsets: range in which the compared batches begin.
        """
        self._copy = copy
        self._log = log
        self.heads = log.between(offsets)
        self._head = next(self.heads, None)

    def lists(self, theirs: BatchHead, ours: BatchHead | None) -> bool:
        """Return whether this copy also has the conflicting batch, so that it is already listed."""
        while self._head is not None and self._head.last_offset < theirs.last_offset:
            self._head = next(self.heads, None)
        head = self._head
        if head is None or head.first_offset < self._copy.start_offset:
            return False
        is_same = head[1:3] == theirs[1:3] and head.size_bytes == theirs.size_bytes
        is_beyond = head.last_offset >= self._copy.divergence_offset
        return is_same and is_conflict(head, ours, is_beyond=is_beyond) and self._log.is_sound(head)


def overlap(one: BatchHead, other: BatchHead) -> bool:
    """Return whether two batches share an offset."""
    return one.first_offset <= other.last_offset and other.first_offset <= one.last_offset


def is_conflict(theirs: BatchHead, ours: BatchHead | None, *, is_beyond: bool) -> bool:
    """Return whether a batch of another copy contradicts the ingested log.

    Args:
        theirs: the copy's batch.
        ours: the ingested log's batch at these offsets; None if there is none.
        is_beyond: whether the batch is at or above the offset from which the copy lost an election.
    """
    if ours is None:
        return is_beyond  # below the divergence, the ingested log may lack a batch
    if (ours.last_offset, ours.crc) == (theirs.last_offset, theirs.crc):
        return False
    has_other_leader = None not in (ours.leader_epoch, theirs.leader_epoch) and (
        ours.leader_epoch != theirs.leader_epoch
    )
    return is_beyond or has_other_leader or (ours.is_dense and theirs.is_dense)
