"""Makes a split's rows of `gaps`, for offsets that have no row in `batches`."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from seglake.kafka_log.offset_gaps import GapCause, OffsetHole
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.lake.tables import GAPS
from seglake.log_tables.quarantine_rows import RowStamp, gap_row
from seglake.segment_decoding.damage_facts import causes_in
from seglake.segment_decoding.damaged_markers import are_markers, is_flipped_marker, unread_markers
from seglake.segment_decoding.decoded_rows import DecodedRows, Row
from seglake.segment_decoding.split_counts import SplitCounts
from seglake.segment_decoding.tasks import PartitionSplit

_MOST_GAPS = 8192  # gap rows to have in memory at a time


class _Undecided(NamedTuple):
    """Offsets in a producer's transaction that has not ended."""

    offsets: OffsetRange
    producer_id: int


class SplitGaps:
    """Collector of offsets in open transactions; makes gap rows of them and of missing offsets.

    Memory grows with the number of contiguous ranges in open transactions.
    """

    def __init__(self, split: PartitionSplit, stamp: RowStamp, counts: SplitCounts) -> None:
        """Start with no gaps.

        Args:
            split: the split.
            stamp: origin of the rows.
            counts: receives the number of gaps.
        """
        self._split = split
        self._stamp = stamp
        self._counts = counts
        self._undecided: list[_Undecided] = []
        self._damage: list[bool] = []  # for each damaged span, whether it is a marker
        self._markers: set[int] = set()

    def add_damage(self, content: bytes) -> None:
        """Record damage that comes after the last valid batch."""
        self._damage.append(is_flipped_marker(content))

    def end_damage(self, previous_offset: int | None, next_offset: int | None) -> None:
        """Record that damage ends between two valid offsets; None stands for an unknown offset."""
        if not self._damage:
            return
        start = 0 if previous_offset is None else previous_offset + 1
        if next_offset is not None and next_offset - start == len(self._damage):
            self._markers |= {start + at for at, is_marker in enumerate(self._damage) if is_marker}
        self._damage.clear()

    def add_undecided(self, offsets: OffsetRange, producer_id: int, size_bytes: int) -> None:
        """Add a valid batch that gets no rows because its transaction has not ended.

        Args:
            offsets: offsets of the batch.
            producer_id: producer of the batch.
            size_bytes: size of the batch on the disk.
        """
        self._counts.undecided_bytes += size_bytes
        before = self._undecided[-1] if self._undecided else None
        if before is not None and (before.offsets[1], before.producer_id) == (
            offsets[0],
            producer_id,
        ):
            offsets = before.offsets[0], offsets[1]
            self._undecided.pop()
        self._undecided.append(_Undecided(offsets, producer_id))

    def rows(
        self, holes: Sequence[OffsetHole], is_compacted: Sequence[bool]
    ) -> Iterator[DecodedRows]:
        """Yield the rows of all gaps.

        Args:
            holes: missing offsets between the valid batches, in order.
            is_compacted: for each segment of the split, whether the cleaner has run on it.
        """
        for start in range(0, len(holes), _MOST_GAPS):
            few = holes[start : start + _MOST_GAPS]
            yield DecodedRows(GAPS, [row for hole in few for row in self._hole(hole, is_compacted)])
        for start in range(0, len(self._undecided), _MOST_GAPS):
            some = self._undecided[start : start + _MOST_GAPS]
            yield DecodedRows(GAPS, [self._undecided_row(each) for each in some])

    @cached_property
    def _proved(self) -> frozenset[int]:
        """Return the offsets proved to be damaged markers; call it after the last batch."""
        return unread_markers(self._split.markers) | self._markers

    def _hole(self, hole: OffsetHole, is_compacted: Sequence[bool]) -> Iterator[Row]:
        """Yield the gap rows of a range of missing offsets."""
        before = max(hole.segment_index - 1, 0)
        is_cleaned = is_compacted[hole.segment_index] or is_compacted[before]
        for start, stop, cause in causes_in(hole, self._split, is_compacted=is_cleaned):
            if cause is GapCause.QUARANTINED and are_markers(start, stop, self._proved):
                cause = GapCause.MARKER
            self._counts.count_gap(cause, start, stop)
            yield gap_row(self._split.key, start, stop, cause, None, self._stamp)

    def _undecided_row(self, found: _Undecided) -> Row:
        """Return the gap row of offsets in an open transaction."""
        start, stop = found.offsets
        self._counts.count_gap(GapCause.UNDECIDED, start, stop)
        detail = f"of a transaction of producer {found.producer_id} that has not ended"
        return gap_row(self._split.key, start, stop, GapCause.UNDECIDED, detail, self._stamp)
