"""Decodes the wanted batches of one stretch and writes their rows. Effect: writes, reads damage.

The only caller of record decoding. Batches wait until enough of them can be decoded together; a
flush then goes through what waits, in the order of the bytes, since a batch may still turn out to
be damaged inside.
"""

from typing import NamedTuple

import numpy as np

from pipelines.segment_ingest.decoding.batch_rows import BatchOutcome, BatchState, Place, batch_row
from pipelines.segment_ingest.decoding.holes import Hole, HoleFinder, cause_of
from pipelines.segment_ingest.decoding.internal_rows import internal_rows
from pipelines.segment_ingest.decoding.quarantine_rows import (
    GapCause,
    QuarantinePlace,
    RawBytes,
    RowStamp,
    gap_row,
    most_raw_bytes,
    quarantine_row,
)
from pipelines.segment_ingest.decoding.record_rows import (
    Origin,
    UnitRows,
    payload_bytes,
    record_rows,
)
from pipelines.segment_ingest.decoding.row_target import RowTarget
from pipelines.segment_ingest.decoding.tasks import (
    ByteCount,
    DecodeSettings,
    Stretch,
    StretchReport,
    TailReport,
    Totals,
)
from pipelines.segment_ingest.surveying.unit_facts import last_batch_of
from segment_codec.columns import LOWEST_OFFSET, ColumnBuilder, Columns, UnitOutcome
from segment_codec.control_record import ControlType
from segment_codec.errors import DefectCode
from segment_codec.message_set import MessageRun
from segment_codec.offset_order import Unit
from segment_codec.record_batch import RecordBatch
from segment_codec.segment import Defect
from segment_codec.transactions import Marker, TransactionState

_MOST_PENDING = 32_768


class PendingUnit(NamedTuple):
    """A sound batch waiting for its turn; `slice_index` is where it lies."""

    unit: Unit
    slice_index: int
    state: BatchState
    transaction_state: TransactionState
    control_type: ControlType | None


class PendingDefect(NamedTuple):
    """Damage waiting for its turn."""

    defect: Defect
    slice_index: int


