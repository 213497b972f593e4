"""Input and report of a decode task: plain values that cross to an executor."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seglake.kafka_log.gap_ranges import GapsByCause
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import PartitionKey, SegmentFile
from seglake.kafka_log.segment_survey import LastBatch
from seglake.kafka_log.transaction_markers import Marker
from seglake.lake.parquet_files import DataFile
from seglake.log_tables.record_rows import Origin
from seglake.storage.storage import Storage


@dataclass(frozen=True, slots=True)
class SegmentSplit:
    """Bytes [start, stop) of one segment; a batch begins at `start`.

    Attributes:
        limit_offset: offsets from here on cannot be in the segment.
        expected_offset: end of the offsets before `start`.
        start_crc: checksum of the batch at `start` in the survey, -1 if unknown.
        is_last: no later segment exists.
        is_cleaned: the cleaner's checkpoint is above the segment's base offset.
        is_compacted: the cleaner has run here, so missing offsets are no loss.
        is_plain: the survey found nothing odd in it.
        next_offset: end of the offsets before `stop` in the survey; 0 if it is doubtful.
        first_offset: first offset of the batch at `start` in the survey; 0 if unknown.
    """

    file: SegmentFile
    start: int
    stop: int
    limit_offset: int
    expected_offset: int
    start_crc: int
    is_last: bool
    is_cleaned: bool
    is_compacted: bool
    is_plain: bool
    next_offset: int = 0
    first_offset: int = 0

    @property
    def size_bytes(self) -> int:
        """Return the number of bytes."""
        return self.stop - self.start


class RequestedOffsets(NamedTuple):
    """Offsets without a row in the lake, which a refill ingests.

    Attributes:
        rows: ranges of offsets in the lake's gaps and of records that its batches lack, rising and
            disjoint; (n, 2), half-open.
        gaps: the ranges that no batch of the lake spans.
        recorded: the lake's damage of the partition, each span by its IDENTITY.
    """

    rows: NDArray[np.int64]
    gaps: NDArray[np.int64]
    recorded: frozenset[tuple[Any, ...]] = frozenset()  # Any: columns of several types

    def between(self, start: int, stop: int) -> "RequestedOffsets":
        """Return the ranges that share an offset with [start, stop)."""
        rows, gaps = _between(self.rows, start, stop), _between(self.gaps, start, stop)
        return self._replace(rows=rows, gaps=gaps)

    def share(self, start: int, stop: int) -> bool:
        """Return whether any row with an offset in [start, stop) is wanted."""
        return bool(len(_between(self.rows, start, stop)))

    def hold(self, offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return for each offset whether its row is wanted."""
        return are_held(self.rows, offsets)

    def have_gaps_in(
        self, firsts: NDArray[np.int64], lasts: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return for each batch, given its first and last offset, whether it reaches into a gap."""
        if not len(self.gaps):
            return np.zeros(len(firsts), np.bool_)
        place = np.searchsorted(self.gaps[:, 1], firsts, side="right")
        nearest = np.minimum(place, len(self.gaps) - 1)
        found: NDArray[np.bool_] = (place < len(self.gaps)) & (self.gaps[nearest, 0] <= lasts)
        return found


def are_held(ranges: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for each offset whether one of the rising ranges contains it."""
    if not len(ranges):
        return np.zeros(len(offsets), np.bool_)
    place = np.searchsorted(ranges[:, 0], offsets, side="right") - 1
    found: NDArray[np.bool_] = (place >= 0) & (offsets < ranges[np.maximum(place, 0), 1])
    return found


def _between(ranges: NDArray[np.int64], start: int, stop: int) -> NDArray[np.int64]:
    """Return the ranges that share an offset with [start, stop)."""
    return ranges[(ranges[:, 1] > start) & (ranges[:, 0] < stop)]


@dataclass(frozen=True, slots=True)
class PartitionSplit:
    """A piece of one partition's log: segment splits in order, and the offsets wanted from them.

    Attributes:
        range_start: start of the range of offsets that one ledger row will cover; other splits may
            belong to it.
        range_next: end of that range.
        log_start_offset: records below exist on the disk but not in the log. A marker below is
            ingested all the same: it may end a transaction of an earlier run.
        durable_offset: high watermark or recovery point, the higher.
        is_plain: the survey found nothing odd, so the walk may end at the first batch above.
        markers: markers in the split, and each producer's next one after it: the outcomes.
        gap_cause: cause of the gap to repair; None for a first ingest.
        cuts_end: the inner part of a batch that crosses the range's end is ingested; if False, the
            whole batch is left for a later run.
        includes_end: the range is empty, and stands for damage after it whose offsets are unknown.
        leaves_end: an empty range stands for the damage at the end of the log, with copies in it.
        is_final: nobody will append any more, see `SegmentBounds`.
        limit_offset: first offset of records outside the split, also in a batch whose header ends
            before. None means the range's end. If it is above that end, no split follows.
        requested: offsets of the rows that a refill ingests; None means all in the range.
    """

    key: PartitionKey
    broker_id: int | None
    segment_splits: tuple[SegmentSplit, ...]
    range_start: int
    range_next: int
    log_start_offset: int
    durable_offset: int
    is_plain: bool
    markers: tuple[Marker, ...]
    gap_cause: GapCause | None = None
    cuts_end: bool = False
    includes_end: bool = False
    leaves_end: bool = False
    is_final: bool = False
    limit_offset: int | None = None
    requested: RequestedOffsets | None = None

    @property
    def size_bytes(self) -> int:
        """Return the number of bytes in all segment splits."""
        return sum(segment_split.size_bytes for segment_split in self.segment_splits)

    @property
    def floor_offset(self) -> int:
        """Return the offset below which no data is ingested."""
        return max(self.range_start, self.log_start_offset)

    def ceiling(self, last_offset: int, counted_offset: int = 0) -> int:
        """Return the end of the ingested offsets of a batch that ends, by its header, at an offset.

        Args:
            last_offset: last offset of the batch, by its header.
            counted_offset: end of the batch if each record that its header counts has an offset.
                The batch may reach above the end of the log up to there, and no further: a record
                at a higher offset would hide records that are written later.
        """
        if last_offset >= self.range_next or self.limit_offset is None:
            return self.range_next
        return min(self.limit_offset, max(self.range_next, counted_offset))

    def cut(
        self, first_offset: int, last_offset: int, ceiling_offset: int | None = None
    ) -> OffsetRange:
        """Return the part of a batch inside the range and, at the log start, inside the log.

        Args:
            first_offset: first offset of the batch.
            last_offset: last offset of the batch.
            ceiling_offset: end by `ceiling`; None for the range's end.
        """
        ceiling = self.range_next if ceiling_offset is None else ceiling_offset
        if self.range_start <= first_offset >= self.log_start_offset and last_offset < ceiling:
            return first_offset, last_offset + 1  # the usual case, kept fast
        is_below = last_offset < self.log_start_offset
        floor = self.range_start if is_below else self.floor_offset
        return max(first_offset, floor), min(last_offset + 1, ceiling)


@dataclass(frozen=True, slots=True)
class DecodeSettings:
    """Settings that every task of a run needs besides its splits.

    Attributes:
        started_at_us: start of the run, in microseconds since 1970.
        reads_aborted: ingest records of aborted transactions (read_uncommitted).
        reads_undecided: ingest records of open transactions in read_committed, too.
        window_bytes: bytes of one read.
        decoded_bytes: plain bytes that are decoded together.
        max_decompressed_batch_bytes: most plain bytes of a batch; a larger batch is a defect.
        max_raw_bytes: most bytes that quarantine keeps of damage.
        target_file_bytes: bytes at which a data file is finished.
        generations: generation of the rows by topic; 0 for a topic without one.
    """

    storage: Storage
    lake_path: str
    source_id: str
    run_id: str
    attempt_id: str
    started_at_us: int
    reads_aborted: bool
    reads_undecided: bool
    window_bytes: int
    decoded_bytes: int
    max_decompressed_batch_bytes: int
    max_raw_bytes: int
    target_file_bytes: int
    compression_level: int
    generations: Mapping[str, int] = field(default_factory=dict)

    def origin(self, key: PartitionKey) -> Origin:
        """Return the values that a partition's rows share."""
        generation = self.generations.get(key.topic, 0)
        return Origin(self.source_id, key, self.run_id, generation)


@dataclass(frozen=True, slots=True)
class DecodeTask:
    """Several splits for one task, sorted by topic and partition."""

    splits: tuple[PartitionSplit, ...]
    settings: DecodeSettings

    @property
    def size_bytes(self) -> int:
        """Return the number of bytes in all splits."""
        return sum(split.size_bytes for split in self.splits)

    def of_attempt(self, attempt_id: str, generations: Mapping[str, int]) -> "DecodeTask":
        """Return the task with the id and the generations that its rows are committed under."""
        own = {split.key.topic: generations[split.key.topic] for split in self.splits}
        settings = replace(self.settings, attempt_id=attempt_id, generations=own)
        return replace(self, settings=settings)


class ByteCount(NamedTuple):
    """Bytes of a split by treatment; each byte is in exactly one count, except those in `kept`."""

    sound: int = 0  # in sound batches, whether their records became rows or not
    quarantined: int = 0
    tail: int = 0
    below: int = 0  # ingested by an earlier run
    above: int = 0  # left for a later run
    undecided: int = 0  # in sound batches of transactions that have not ended
    kept: int = 0  # in sound batches that are also in quarantine: some records have no row

    @property
    def total(self) -> int:
        """Return the bytes of the split."""
        return sum(self) - self.kept

    @property
    def read(self) -> int:
        """Return the bytes of the wanted range."""
        return self.sound + self.quarantined + self.undecided

    @property
    def in_tables(self) -> int:
        """Return the bytes of all rows of `batches` and `quarantine`."""
        return self.sound + self.in_quarantine

    @property
    def in_quarantine(self) -> int:
        """Return the bytes of all rows of `quarantine`."""
        return self.quarantined + self.kept


class Totals(NamedTuple):
    """Counts of a split; sums are over the rows in `records`.

    Attributes:
        offsets: offsets in the rows of `batches` and `gaps`, each clipped to the range.
        unread_internal: rows of decoded tables whose bytes could not be read.
        unsettled_internal: records without such a row because their transaction was aborted or has
            not ended.
        redacted: rows of decoded tables without a value that is or may be a secret.
    """

    records: int = 0
    batches: int = 0
    quarantined_batches: int = 0
    gaps: int = 0
    offsets: int = 0
    offset_sum: int = 0
    key_bytes: int = 0
    value_bytes: int = 0
    replaced_header_names: int = 0
    unread_internal: int = 0
    unsettled_internal: int = 0
    redacted: int = 0


class TailReport(NamedTuple):
    """Zeros after the last batch of a segment that is not the last."""

    segment: str
    position: int
    size_bytes: int


class ThinnedBatch(NamedTuple):
    """A batch from which the cleaner has removed records."""

    offsets: OffsetRange
    crc: int


@dataclass(frozen=True, slots=True)
class SplitReport:
    """Findings and counts of a task in one split.

    Attributes:
        first_offset: first offset of the sound batches, clipped to the range; None without one.
        next_offset: end of the sound batches, clipped to the range; None without one.
        has_leading_defect: there is damage before the first sound batch.
        has_trailing_defect: there is damage after the last sound batch.
        is_compacted_at_start: the cleaner has run at the first edge.
        is_compacted_at_end: the cleaner has run at the last edge.
        cut_offset: first offset of a batch that crosses the range's end, else None.
        gaps: gaps between its batches.
        open_rows: rows whose transaction has not ended.
        times_ms: least and greatest timestamp in `records`, in ms since 1970; None without a row.
        inner_bytes: bytes that its rows count beyond `bytes`; see `SplitCounts`.
        refilled: merged offsets that a refill's rows of `batches` span.
        thinned: those batches that have fewer records than offsets, if the lake has damage.
        hidden: offsets between a refill's batches that damage hides, rising.
    """

    first_offset: int | None
    next_offset: int | None
    has_leading_defect: bool
    has_trailing_defect: bool
    is_compacted_at_start: bool
    is_compacted_at_end: bool
    cut_offset: int | None
    bytes: ByteCount
    totals: Totals
    times_ms: tuple[int, int] | None
    last_batch: LastBatch | None
    markers: tuple[Marker, ...]
    defects: tuple[tuple[str, int], ...]
    gaps: GapsByCause
    open_rows: int
    tails: tuple[TailReport, ...]
    inner_bytes: int = 0
    refilled: tuple[OffsetRange, ...] = ()
    thinned: tuple[ThinnedBatch, ...] = ()
    hidden: tuple[OffsetRange, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskReport:
    """Files and reports of one task.

    Attributes:
        reports: report of each split; None for a failed one, which has no rows in the files.
        failures: index and reason of each unreadable split.
    """

    reports: tuple[SplitReport | None, ...]
    files: tuple[DataFile, ...]
    failures: tuple[tuple[int, str], ...]
