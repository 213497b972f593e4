"""Requests to compare copies with the ingested log, and the conflicts that were found."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.kafka_log.segment_survey import LastBatch
from seglake.lake.parquet_files import DataFile
from seglake.log_dirs.batch_walk import BatchHead
from seglake.segment_decoding.conflict_counts import ConflictCount, ConflictKind
from seglake.segment_decoding.listed_copies import ListedCopy
from seglake.segment_decoding.tasks import DecodeSettings
from seglake.storage.storage import Storage


class CompareRequest(NamedTuple):
    """Request to compare a copy of a partition with the ingested log.

    Attributes:
        ours: the copy that was ingested, or the lake's batches in `offsets`, in order.
        theirs: the copy to compare.
        offsets: range in which the compared batches of `theirs` begin.
        divergence_offset: from this offset on, `theirs` lost an election.
        is_same_broker: both logs are on one broker, which cannot lose an election to itself.
        is_undecided: without leader epochs it is unknown which log won an election.
        before: copies whose conflicts are already listed, so that their batches are not listed
            again.
    """

    storage: Storage
    ours: Replica | tuple[BatchHead, ...]
    theirs: Replica
    offsets: OffsetRange
    divergence_offset: int
    is_same_broker: bool = False
    is_undecided: bool = False
    before: tuple[ListedCopy, ...] = ()

    @property
    def key(self) -> PartitionKey:
        """Return the partition whose copies are compared."""
        return self.theirs.key

    @property
    def walked_bytes(self) -> int:
        """Estimate the bytes to read.

        A segment counts as 0 if an index shows which part to read.
        """
        sides = [side for side in (self.ours, self.theirs) if isinstance(side, Replica)]
        return sum(_walked_bytes(side, self.offsets) for side in sides)


class RecordRequest(NamedTuple):
    """Request to write conflicts to `quarantine`, except `known` ones, which are already in it."""

    compare: CompareRequest
    known: frozenset["Listed"]
    settings: DecodeSettings

    @property
    def walked_bytes(self) -> int:
        """Estimate the bytes to read; see `CompareRequest.walked_bytes`."""
        return self.compare.walked_bytes


class Listed(NamedTuple):
    """A conflicting batch in `quarantine`, and whether all its bytes are stored there."""

    last_offset: int
    crc: int
    size_bytes: int
    is_complete: bool


class Winner(NamedTuple):
    """Leader epoch that won an election against ingested rows.

    Attributes:
        first_offset: lowest offset of the conflicting batches on both sides.
        leader_epoch: the winning leader epoch.
        last_batch: last conflicting batch of the winner; None if there is none.
    """

    first_offset: int
    leader_epoch: int | None
    last_batch: LastBatch | None


class FoundConflicts(NamedTuple):
    """Conflicts of a copy; `batches` has each conflicting batch with its kind."""

    winner: Winner | None
    batches: tuple[tuple[ConflictKind, BatchHead], ...]

    @property
    def counts(self) -> ConflictCount:
        """Return the number of conflicting batches of each kind."""
        return Counter(kind for kind, _ in self.batches)


class RecordReport(NamedTuple):
    """Number of rows written for a copy, and their files."""

    written: ConflictCount
    files: tuple[DataFile, ...]


def _walked_bytes(copy: Replica, offsets: OffsetRange) -> int:
    """Estimate how many bytes of a copy's segments a comparison reads."""
    start, stop = offsets
    begun = [file for file in copy.segments if file.base_offset <= start][-1:]
    inside = [file for file in copy.segments if start < file.base_offset < stop]
    return sum(f.size_bytes for f in inside) + sum(
        f.size_bytes for f in begun if f.base_offset == start or f.index_path is None
    )


def unlisted(
    batches: Iterable[tuple[ConflictKind, BatchHead]],
    known: frozenset[Listed],
    most_bytes: int,
) -> ConflictCount:
    """Count the conflicting batches that are not in quarantine yet.

    Args:
        batches: conflicting batches with their kinds.
        known: batches in quarantine.
        most_bytes: highest number of bytes to store of a batch.
    """
    return Counter(
        kind
        for kind, head in batches
        if not is_listed(head, min(head.size_bytes, most_bytes), known)
    )


def is_listed(head: BatchHead, kept_bytes: int, known: frozenset[Listed]) -> bool:
    """Return whether quarantine has a batch with at least `kept_bytes` bytes."""
    listed = Listed(head.last_offset, head.crc, head.size_bytes, is_complete=True)
    is_cut = kept_bytes < head.size_bytes
    return listed in known or (is_cut and listed._replace(is_complete=False) in known)