class StretchWriter:
    """Takes the batches and defects of a stretch in the order of their bytes."""

    def __init__(self, stretch: Stretch, settings: DecodeSettings, files: RowTarget) -> None:
        self._stretch = stretch
        self._floor_offset = stretch.floor_offset
        self._settings = settings
        self._files = files
        self._builder = ColumnBuilder(settings.max_decompressed_batch_bytes)
        self._pending: list[PendingUnit | PendingDefect] = []
        self._quarantined: list[PendingDefect] = []  # until the next sound offset is known
        self._previous_offset: int | None = None
        self._holes = HoleFinder()
        self._is_compacted = [piece.is_compacted for piece in stretch.slices]
        self._places = [
            Place(
                settings.source_id,
                stretch.key.topic_id,
                stretch.key.partition,
                stretch.broker_id,
                piece.file.name,
                piece.file.origin_position,
                settings.run_id,
            )
            for piece in stretch.slices
        ]
        self._stamp = RowStamp(settings.source_id, settings.run_id, settings.attempt_id)
        self._origin = Origin(
            settings.source_id, stretch.key.topic_id, stretch.key.partition, settings.run_id
        )
        self._internal = internal_rows(stretch, self._origin, settings, files)
        self._totals = dict.fromkeys(Totals._fields, 0)
        self._defects: dict[str, int] = {}
        self._times: list[int] = []
        self._last_unit: Unit | None = None
        self._last_index = 0
        self._missing_offsets = 0
        self._open_rows = 0
        self._faulty_bytes = 0
        self._is_forgotten = False

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

    def add_unit(self, pending: PendingUnit) -> None:
        """Queue a wanted batch.

        Raises:
            DefectError: it cannot be decompressed; nothing was queued.
        """
        if pending.state is BatchState.DECODED:
            if not self._builder.accepts(pending.unit):
                self._flush()
            self._builder.add(pending.unit, self._floor_offset, self._stretch.range_next)
        self._pending.append(pending)
        is_full = self._builder.plain_bytes >= self._settings.decoded_bytes
        if is_full or len(self._pending) >= _MOST_PENDING:
            self._flush()

    def add_defect(self, defect: Defect, slice_index: int) -> None:
        """Queue damage."""
        self._pending.append(PendingDefect(defect, slice_index))

    def add_faulty(self, unit: Unit, slice_index: int, code: DefectCode, detail: str) -> None:
        """Queue a batch whose checksum holds but which cannot be taken."""
        self.add_defect(defect_of(unit, code, detail), slice_index)

    def finish(
        self,
        counted: ByteCount,
        cut_offset: int | None,
        markers: tuple[Marker, ...],
        tails: tuple[TailReport, ...],
    ) -> StretchReport:
        """Write what still waits, and the gaps; the writer is spent then."""
        self._flush()
        has_trailing_defect = bool(self._quarantined) or self._holes.has_defect_since
        self._write_quarantined(None)
        for hole in self._holes.holes():
            self._write_gap(hole)
        if self._internal is not None and not self._is_forgotten:
            self._totals |= self._internal.finish()
        moved = self._faulty_bytes  # counted as sound when they were met
        has_batch = self._holes.next_offset is not None
        return StretchReport(
            self._holes.first_offset,
            self._holes.next_offset,
            self._holes.has_leading_defect if has_batch else has_trailing_defect,
            has_trailing_defect,
            self._is_compacted[0],
            self._is_compacted[self._last_index],
            cut_offset,
            counted._replace(sound=counted.sound - moved, quarantined=counted.quarantined + moved),
            Totals(**self._totals),
            min(self._times, default=None),
            max(self._times, default=None),
            None if self._last_unit is None else last_batch_of(self._last_unit),
            markers,
            tuple(sorted(self._defects.items())),
            self._missing_offsets,
            self._open_rows,
            tails,
        )

    def _flush(self) -> None:
        pending, self._pending = self._pending, []
        reached = self._holes.next_offset
        columns, outcomes = self._builder.flush(LOWEST_OFFSET if reached is None else reached)
        decoded = iter(outcomes)
        start = 0
        units: list[UnitRows] = []
        for each in pending:
            if isinstance(each, PendingDefect):
                self._meet_defect(each)
                continue
            if each.state is not BatchState.DECODED:
                self._write_batch(each, None, 0)
                continue
            outcome = next(decoded)
            rows = outcome.row_stop - start
            start = outcome.row_stop
            if outcome.fault is not None:
                defect = defect_of(each.unit, *outcome.fault)
                self._faulty_bytes += each.unit.size_bytes
                self._meet_defect(PendingDefect(defect, each.slice_index))
                continue
            self._write_batch(each, outcome, rows)
            base_offset, _ = self._stretch.cut(outcome.first_offset, each.unit.last_offset)
            units.append(_unit_rows(each, base_offset, rows))
        if len(columns.offsets):
            self._write_records(columns, units)

    def _write_records(self, columns: Columns, units: list[UnitRows]) -> None:
        totals = self._totals
        rows, replaced = record_rows(columns, units, self._origin)
        if self._internal is not None:
            secrets = self._internal.take(rows)
            if secrets.any():
                columns = columns._replace(has_value=columns.has_value & ~secrets)
                rows, replaced = record_rows(columns, units, self._origin)
        self._files.records(rows)
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

    def _write_batch(
        self, pending: PendingUnit, outcome: UnitOutcome | None, row_count: int
    ) -> None:
        unit, stretch = pending.unit, self._stretch
        first, count, plain_bytes = _facts(unit, outcome)
        start, stop = stretch.cut(first, unit.last_offset)
        self._write_quarantined(start)
        self._holes.batch(start, stop, pending.slice_index)
        self._previous_offset = unit.last_offset
        if outcome is not None and count < unit.last_offset - first + 1:
            self._is_compacted[pending.slice_index] = True
        row = BatchOutcome(
            unit,
            pending.state,
            pending.transaction_state,
            pending.control_type,
            start,
            stop - 1,
            count,
            row_count,
            plain_bytes,
        )
        self._files.batch(batch_row(row, self._places[pending.slice_index]))
        self._totals["batches"] += 1
        self._totals["offsets"] += stop - start
        self._last_unit = unit
        self._last_index = pending.slice_index

    def _meet_defect(self, pending: PendingDefect) -> None:
        self._holes.defect()
        self._quarantined.append(pending)
        self._totals["quarantined_batches"] += 1
        code = str(pending.defect.code)
        self._defects[code] = self._defects.get(code, 0) + 1

    def _write_quarantined(self, next_offset: int | None) -> None:
        """Write the damage that waited for the next sound offset."""
        for defect, slice_index in self._quarantined:
            file = self._stretch.slices[slice_index].file
            place = QuarantinePlace(
                self._settings.source_id,
                self._stretch.key,
                self._stretch.broker_id,
                file.name,
                file.origin_position,
                self._settings.run_id,
                self._settings.started_at_us,
            )
            raw = self._raw_bytes(file.path, defect)
            row = quarantine_row(defect, raw, place, self._previous_offset, next_offset)
            self._files.quarantine(row)
        self._quarantined.clear()

    def _raw_bytes(self, path: str, defect: Defect) -> RawBytes:
        most_bytes = most_raw_bytes(self._stretch.key.topic, self._settings.max_raw_bytes)
        kept = min(defect.size_bytes, most_bytes)
        with self._settings.storage.open_reader(path) as reader:
            content = reader.read(defect.position, kept)
        return RawBytes(content, kept == defect.size_bytes)

    def _write_gap(self, hole: Hole) -> None:
        """Write a hole; one across the log start is two gaps, since the causes differ."""
        if self._stretch.gap_cause is not None:
            self._add_gap(hole.start_offset, hole.next_offset, self._stretch.gap_cause)
            return
        before = max(hole.slice_index - 1, 0)
        is_compacted = self._is_compacted[hole.slice_index] or self._is_compacted[before]
        for start, stop in cut_at(
            hole.start_offset, hole.next_offset, self._stretch.log_start_offset
        ):
            cause = cause_of(
                is_behind_defect=hole.is_behind_defect,
                is_compacted=is_compacted,
                next_offset=stop,
                log_start_offset=self._stretch.log_start_offset,
            )
            self._add_gap(start, stop, cause)

    def _add_gap(self, start: int, stop: int, cause: GapCause) -> None:
        self._files.gap(gap_row(self._stretch.key, start, stop, cause, None, self._stamp))
        self._totals["gaps"] += 1
        self._totals["offsets"] += stop - start
        if cause is GapCause.MISSING:
            self._missing_offsets += stop - start


def cut_at(start: int, stop: int, offset: int) -> list[tuple[int, int]]:
    """The range in one piece, or in two where the offset lies inside it."""
    if start < offset < stop:
        return [(start, offset), (offset, stop)]
    return [(start, stop)]


def defect_of(unit: Unit, code: DefectCode, detail: str) -> Defect:
    """The defect of a batch whose checksum holds."""
    is_batch = isinstance(unit, RecordBatch)
    return Defect(
        unit.position,
        unit.size_bytes,
        code,
        detail,
        unit.first_offset,
        unit.first_offset if is_batch else None,
        unit.last_offset,
        unit.header.record_count if isinstance(unit, RecordBatch) else None,
        unit.magic,
        unit.header.codec_id if isinstance(unit, RecordBatch) else None,
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
