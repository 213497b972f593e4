"""Input and report of a decode task, which are sent to and from executors."""

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
from seglake.lake.removed_sums import NOTHING_REMOVED, RemovedSums
from seglake.log_tables.erasure_rules import TopicRules, rules_for
from seglake.log_tables.record_rows import Origin
from seglake.storage.storage import Storage


class SegmentSplit(NamedTuple):
    """Bytes [start, stop) of one segment, which start with a batch.

    Attributes:
        limit_offset: exclusive upper limit of the segment's offsets.
        expected_offset: exclusive end of the offsets in the segment before byte `start`.
        start_crc: checksum of the batch at byte `start`, from the survey; -1 if unknown.
        is_last: whether it is the last segment of the log.
        is_cleaned: whether the cleaner's checkpoint is above the segment's base offset.
        is_compacted: whether the cleaner has run on the segment: missing offsets are then no loss.
        is_plain: whether the survey found no fault in these bytes.
        next_offset: exclusive end of the offsets before byte `stop`, from the survey; 0 if
            doubtful.
        first_offset: first offset of the batch at byte `start`, from the survey; 0 if unknown.
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
        """Return the number of bytes of the segment that the split has."""
        return self.stop - self.start


class RequestedOffsets(NamedTuple):
    """Offsets that the lake lacks and an older copy may fill.

    Attributes:
        rows: offsets that have no record in the lake, between its batches or inside them: sorted,
            disjoint, half-open ranges of shape (n, 2).
        gaps: the part of `rows` that lies between batches.
        recorded: damage of the partition that is already in `quarantine`, as the columns
            `quarantine_rows.IDENTITY` of each row.
    """

    rows: NDArray[np.int64]
    gaps: NDArray[np.int64]
    recorded: frozenset[tuple[Any, ...]] = frozenset()  # Any: columns of several types

    def between(self, start: int, stop: int) -> "RequestedOffsets":
        """Return the ranges that share an offset with [start, stop)."""
        rows, gaps = _between(self.rows, start, stop), _between(self.gaps, start, stop)
        return self._replace(rows=rows, gaps=gaps)

    def share(self, start: int, stop: int) -> bool:
        """Return whether any offset in [start, stop) is requested."""
        return bool(len(_between(self.rows, start, stop)))

    def hold(self, offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return for each offset whether it is requested."""
        return are_held(self.rows, offsets)

    def have_gaps_in(
        self, firsts: NDArray[np.int64], lasts: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return for each batch, given its first and last offset, whether it overlaps a gap."""
        if not len(self.gaps):
            return np.zeros(len(firsts), np.bool_)
        place = np.searchsorted(self.gaps[:, 1], firsts, side="right")
        nearest = np.minimum(place, len(self.gaps) - 1)
        found: NDArray[np.bool_] = (place < len(self.gaps)) & (self.gaps[nearest, 0] <= lasts)
        return found


def are_held(ranges: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for each offset whether one of the sorted, disjoint ranges contains it."""
    if not len(ranges):
        return np.zeros(len(offsets), np.bool_)
    place = np.searchsorted(ranges[:, 0], offsets, side="right") - 1
    found: NDArray[np.bool_] = (place >= 0) & (offsets < ranges[np.maximum(place, 0), 1])
    return found


def _between(ranges: NDArray[np.int64], start: int, stop: int) -> NDArray[np.int64]:
    """Return the ranges that share an offset with [start, stop)."""
    return ranges[(ranges[:, 1] > start) & (ranges[:, 0] < stop)]


class PartitionSplit(NamedTuple):
    """Part of one partition's log: consecutive byte ranges of segments, and the offsets to ingest.

    Attributes:
        range_start: start of the offset range that one ledger row will cover; several splits may
            share this range.
        range_next: exclusive end of the range that the ledger row will cover.
        log_start_offset: start of the log; records below it are on the disk but not part of the
            log. A transaction marker below it is ingested nevertheless, because it may end a
            transaction whose records an earlier run ingested.
        durable_offset: the high watermark or the recovery point, whichever is higher.
        is_plain: whether the survey found no fault, so that reading may end at the first batch
            above the range.
        markers: transaction markers in the split, and each producer's next marker after the split;
            they decide the states of transactions.
        gap_cause: cause of the gap to repair; None for a first ingest.
        cuts_end: whether a batch that crosses the range's end is ingested up to that end; if False,
            a later run ingests the whole batch.
        includes_end: whether the range is empty, and only records the damage after it, whose
            offsets are unknown.
        leaves_end: whether a separate range records the damage at the log's end, including
            misplaced copies of batches.
        is_final: whether no broker will append to the log any more; see `SegmentBounds`.
        limit_offset: first offset after the split's records; None means the range's end. If a batch
            has records above the last offset in its header, they are ingested up to this limit. It
            is above the range's end only if no split follows.
        requested: offsets to ingest from an older copy; None means the whole range.
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
        """Return the offset below which no records are ingested."""
        return max(self.range_start, self.log_start_offset)

    def ceiling(self, last_offset: int, counted_offset: int = 0) -> int:
        """Return the exclusive offset up to which records of a batch are ingested.

        Args:
            last_offset: last offset in the batch's header.
            counted_offset: end of the batch if its records have consecutive offsets. At the end of
                the log, records up to this offset are ingested. Records above this offset are not:
                they would hide records that are written later.
        """
        if last_offset >= self.range_next or self.limit_offset is None:
            return self.range_next
        return min(self.limit_offset, max(self.range_next, counted_offset))

    def cut(
        self, first_offset: int, last_offset: int, ceiling_offset: int | None = None
    ) -> OffsetRange:
        """Return the offsets of a batch that are in the range and above the log start.

        Args:
            first_offset: first offset of the batch.
            last_offset: last offset of the batch.
            ceiling_offset: result of `ceiling`; None for the range's end.
        """
        ceiling = self.range_next if ceiling_offset is None else ceiling_offset
        if self.range_start <= first_offset >= self.log_start_offset and last_offset < ceiling:
            return first_offset, last_offset + 1  # most batches need no cut
        is_below = last_offset < self.log_start_offset
        floor = self.range_start if is_below else self.floor_offset
        return max(first_offset, floor), min(last_offset + 1, ceiling)


@dataclass(frozen=True, slots=True)
class DecodeSettings:
    """Settings of all tasks of a run.

    Attributes:
        started_at_us: start of the run, in microseconds since 1970.
        reads_aborted: whether to ingest records of aborted transactions (read_uncommitted).
        reads_undecided: whether to ingest records of open transactions in read_committed too.
        window_bytes: size of a read.
        decoded_bytes: uncompressed bytes to decode together.
        max_decompressed_batch_bytes: highest accepted size of an uncompressed batch; a larger batch
            is a defect.
        max_raw_bytes: highest number of damaged bytes to store per row of quarantine.
        target_file_bytes: size at which a data file is closed.
        generations: for each topic, the number of the commit that will add its rows; 0 if unknown.
        rules: erasure rules of the topics that have any.
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
    rules: Mapping[str, TopicRules] = field(default_factory=dict)

    def origin(self, key: PartitionKey) -> Origin:
        """Return the values that all rows of a partition have in common."""
        generation = self.generations.get(key.topic, 0)
        return Origin(self.source_id, key, self.run_id, generation)


class DecodeTask(NamedTuple):
    """A task of several splits, sorted by topic and partition."""

    splits: tuple[PartitionSplit, ...]
    settings: DecodeSettings

    @property
    def size_bytes(self) -> int:
        """Return the number of bytes in all splits."""
        return sum(split.size_bytes for split in self.splits)

    def of_attempt(self, attempt_id: str, generations: Mapping[str, int]) -> "DecodeTask":
        """Return the task for a commit attempt: rows get its id and the topics' commit numbers."""
        own = {split.key.topic: generations[split.key.topic] for split in self.splits}
        rules = rules_for(self.settings.rules, [split.key[:2] for split in self.splits])
        settings = replace(self.settings, attempt_id=attempt_id, generations=own, rules=rules)
        return self._replace(settings=settings)


class ByteCount(NamedTuple):
    """Bytes of a split by category.

    Each byte is in one category, except that `kept` bytes are in `sound`, too.
    """

    sound: int = 0  # valid batches, with or without rows of records
    quarantined: int = 0
    tail: int = 0
    below: int = 0  # batches that an earlier run ingested
    above: int = 0  # batches that a later run ingests
    undecided: int = 0  # valid batches in open transactions
    # Valid batches that are also in quarantine, since some records have no row.
    kept: int = 0

    @property
    def total(self) -> int:
        """Return the number of bytes of the split, of all categories."""
        return sum(self) - self.kept

    @property
    def read(self) -> int:
        """Return the bytes of the split that belong to the range of this run."""
        return self.sound + self.quarantined + self.undecided

    @property
    def in_tables(self) -> int:
        """Return the bytes that the rows of `batches` and `quarantine` count."""
        return self.sound + self.in_quarantine

    @property
    def in_quarantine(self) -> int:
        """Return the bytes that the rows of `quarantine` count."""
        return self.quarantined + self.kept


class Totals(NamedTuple):
    """Counts of a split; sums are over its rows in `records`.

    Attributes:
        offsets: number of offsets that the rows of `batches` and `gaps` cover within the range.
        unread_internal: rows of internal topics' tables whose bytes could not be parsed.
        unsettled_internal: records of internal topics without a row of the topic's table because
            their transaction was aborted or has not ended.
        redacted: rows of internal topics' tables from which a possible secret was omitted.
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
    """Zero bytes after the last batch of a segment that has a successor in its log."""

    segment: str
    position: int
    size_bytes: int


class ThinnedBatch(NamedTuple):
    """A batch with fewer records than offsets, as after a compaction."""

    offsets: OffsetRange
    crc: int


class SplitReport(NamedTuple):
    """Report of a task on one split.

    Attributes:
        first_offset: first offset of the valid batches within the range; None if there is none.
        next_offset: exclusive end of the valid batches within the range; None if there is none.
        has_leading_defect: whether there is damage before the first valid batch.
        has_trailing_defect: whether there is damage after the last valid batch.
        is_compacted_at_start: whether the cleaner has run on the split's first segment.
        is_compacted_at_end: whether the cleaner has run on the split's last segment.
        cut_offset: first offset of a batch that crosses the range's end; None if there is none.
        gaps: gaps between the split's batches.
        open_rows: number of rows whose transaction has not ended.
        times_ms: least and greatest timestamp in `records`, in ms since 1970; None without rows.
        inner_bytes: number of bytes that the rows count in addition to `bytes`; see `SplitCounts`.
        refilled: merged offset ranges of the rows of `batches` that a refill from an older copy
            adds.
        thinned: batches of a refill that have fewer records than offsets; only collected if the
            lake has damage.
        hidden: sorted offset ranges between a refill's batches whose records may be in damaged
            bytes.
        erased: records that an erasure rule removed; `totals` counts them too.
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
    erased: RemovedSums = NOTHING_REMOVED


class TaskReport(NamedTuple):
    """Result of a task.

    Attributes:
        reports: report of each split; None for an unreadable split, which has no rows in the files.
        failures: index and reason of each unreadable split.
    """

    reports: tuple[SplitReport | None, ...]
    files: tuple[DataFile, ...]
    failures: tuple[tuple[int, str], ...]
