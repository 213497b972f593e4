"""Makes rows from the batches and the damage of one split. Reads damage.

Only this module calls the record decoder. Batches and damage are queued, so that many batches are
decoded together. Damage inside a batch is found only by decoding, so a flush makes the rows of the
whole queue.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from seglake.kafka_log.batch_headers import counted_offset, defect_of, last_batch_of
from seglake.kafka_log.offset_gaps import HoleFinder
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.transaction_markers import Marker
from seglake.lake.tables import BATCHES, QUARANTINE, RECORDS
from seglake.log_tables.batch_rows import BatchState, Place, batch_row
from seglake.log_tables.internal_columns import INTERPRETERS
from seglake.log_tables.quarantine_rows import RowStamp, quarantine_row
from seglake.log_tables.record_rows import SharedColumns, record_rows
from seglake.segment_codec.formats.defects import Defect, Tail
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.formats.units import Unit
from seglake.segment_codec.kernels.batch_run import BatchRun
from seglake.segment_codec.kernels.columns import LOWEST_OFFSET, ColumnBuilder
from seglake.segment_codec.kernels.flush import Columns
from seglake.segment_codec.kernels.outcomes import REPEATED, PiecesOutcome, RunOutcome, UnitOutcome
from seglake.segment_decoding.batch_facts import outcome_of, rows_of
from seglake.segment_decoding.damage_facts import damaged_bytes
from seglake.segment_decoding.decoded_rows import DecodedRows, Row
from seglake.segment_decoding.flushed_rows import FlushedRows
from seglake.segment_decoding.internal_rows import InternalRows
from seglake.segment_decoding.pending import PendingDefect, PendingRun, PendingUnit
from seglake.segment_decoding.split_counts import SplitCounts
from seglake.segment_decoding.split_gaps import SplitGaps
from seglake.segment_decoding.tasks import (
    ByteCount,
    DecodeSettings,
    PartitionSplit,
    SplitReport,
    TailReport,
    Totals,
)

# limit of the queue in batches and defects; the batches that arrive last may exceed it
_MOST_PENDING = 32_768


class SplitWriter:
    """Maker of a split's rows; batches and defects are added in the order of bytes."""

    def __init__(self, split: PartitionSplit, settings: DecodeSettings) -> None:
        """Start with an empty queue."""
        self._split = split
        self._settings = settings
        self._builder = ColumnBuilder(
            settings.max_decompressed_batch_bytes, settings.decoded_bytes, split.range_start
        )
        self._pending: list[PendingUnit | PendingRun | PendingDefect] = []
        self._pending_count = 0  # number of batches and defects in the queue
        self._quarantined: list[PendingDefect] = []  # damage that waits for the next valid offset
        self._previous_offset: int | None = None
        if split.includes_end and split.range_start > split.log_start_offset:
            self._previous_offset = split.range_start - 1
        self._holes = HoleFinder()
        self._is_compacted = [piece.is_compacted for piece in split.segment_splits]
        self._origin = settings.origin(split.key)
        self._places = [
            Place(
                origin=self._origin,
                broker_id=split.broker_id,
                segment=piece.file.name,
                origin_position=piece.file.origin_position,
                started_at_us=settings.started_at_us,
            )
            for piece in split.segment_splits
        ]
        self._internal = (
            InternalRows(split, self._origin, settings) if split.key.topic in INTERPRETERS else None
        )
        self._counts = SplitCounts()
        stamp = RowStamp(settings.source_id, settings.run_id, settings.attempt_id)
        self._gaps = SplitGaps(split, stamp, self._counts)
        self._last: PendingUnit | None = None
        self._is_forgotten = False
        self._is_stretched = False  # whether a batch had records above its header's last offset
        self._has_trailing_defect = False

    def sound_below(self) -> None:
        """Record that an earlier run's batch is here: damage before it explains no later gap."""
        self._holes.has_defect_since = False

    def defect_below(self) -> None:
        """Record that an earlier run's damage is here: it may explain a gap after it."""
        self._holes.defect()

    def forget(self) -> None:
        """Clear the queue, because a later run will record its damage."""
        self._pending.clear()
        self._pending_count = 0
        self._is_forgotten = True

    def is_full_for(self, item: Unit | BatchRun | Defect | Tail) -> bool:
        """Return whether the queue must be flushed before the item is added."""
        # Damage at the end of the queue is not flushed, since `forget` may have to remove it.
        if self._pending and not isinstance(self._pending[-1], PendingDefect):
            is_full = self._builder.plain_bytes >= self._settings.decoded_bytes
            if is_full or self._pending_count >= _MOST_PENDING:
                return True
        return not isinstance(item, Defect | Tail) and not self._builder.accepts(item)

    def add_unit(self, pending: PendingUnit) -> None:
        """Queue a batch.

        Raises:
            DefectError: the batch cannot be decompressed; it was not queued.
        """
        if pending.state is BatchState.DECODED:
            unit, split = pending.unit, self._split
            ceiling_offset = split.ceiling(unit.last_offset, counted_offset(unit))
            self._builder.add(unit, split.floor_offset, ceiling_offset, is_late=pending.is_late)
        elif not pending.is_late:
            self._builder.passed(pending.unit.last_offset + 1)
        self._pending.append(pending)
        self._pending_count += 1

    def add_run(self, pending: PendingRun) -> int:
        """Queue batches until a flush is due or one is damaged; return how many were queued."""
        places, run = pending.decoded_places, pending.run
        count = len(run)
        if len(places):
            ends = np.concatenate(([LOWEST_OFFSET], run.next_offsets[:-1]))
            decoded = self._builder.add_run(
                run.chosen(places),
                self._split.floor_offset,
                self._split.ceiling(run.last_offset),
                self._settings.decoded_bytes,
                None if len(places) == len(run) else ends[places],
            )
            count = int(places[decoded]) if decoded < len(places) else count
        if count:
            self._builder.passed(int(run.next_offsets[count - 1]))
            self._pending.append(pending.part(0, count).without_data())
            self._pending_count += count
        return count

    def add_defect(self, defect: Defect, segment_index: int) -> None:
        """Queue damaged bytes, which come next in the split."""
        self._pending.append(PendingDefect(defect, segment_index))
        self._pending_count += 1

    def finish(self) -> Iterator[DecodedRows]:
        """Decode the queue; yield its rows, and then the gaps."""
        yield from self.flush()
        self._has_trailing_defect = bool(self._quarantined) or self._holes.has_defect_since
        yield from self._quarantine_rows(None)
        yield from self._gaps.rows(self._holes.holes(), self._is_compacted)
        if self._internal is not None and not self._is_forgotten:
            yield from self._internal.of_snapshot()
            self._counts.totals |= self._internal.counts

    def report(
        self,
        counted: ByteCount,
        cut_offset: int | None,
        markers: tuple[Marker, ...],
        tails: tuple[TailReport, ...],
    ) -> SplitReport:
        """Return the report; call it after the last row of `finish`.

        Args:
            counted: bytes by category, as counted before decoding.
            cut_offset: first offset of a batch that crosses the range's end; None if there is none.
            markers: markers in the split.
            tails: tails of all segments but the last.
        """
        counts = self._counts
        moved = counts.faulty_bytes  # these bytes were counted as valid before decoding
        has_batch = self._holes.next_offset is not None
        trailing, last = self._has_trailing_defect, self._last
        return SplitReport(
            first_offset=self._holes.first_offset,
            next_offset=self._holes.next_offset,
            has_leading_defect=self._holes.has_leading_defect if has_batch else trailing,
            has_trailing_defect=trailing,
            is_compacted_at_start=self._is_compacted[0],
            is_compacted_at_end=self._is_compacted[0 if last is None else last.segment_index],
            cut_offset=cut_offset,
            bytes=counted._replace(
                sound=counted.sound - moved - counts.undecided_bytes - counts.above_bytes,
                above=counted.above + counts.above_bytes,
                quarantined=counted.quarantined + moved,
                undecided=counts.undecided_bytes,
                kept=counts.kept_bytes,
            ),
            totals=Totals(**counts.totals),
            times_ms=counts.times_ms,
            last_batch=None if last is None else last_batch_of(last.unit),
            markers=markers,
            defects=tuple(sorted(counts.defects.items())),
            gaps=counts.gaps.by_cause(),
            open_rows=counts.open_rows,
            tails=tails,
            inner_bytes=counts.inner_bytes,
        )

    def flush(self) -> Iterator[DecodedRows]:
        """Decode all queued batches, and yield the rows of all that is queued."""
        pending, self._pending, self._pending_count = self._pending, [], 0
        columns, outcomes = self._builder.flush_runs()
        decoded = iter(outcomes)
        flushed = FlushedRows()
        for waiting in pending:
            match waiting:
                case PendingDefect():
                    self._quarantine_defect(waiting)
                case PendingUnit():
                    of_batch = next(decoded) if waiting.state is BatchState.DECODED else None
                    if isinstance(of_batch, PiecesOutcome):
                        yield from self._settle_pieces(waiting, of_batch, flushed)
                    elif not isinstance(of_batch, RunOutcome):
                        yield from self._settle(waiting, of_batch, flushed)
                case PendingRun():
                    places = waiting.decoded_places
                    of_run = next(decoded) if len(places) else None
                    if of_run is None or isinstance(of_run, RunOutcome):
                        yield from self._settle_run(waiting, places, of_run, flushed)
        if (batches := flushed.batches()) is not None:
            yield DecodedRows(BATCHES, batches)
        if len(columns.offsets):
            yield from self._record_rows(columns, flushed.shared())

    def _settle(
        self, pending: PendingUnit, outcome: UnitOutcome | None, flushed: FlushedRows
    ) -> Iterator[DecodedRows]:
        """Make a batch's row, or quarantine it; yield the rows of the damage before the batch."""
        unit, rows = pending.unit, 0
        if outcome is not None:
            rows = outcome.row_stop - flushed.row_stop
            flushed.row_stop = outcome.row_stop
        start, stop = self._offsets(pending, outcome)
        fault = None if outcome is None else outcome.fault
        if fault is None and outcome is not None and start >= stop == self._split.range_next:
            self._counts.above_bytes += unit.size_bytes  # the batch is above the range
            return
        fault = REPEATED if start >= stop and fault is None else fault
        is_kept = start < stop and (outcome is None or outcome.is_kept)
        if not is_kept and fault is not None:
            self._counts.faulty_bytes += unit.size_bytes
            add = self._name if fault == REPEATED else self._quarantine_defect
            add(PendingDefect(defect_of(unit, *fault), pending.segment_index))
            return
        if pending.is_undecided and isinstance(unit, RecordBatch) and start < stop:
            yield from self._quarantine_rows(start)
            self._previous_offset = stop - 1
            self._holes.batch(start, stop, pending.segment_index)
            self._gaps.add_undecided((start, stop), unit.header.producer_id, unit.size_bytes)
            return
        records = None if outcome is None else rows_of(pending, start, rows)
        row = self._batch_row(pending, outcome, start, stop, rows)
        yield from self._quarantine_rows(start)
        self._previous_offset = stop - 1
        flushed.add_batch(row, records)
        if outcome is not None:
            self._name_the_rest(pending, outcome)

    def _offsets(self, pending: PendingUnit, outcome: UnitOutcome | None) -> OffsetRange:
        """Return the offsets of a batch that are in the range and above earlier batches."""
        unit, split = pending.unit, self._split
        first, stop = unit.first_offset, unit.last_offset + 1
        if outcome is not None:
            first = outcome.first_offset
            stop = outcome.next_offset if outcome.is_kept else stop
        ceiling_offset = split.ceiling(unit.last_offset, counted_offset(unit))
        start, stop = split.cut(first, stop - 1, ceiling_offset)
        if pending.is_late:
            is_unknown = outcome is None and self._is_stretched
            return (stop, stop) if is_unknown else (start, stop)
        self._is_stretched |= stop > unit.last_offset + 1
        if isinstance(unit, RecordBatch) and self._holes.next_offset is not None:
            start = max(start, self._holes.next_offset)
        return start, stop

    def _name_the_rest(self, pending: PendingUnit, outcome: UnitOutcome) -> None:
        """Quarantine a batch that is in the tables but has records that could not be decoded."""
        unit, fault = pending.unit, outcome.fault_of_rest
        if outcome.fault is not None and outcome.next_offset <= unit.last_offset:
            self._holes.defect()  # this row explains offsets missing after the batch
        if fault is not None:
            self._counts.kept_bytes += unit.size_bytes
            self._name(PendingDefect(defect_of(unit, *fault), pending.segment_index))

    def _settle_pieces(
        self, pending: PendingUnit, outcome: PiecesOutcome, flushed: FlushedRows
    ) -> Iterator[DecodedRows]:
        """Make one row for each valid part of a compressed message that is damaged inside."""
        unit, part_count = outcome.unit, 0
        whole_count = sum(1 if isinstance(p, Defect) else p.record_count for p in outcome.pieces)
        for piece in outcome.pieces:
            if isinstance(piece, UnitOutcome):
                start, stop = self._split.cut(piece.first_offset, piece.unit.last_offset)
                if start < stop:
                    part = piece._replace(record_count=whole_count)
                    yield from self._settle(pending._replace(unit=part.unit), part, flushed)
                    part_count += 1
                flushed.row_stop = piece.row_stop
            else:
                claimed = unit.last_offset if piece.last_offset is None else piece.last_offset
                place = min(max(claimed, piece.expected_offset), unit.last_offset)
                if self._split.floor_offset <= place < self._split.range_next:
                    self._quarantine_defect(PendingDefect(piece, pending.segment_index))
        self._counts.inner_bytes += (part_count - 1) * unit.size_bytes
        if part_count:
            self._last = pending

    def _settle_run(
        self,
        pending: PendingRun,
        places: NDArray[np.int64],
        outcome: RunOutcome | None,
        flushed: FlushedRows,
    ) -> Iterator[DecodedRows]:
        """Yield the rows of a run of batches and of damage before it; near damage, one by one."""
        is_after = (self._holes.next_offset or 0) <= pending.run.first_offset
        if not is_after or (outcome is not None and not outcome.is_sound):
            of_batches = iter(()) if outcome is None else outcome.of_batches()
            for unit in pending.units():
                is_decoded = unit.state is BatchState.DECODED
                yield from self._settle(unit, next(of_batches) if is_decoded else None, flushed)
            return
        run, index = pending.run, pending.segment_index
        added = pending.columns(places, outcome)
        if outcome is not None:
            flushed.row_stop = int(outcome.results.row_stops[-1])
        offset_counts = run.next_offsets - run.column("base_offset")
        for start, stop in run.stretches():
            self._holes.batch(start, stop, index)
        is_sparse = run.column("record_count") < offset_counts
        self._is_compacted[index] |= bool(is_sparse[places].any())
        self._counts.count_batches(len(run), int(offset_counts.sum()))
        yield from self._quarantine_rows(run.first_offset)
        self._previous_offset = run.last_offset
        (self._last,) = pending.part(len(run) - 1, len(run)).units()
        flushed.add_run(run, added, self._places[index])

    def _record_rows(self, columns: Columns, units: SharedColumns) -> Iterator[DecodedRows]:
        """Yield rows of decoded records, for an internal topic also the rows of its own table."""
        rows, replaced = record_rows(columns, units, self._origin)
        interpreted: list[DecodedRows] = []
        if self._internal is not None:
            interpreted, secrets = self._internal.of_records(rows)
            if secrets.any():
                columns = columns._replace(has_value=columns.has_value & ~secrets)
                rows, replaced = record_rows(columns, units, self._origin)
        self._counts.count_records(columns, units, replaced)
        yield DecodedRows(RECORDS, rows)
        yield from interpreted

    def _batch_row(
        self,
        pending: PendingUnit,
        outcome: UnitOutcome | None,
        start: int,
        stop: int,
        row_count: int,
    ) -> Row:
        """Return the row of a batch with the offsets [start, stop)."""
        self._holes.batch(start, stop, pending.segment_index)
        self._is_compacted[pending.segment_index] |= outcome is not None and outcome.is_sparse
        row = outcome_of(pending, outcome, (start, stop), row_count)
        self._counts.count_batches(1, stop - start)
        self._last = pending
        return batch_row(row, self._places[pending.segment_index])

    def _quarantine_defect(self, pending: PendingDefect) -> None:
        """Quarantine damaged bytes, which may explain offsets missing after them."""
        self._holes.defect()
        self._name(pending)

    def _name(self, pending: PendingDefect) -> None:
        """Quarantine bytes that do not explain missing offsets."""
        self._quarantined.append(pending)
        self._counts.count_defect(pending.defect)

    def _quarantine_rows(self, next_offset: int | None) -> Iterator[DecodedRows]:
        """Yield the rows of the damage before the next valid offset, one at a time."""
        for defect, segment_index in self._quarantined:
            place = self._places[segment_index]
            file = self._split.segment_splits[segment_index].file
            raw = damaged_bytes(defect, file, self._split.key.topic, self._settings)
            self._gaps.add_damage(raw.content)
            row = quarantine_row(defect, raw, place, self._previous_offset, next_offset)
            yield DecodedRows(QUARANTINE, [row])
        self._gaps.end_damage(self._previous_offset, next_offset)
        self._quarantined.clear()
