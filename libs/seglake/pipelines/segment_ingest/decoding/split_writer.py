"""Makes rows of the batches and the damage of one split. Effect: reads damage.

The only caller of record decoding. Batches wait until enough of them can be decoded together; a
flush then goes through what waits, in the order of the bytes, since a batch may still turn out to
be damaged inside.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from seglake.kafka_log.batch_headers import last_batch_of
from seglake.kafka_log.offset_gaps import GapCause, Hole, HoleFinder, cause_of
from seglake.lake.tables import BATCHES, GAPS, QUARANTINE, RECORDS
from seglake.log_tables.batch_rows import BatchOutcome, BatchState, Place, batch_row
from seglake.log_tables.quarantine_rows import (
    QuarantinePlace,
    RawBytes,
    RowStamp,
    gap_row,
    most_raw_bytes,
    quarantine_row,
)
from seglake.log_tables.record_rows import (
    Origin,
    UnitRows,
    payload_bytes,
    record_rows,
)
from seglake.pipelines.segment_ingest.decoding.decoded_rows import DecodedRows, Row
from seglake.pipelines.segment_ingest.decoding.internal_rows import internal_rows
from seglake.pipelines.segment_ingest.decoding.tasks import (
    ByteCount,
    DecodeSettings,
    PartitionSplit,
    SplitReport,
    TailReport,
    Totals,
)
from seglake.segment_codec.columns import LOWEST_OFFSET, ColumnBuilder, Columns, UnitOutcome
from seglake.segment_codec.control_record import ControlType
from seglake.segment_codec.errors import DefectCode
from seglake.segment_codec.message_set import MessageRun
from seglake.segment_codec.offset_order import Unit
from seglake.segment_codec.record_batch import RecordBatch
from seglake.segment_codec.segment import Defect, Tail
from seglake.segment_codec.transactions import Marker, TransactionState

_MOST_PENDING = 32_768


class PendingUnit(NamedTuple):
    """A sound batch waiting for its turn; `segment_index` is where it lies."""

    unit: Unit
    segment_index: int
    state: BatchState
    transaction_state: TransactionState
    control_type: ControlType | None


class PendingDefect(NamedTuple):
    """Damage waiting for its turn."""

    defect: Defect
    segment_index: int


class SplitWriter:
    """Takes the batches and defects of a split in the order of their bytes."""

    def __init__(self, split: PartitionSplit, settings: DecodeSettings) -> None:
        self._split = split
        self._floor_offset = split.floor_offset
        self._settings = settings
        self._builder = ColumnBuilder(settings.max_decompressed_batch_bytes)
        self._pending: list[PendingUnit | PendingDefect] = []
        self._quarantined: list[PendingDefect] = []  # until the next sound offset is known
        self._previous_offset: int | None = None
        self._holes = HoleFinder()
        self._is_compacted = [piece.is_compacted for piece in split.segment_splits]
        self._places = [
            Place(
                source_id=settings.source_id,
                topic_id=split.key.topic_id,
                partition=split.key.partition,
                broker_id=split.broker_id,
                segment=piece.file.name,
                origin_position=piece.file.origin_position,
                run_id=settings.run_id,
            )
            for piece in split.segment_splits
        ]
        self._stamp = RowStamp(settings.source_id, settings.run_id, settings.attempt_id)
        self._origin = Origin(
            settings.source_id, split.key.topic_id, split.key.partition, settings.run_id
        )
        self._internal = internal_rows(split, self._origin, settings)
        self._totals = dict.fromkeys(Totals._fields, 0)
        self._defects: dict[str, int] = {}
        self._times: list[int] = []
        self._last_unit: Unit | None = None
        self._last_index = 0
        self._missing_offsets = 0
        self._open_rows = 0
        self._faulty_bytes = 0
        self._is_forgotten = False
        self._has_trailing_defect = False

    def sound_below(self) -> None:
        """A batch was met that an earlier run took."""
        self._holes.has_defect_since = False

    def defect_below(self) -> None:
        """Damage was met that an earlier run recorded; what is missing behind it is its doing."""
        self._holes.defect()

    def forget(self) -> None:
        """Drop what waits: only damage does, and a later run will record it."""
        self._pending.clear()
        self._is_forgotten = True

    def is_full_for(self, item: Unit | Defect | Tail) -> bool:
        """Whether what waits is to be flushed before the item is added."""
        if self._builder.plain_bytes >= self._settings.decoded_bytes:
            return True
        if len(self._pending) >= _MOST_PENDING:
            return True
        return not isinstance(item, Defect | Tail) and not self._builder.accepts(item)

    def add_unit(self, pending: PendingUnit) -> None:
        """Queue a wanted batch.

        Raises:
            DefectError: it cannot be decompressed; nothing was queued.
        """
        if pending.state is BatchState.DECODED:
            self._builder.add(pending.unit, self._floor_offset, self._split.range_next)
        self._pending.append(pending)

    def add_defect(self, defect: Defect, segment_index: int) -> None:
        """Queue damage."""
        self._pending.append(PendingDefect(defect, segment_index))

    def add_faulty(self, unit: Unit, segment_index: int, code: DefectCode, detail: str) -> None:
        """Queue a batch whose checksum holds but which cannot be taken."""
        self.add_defect(defect_of(unit, code, detail), segment_index)

    def finish(self) -> Iterator[DecodedRows]:
        """Yield the rows of what still waits, and the gaps."""
        yield from self.flush()
        self._has_trailing_defect = bool(self._quarantined) or self._holes.has_defect_since
        yield from self._quarantine_rows(None)
        gaps = [row for hole in self._holes.holes() for row in self._gap_rows(hole)]
        if gaps:
            yield DecodedRows(GAPS, gaps)
        if self._internal is not None and not self._is_forgotten:
            yield from self._internal.of_snapshot()
            self._totals |= self._internal.counts

    def report(
        self,
        counted: ByteCount,
        cut_offset: int | None,
        markers: tuple[Marker, ...],
        tails: tuple[TailReport, ...],
    ) -> SplitReport:
        """What was found; complete when all rows of `finish` were taken."""
        moved = self._faulty_bytes  # counted as sound when they were met
        has_batch = self._holes.next_offset is not None
        trailing = self._has_trailing_defect
        return SplitReport(
            first_offset=self._holes.first_offset,
            next_offset=self._holes.next_offset,
            has_leading_defect=self._holes.has_leading_defect if has_batch else trailing,
            has_trailing_defect=trailing,
            is_compacted_at_start=self._is_compacted[0],
            is_compacted_at_end=self._is_compacted[self._last_index],
            cut_offset=cut_offset,
            bytes=counted._replace(
                sound=counted.sound - moved, quarantined=counted.quarantined + moved
            ),
            totals=Totals(**self._totals),
            min_timestamp_ms=min(self._times, default=None),
            max_timestamp_ms=max(self._times, default=None),
            last_batch=None if self._last_unit is None else last_batch_of(self._last_unit),
            markers=markers,
            defects=tuple(sorted(self._defects.items())),
            missing_offsets=self._missing_offsets,
            open_rows=self._open_rows,
            tails=tails,
        )

    def flush(self) -> Iterator[DecodedRows]:
        """Decode what waits, and yield its rows."""
        pending, self._pending = self._pending, []
        reached = self._holes.next_offset
        columns, outcomes = self._builder.flush(LOWEST_OFFSET if reached is None else reached)
        decoded = iter(outcomes)
        start = 0
        units: list[UnitRows] = []
        batches: list[Row] = []
        for each in pending:
            if isinstance(each, PendingDefect):
                self._meet_defect(each)
                continue
            outcome, rows = None, 0
            if each.state is BatchState.DECODED:
                outcome = next(decoded)
                rows = outcome.row_stop - start
                start = outcome.row_stop
                if outcome.fault is not None:
                    defect = defect_of(each.unit, *outcome.fault)
                    self._faulty_bytes += each.unit.size_bytes
                    self._meet_defect(PendingDefect(defect, each.segment_index))
                    continue
                base_offset, _ = self._split.cut(outcome.first_offset, each.unit.last_offset)
                units.append(_unit_rows(each, base_offset, rows))
            row, first_offset = self._batch_row(each, outcome, rows)
            if self._quarantined:
                yield from self._quarantine_rows(first_offset)
            self._previous_offset = each.unit.last_offset
            batches.append(row)
        if batches:
            yield DecodedRows(BATCHES, batches)
        if len(columns.offsets):
            yield from self._record_rows(columns, units)

    def _record_rows(self, columns: Columns, units: list[UnitRows]) -> Iterator[DecodedRows]:
        rows, replaced = record_rows(columns, units, self._origin)
        if self._internal is not None:
            interpreted, secrets = self._internal.of_records(rows)
            yield from interpreted
            if secrets.any():
                columns = columns._replace(has_value=columns.has_value & ~secrets)
                rows, replaced = record_rows(columns, units, self._origin)
        self._count_records(columns, units, replaced)
        yield DecodedRows(RECORDS, rows)

    def _count_records(self, columns: Columns, units: list[UnitRows], replaced: int) -> None:
        totals = self._totals
        count, offsets = len(columns.offsets), columns.offsets
        base = int(offsets[0])
        totals["records"] += count
        totals["offset_sum"] += int((offsets - base).sum()) + base * count
        totals["key_bytes"] += payload_bytes(columns.has_key, columns.key_views)
        totals["value_bytes"] += payload_bytes(columns.has_value, columns.value_views)
        totals["replaced_header_names"] += replaced
        times = columns.timestamps_ms[columns.timestamps_ms != -1]
        if len(times):
            self._times = [
                int(np.min(times, initial=min(self._times, default=times[0]))),
                int(np.max(times, initial=max(self._times, default=times[0]))),
            ]
        self._open_rows += sum(
            unit.row_count for unit in units if unit.state is TransactionState.OPEN
        )

    def _batch_row(
        self, pending: PendingUnit, outcome: UnitOutcome | None, row_count: int
    ) -> tuple[Row, int]:
        """The row of a batch, and its first offset in the range."""
        unit, split = pending.unit, self._split
        first, count, plain_bytes = _facts(unit, outcome)
        start, stop = split.cut(first, unit.last_offset)
        self._holes.batch(start, stop, pending.segment_index)
        if outcome is not None and count < unit.last_offset - first + 1:
            self._is_compacted[pending.segment_index] = True
        row = BatchOutcome(
            unit=unit,
            state=pending.state,
            transaction_state=pending.transaction_state,
            control_type=pending.control_type,
            first_offset=start,
            last_offset=stop - 1,
            record_count=count,
            row_count=row_count,
            uncompressed_bytes=plain_bytes,
        )
        self._totals["batches"] += 1
        self._totals["offsets"] += stop - start
        self._last_unit = unit
        self._last_index = pending.segment_index
        return batch_row(row, self._places[pending.segment_index]), start

    def _meet_defect(self, pending: PendingDefect) -> None:
        self._holes.defect()
        self._quarantined.append(pending)
        self._totals["quarantined_batches"] += 1
        code = str(pending.defect.code)
        self._defects[code] = self._defects.get(code, 0) + 1

    def _quarantine_rows(self, next_offset: int | None) -> Iterator[DecodedRows]:
        """Yield the damage that waited for the next sound offset, a row at a time: it has bytes."""
        for defect, segment_index in self._quarantined:
            file = self._split.segment_splits[segment_index].file
            place = QuarantinePlace(
                source_id=self._settings.source_id,
                key=self._split.key,
                broker_id=self._split.broker_id,
                segment=file.name,
                origin_position=file.origin_position,
                run_id=self._settings.run_id,
                quarantined_at_us=self._settings.started_at_us,
            )
            raw = self._raw_bytes(file.path, defect)
            row = quarantine_row(defect, raw, place, self._previous_offset, next_offset)
            yield DecodedRows(QUARANTINE, [row])
        self._quarantined.clear()

    def _raw_bytes(self, path: str, defect: Defect) -> RawBytes:
        most_bytes = most_raw_bytes(self._split.key.topic, self._settings.max_raw_bytes)
        kept = min(defect.size_bytes, most_bytes)
        with self._settings.storage.open_reader(path) as reader:
            content = reader.read(defect.position, kept)
        return RawBytes(content, kept == defect.size_bytes)

    def _gap_rows(self, hole: Hole) -> list[Row]:
        """The rows of a hole; one across the log start is two gaps, since the causes differ."""
        if self._split.gap_cause is not None:
            return [self._gap_row(hole.start_offset, hole.next_offset, self._split.gap_cause)]
        before = max(hole.segment_index - 1, 0)
        is_compacted = self._is_compacted[hole.segment_index] or self._is_compacted[before]
        rows = []
        for start, stop in cut_at(
            hole.start_offset, hole.next_offset, self._split.log_start_offset
        ):
            cause = cause_of(
                is_behind_defect=hole.is_behind_defect,
                is_compacted=is_compacted,
                next_offset=stop,
                log_start_offset=self._split.log_start_offset,
            )
            rows.append(self._gap_row(start, stop, cause))
        return rows

    def _gap_row(self, start: int, stop: int, cause: GapCause) -> Row:
        self._totals["gaps"] += 1
        self._totals["offsets"] += stop - start
        if cause is GapCause.MISSING:
            self._missing_offsets += stop - start
        return gap_row(self._split.key, start, stop, cause, None, self._stamp)


def cut_at(start: int, stop: int, offset: int) -> list[tuple[int, int]]:
    """The range in one piece, or in two where the offset lies inside it."""
    if start < offset < stop:
        return [(start, offset), (offset, stop)]
    return [(start, stop)]


def defect_of(unit: Unit, code: DefectCode, detail: str) -> Defect:
    """The defect of a batch whose checksum holds."""
    is_batch = isinstance(unit, RecordBatch)
    return Defect(
        position=unit.position,
        size_bytes=unit.size_bytes,
        code=code,
        detail=detail,
        expected_offset=unit.first_offset,
        base_offset=unit.first_offset if is_batch else None,
        last_offset=unit.last_offset,
        record_count=unit.header.record_count if isinstance(unit, RecordBatch) else None,
        magic=unit.magic,
        codec_id=unit.header.codec_id if isinstance(unit, RecordBatch) else None,
    )


def _facts(unit: Unit, outcome: UnitOutcome | None) -> tuple[int, int, int | None]:
    """First offset, record count and uncompressed bytes of a sound batch."""
    if outcome is not None:
        return outcome.first_offset, outcome.record_count, outcome.plain_bytes
    if isinstance(unit, RecordBatch):
        return unit.first_offset, unit.header.record_count, None
    count = unit.message_count if isinstance(unit, MessageRun) else None
    return (
        unit.first_offset,
        unit.last_offset - unit.first_offset + 1 if count is None else count,
        None,
    )


def _unit_rows(pending: PendingUnit, base_offset: int, rows: int) -> UnitRows:
    unit = pending.unit
    if isinstance(unit, RecordBatch):
        timestamp_type = int(unit.header.is_log_append_time)
    else:
        timestamp_type = -1 if unit.magic == 0 else int(unit.is_log_append_time)
    return UnitRows(rows, timestamp_type, pending.transaction_state, base_offset)
