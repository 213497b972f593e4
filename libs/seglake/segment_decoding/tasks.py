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
    """Bytes [start, stop) of one segment; `start` is a batch start.

    Attributes:
        limit_offset: offsets from here on cannot be in the segment.
        expected_offset: the end of the offsets before `start`.
        start_crc: checksum that the batch at `start` had when it was surveyed, -1 unknown.
        is_cleaned: the cleaner's checkpoint lies above the segment's base.
        is_compacted: the cleaner has been here, so missing offsets are no loss.
        is_plain: the survey met nothing odd in it.
        next_offset: the end of the offsets before `stop`, as surveyed; 0 where that is in doubt.
        first_offset: of the batch at `start`, as surveyed; 0 unknown.
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
        return self.stop - self.start


class WantedOffsets(NamedTuple):
    """Offsets without a row in the lake, which a refill ingests.

    Attributes:
        rows: ranges of offsets in the lake's gaps and of records that its batches lack, rising and
            apart from each other; (n, 2), half-open.
        gaps: the ranges that no batch of the lake spans.
        recorded: the lake's damage of the partition, each span by its IDENTITY.
    """

    rows: NDArray[np.int64]
    gaps: NDArray[np.int64]
    recorded: frozenset[tuple[Any, ...]] = frozenset()  # Any: columns of several types

    def between(self, start: int, stop: int) -> "WantedOffsets":
        """Return the ranges that share an offset with [start, stop)."""
        rows, gaps = _between(self.rows, start, stop), _between(self.gaps, start, stop)
        return self._replace(rows=rows, gaps=gaps)

    def share(self, start: int, stop: int) -> bool:
        """Return whether a row of an offset in [start, stop) is wanted."""
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
    """Return for each offset whether one of the ranges, as in `WantedOffsets`, holds it."""
    if not len(ranges):
        return np.zeros(len(offsets), np.bool_)
    place = np.searchsorted(ranges[:, 0], offsets, side="right") - 1
    found: NDArray[np.bool_] = (place >= 0) & (offsets < ranges[np.maximum(place, 0), 1])
    return found


def _between(ranges: NDArray[np.int64], start: int, stop: int) -> NDArray[np.int64]:
    return ranges[(ranges[:, 1] > start) & (ranges[:, 0] < stop)]


@dataclass(frozen=True, slots=True)
class PartitionSplit:
    """A piece of one partition's log: segment splits in order, and the offsets wanted from them.

    Attributes:
        range_start, range_next: the range of offsets that one ledger row will cover; other
            splits may belong to it.
        log_start_offset: records below exist on the disk but not in the log. A marker below is
            ingested all the same: it may end a transaction of an earlier run.
        is_plain: the survey found nothing odd, so the walk may end at the first batch above.
        markers: markers in the split, and each producer's next one after it: the outcomes.
        gap_cause: cause of the gap to repair; None when a log is ingested for the first time.
        cuts_end: the part inside of a batch that crosses the range's end is ingested; else the
            whole batch is left for a later run.
        takes_end: the range is empty, and stands for damage after it whose offsets are unknown.
        leaves_end: an empty range stands for the damage at the end of the log, copies among it.
        is_final: nobody will write on; see `SegmentBounds`.
        limit_offset: first offset of others' records, also in a batch whose header ends before.
            None means the range's end. If it is above that end, no split follows.
        wanted: offsets of the rows that a refill ingests; None means all in the range.
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
    takes_end: bool = False
    leaves_end: bool = False
    is_final: bool = False
    limit_offset: int | None = None
    wanted: WantedOffsets | None = None

    @property
    def size_bytes(self) -> int:
        return sum(segment_split.size_bytes for segment_split in self.segment_splits)

    @property
    def floor_offset(self) -> int:
        """Return the offset below which no data is ingested."""
        return max(self.range_start, self.log_start_offset)

    def ceiling(self, last_offset: int, counted_offset: int = 0) -> int:
        """Return the end of what is taken of a batch that, by its header, ends with an offset.

        Args:
            counted_offset: where it ends if each record that its header counts has an offset. So
                far it may reach above the end of the log, and no further: a record with any other
                offset there would hide what is written later.
        """
        if last_offset >= self.range_next or self.limit_offset is None:
            return self.range_next
        return min(self.limit_offset, max(self.range_next, counted_offset))

    def cut(
        self, first_offset: int, last_offset: int, ceiling_offset: int | None = None
    ) -> OffsetRange:
        """Return the part of a batch inside the range and, at the log start, inside the log.

        Args:
            ceiling_offset: as `ceiling` says; None: the range's end.
        """
        ceiling = self.range_next if ceiling_offset is None else ceiling_offset
        if self.range_start <= first_offset >= self.log_start_offset and last_offset < ceiling:
            return first_offset, last_offset + 1  # nearly every batch, of which there are many
        is_below = last_offset < self.log_start_offset
        floor = self.range_start if is_below else self.floor_offset
        return max(first_offset, floor), min(last_offset + 1, ceiling)


@dataclass(frozen=True, slots=True)
class DecodeSettings:
    """Settings that every task of a run needs besides its splits.

    Attributes:
        generations: those that the rows of each topic are committed as; 0 where nothing is.
    """

    storage: Storage
    lake_path: str
    source_id: str
    run_id: str
    attempt_id: str
    started_at_us: int
    takes_aborted: bool  # read_uncommitted
    takes_undecided: bool  # records of open transactions in read_committed, too
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
        return sum(split.size_bytes for split in self.splits)

    def of_attempt(self, attempt_id: str, generations: Mapping[str, int]) -> "DecodeTask":
        """Return the task with the id and the generations that its rows are committed under."""
        own = {split.key.topic: generations[split.key.topic] for split in self.splits}
        settings = replace(self.settings, attempt_id=attempt_id, generations=own)
        return replace(self, settings=settings)


class ByteCount(NamedTuple):
    """Bytes of a split by treatment; each is in exactly one of these, except `kept`."""

    sound: int = 0  # in batches, whatever came of their records
    quarantined: int = 0
    tail: int = 0
    below: int = 0  # taken by an earlier run
    above: int = 0  # left for a later one
    undecided: int = 0  # in sound batches of transactions that have not ended
    kept: int = 0  # sound, and in quarantine too: in batches that have rows of some records only

    @property
    def total(self) -> int:
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
        return self.quarantined + self.kept


class Totals(NamedTuple):
    """Counts of a split; sums are over the rows in `records`.

    `offsets` are those in the rows of `batches` and `gaps`, each clipped to the range.
    The last three are of the decoded tables: rows whose bytes could not be read, records left
    out because their transaction was aborted or has not ended, rows without a value that is or may
    be a secret.
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
    """Bytes behind the last batch of a segment that others follow: zeros."""

    segment: str
    position: int
    size_bytes: int


class ThinnedBatch(NamedTuple):
    """A batch with fewer records than offsets, as the cleaner leaves."""

    offsets: OffsetRange
    crc: int


@dataclass(frozen=True, slots=True)
class SplitReport:
    """Findings and counts of a task in one split.

    Attributes:
        first_offset, next_offset: from the first sound batch to the end of the last, clipped to
            the range; None and None if there is none.
        has_leading_defect, has_trailing_defect: damage before the first or after the last of them.
        is_compacted_at_start, is_compacted_at_end: the cleaner was at that edge.
        cut_offset: first offset of a batch that crosses the range's end, else None.
        gaps: gaps between its batches.
        open_rows: rows whose transaction has not ended.
        times_ms: least and greatest timestamp in `records`, None without a row.
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
    """Files and reports of one task; `failures` has reasons by index of unreadable splits.

    A failed split has None for a report and no rows in the files.
    """

    reports: tuple[SplitReport | None, ...]
    files: tuple[DataFile, ...]
    failures: tuple[tuple[int, str], ...]
