"""Batches to flat arrays, ready for Arrow without a Python object per record.

Row i has `offsets[i]`, `timestamps_ms[i]`, a key and a value as binary views into `data`, and the
headers [header_stops[i], header_stops[i + 1]).
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seglake.segment_codec._kernel_arrays import (
    BatchArrays,
    HeaderArrays,
    KeptArrays,
    MessageSetArrays,
    RowArrays,
    UnitResults,
    header_arrays,
    no_header_arrays,
    row_arrays,
)
from seglake.segment_codec._kernel_faults import FAULTS
from seglake.segment_codec._message_kernels import decode_messages
from seglake.segment_codec._record_kernel import decode_records
from seglake.segment_codec.errors import DefectCode
from seglake.segment_codec.message_set import (
    PREFIX_BYTES,
    MessageRun,
    Wrapper,
    wrapped_messages,
)
from seglake.segment_codec.offset_order import Unit
from seglake.segment_codec.record_batch import RecordBatch, plain_records

_SMALLEST_MESSAGE_BYTES = PREFIX_BYTES + 8  # two lengths, both null

LOWEST_OFFSET = -(1 << 63)


class Columns(NamedTuple):
    """Arrays of one flush; n rows, h headers. Borrowed: the builder's next `add` reuses them."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]  # (n,)
    timestamps_ms: NDArray[np.int64]  # (n,) -1 in magic 0
    key_views: NDArray[np.int32]  # (n, 4)
    has_key: NDArray[np.bool_]  # (n,)
    value_views: NDArray[np.int32]  # (n, 4)
    has_value: NDArray[np.bool_]  # (n,)
    header_stops: NDArray[np.int32]  # (n + 1,)
    name_stops: NDArray[np.int32]  # (h + 1,)
    names: NDArray[np.uint8]
    header_value_stops: NDArray[np.int32]  # (h + 1,)
    header_values: NDArray[np.uint8]
    has_header_value: NDArray[np.bool_]  # (h,)


class UnitOutcome(NamedTuple):
    """The result of one unit; its rows are [row_stop of the previous one, row_stop)."""

    unit: Unit
    row_stop: int
    fault: tuple[DefectCode, str] | None
    first_offset: int
    record_count: int
    plain_bytes: int


class ColumnBuilder:
    """Collects decompressed batches and decodes them together.

    A flush never mixes magic 2 with older formats: call `accepts` first.
    """

    def __init__(self, max_decompressed_batch_bytes: int) -> None:
        self._max_bytes = max_decompressed_batch_bytes
        self._kept = KeptArrays()
        self._plain = self._kept.empty("plain", 1 << 20, np.uint8)
        self._units: list[Unit] = []
        self._stops: list[int] = []
        self._floors: list[int] = []
        self._ceilings: list[int] = []
        self.plain_bytes = 0

    def accepts(self, unit: Unit) -> bool:
        """Whether the unit has the format of those added since the last flush."""
        if not self._units:
            return True
        return isinstance(unit, RecordBatch) == isinstance(self._units[0], RecordBatch)

    def add(self, unit: Unit, floor_offset: int, ceiling_offset: int) -> None:
        """Decompress the unit; only rows in [floor_offset, ceiling_offset) will be written.

        Raises:
            DefectError: the unit cannot be decompressed; the builder is unchanged.
        """
        data = _plain_bytes(unit, self._max_bytes)
        stop = self.plain_bytes + len(data)
        if stop > len(self._plain):
            before = self._plain[: self.plain_bytes]
            self._plain = self._kept.empty("plain", 2 * stop, np.uint8)
            self._plain[: self.plain_bytes] = before
        self._plain.data[self.plain_bytes : stop] = data
        self.plain_bytes = stop
        self._units.append(unit)
        self._stops.append(stop)
        self._floors.append(floor_offset)
        self._ceilings.append(ceiling_offset)

    def flush(self, lowest_offset: int = LOWEST_OFFSET) -> tuple[Columns, list[UnitOutcome]]:
        """Decode what was added, with one outcome per unit, in order, and empty the builder.

        The header of an old wrapper has only its last offset. A wrapper that turns out to begin
        below the end of the valid units before it, or below `lowest_offset`, the end of those
        flushed earlier, is a fault.
        """
        data = self._plain[: max(self.plain_bytes, 1)]
        data.flags.writeable = False
        flush = _Flush(
            units=self._units,
            data=data,
            stops=self._stops,
            floors=self._floors,
            ceilings=self._ceilings,
            kept=self._kept,
        )
        is_record_batch = bool(self._units) and isinstance(self._units[0], RecordBatch)
        self._units, self._stops, self._floors, self._ceilings = [], [], [], []
        self.plain_bytes = 0
        if is_record_batch:
            rows, headers = _decode_records(flush)
        else:
            rows, headers = _decode_messages(flush, lowest_offset)
        return flush.columns(rows, headers), flush.outcomes()


def _plain_bytes(unit: Unit, max_bytes: int) -> bytes | memoryview:
    match unit:
        case RecordBatch():
            return plain_records(unit, max_bytes)
        case Wrapper():
            return wrapped_messages(unit, max_bytes)
        case MessageRun():
            return unit.data
        case _:
            raise TypeError(f"no unit of a log: {unit!r}")


class _Flush:
    """The units of one flush, and the arrays that the kernels read and write for them."""

    def __init__(
        self,
        *,
        units: list[Unit],
        data: NDArray[np.uint8],
        stops: list[int],
        floors: list[int],
        ceilings: list[int],
        kept: KeptArrays,
    ) -> None:
        count = len(units)
        self.units = units
        self.data = data
        self.stops = np.array(stops, np.int64)
        self.starts = np.array([0, *stops[:-1]][:count], np.int64)
        self.floors = np.array(floors, np.int64)
        self.ceilings = np.array(ceilings, np.int64)
        self.kept = kept
        self.results = UnitResults(
            statuses=np.zeros(count, np.int32),
            row_stops=np.zeros(count, np.int64),
            first_offsets=np.zeros(count, np.int64),
            record_counts=np.zeros(count, np.int64),
        )

    def columns(self, rows: RowArrays, headers: HeaderArrays) -> Columns:
        """The parts of the arrays that the kernel filled."""
        n = int(self.results.row_stops[-1]) if self.units else 0
        h = int(headers.row_stops[n])
        _stamp(self.units, self.results.row_stops.tolist(), rows.timestamps)
        return Columns(
            data=self.data,
            offsets=rows.offsets[:n],
            timestamps_ms=rows.timestamps[:n],
            key_views=rows.key_views[:n],
            has_key=rows.has_key[:n],
            value_views=rows.value_views[:n],
            has_value=rows.has_value[:n],
            header_stops=headers.row_stops[: n + 1],
            name_stops=headers.name_stops[: h + 1],
            names=headers.names[: headers.name_stops[h]],
            header_value_stops=headers.value_stops[: h + 1],
            header_values=headers.values[: headers.value_stops[h]],
            has_header_value=headers.has_value[:h],
        )

    def outcomes(self) -> list[UnitOutcome]:
        results = self.results
        fields = zip(
            self.units,
            results.row_stops.tolist(),
            map(FAULTS.get, results.statuses.tolist()),
            results.first_offsets.tolist(),
            results.record_counts.tolist(),
            (self.stops - self.starts).tolist(),
            strict=True,
        )
        return list(map(UnitOutcome._make, fields))  # per batch: by position, for speed


def _decode_records(flush: _Flush) -> tuple[RowArrays, HeaderArrays]:
    headers = [unit.header for unit in flush.units if isinstance(unit, RecordBatch)]
    batches = BatchArrays(
        starts=flush.starts,
        stops=flush.stops,
        floors=flush.floors,
        ceilings=flush.ceilings,
        base_offsets=_int64s(headers, "base_offset"),
        base_timestamps=_int64s(headers, "base_timestamp_ms"),
        last_deltas=_int64s(headers, "last_offset_delta"),
        counts=_int64s(headers, "record_count"),
    )
    row_capacity = int(batches.counts.sum())
    header_capacity = 2 * row_capacity + 16
    rows = row_arrays(flush.kept, row_capacity)
    while True:
        record_headers = header_arrays(
            flush.kept,
            row_capacity=row_capacity,
            header_capacity=header_capacity,
            byte_capacity=len(flush.data),
        )
        if decode_records(flush.data, batches, flush.results, rows, record_headers):
            return rows, record_headers
        header_capacity *= 4


def _decode_messages(flush: _Flush, lowest_offset: int) -> tuple[RowArrays, HeaderArrays]:
    units = flush.units
    sets = MessageSetArrays(
        starts=flush.starts,
        stops=flush.stops,
        floors=flush.floors,
        ceilings=flush.ceilings,
        magics=_int64s(units, "magic"),
        is_wrapper=np.array([isinstance(unit, Wrapper) for unit in units], np.bool_),
        last_offsets=_int64s(units, "last_offset"),
    )
    row_capacity = int(((flush.stops - flush.starts) // _SMALLEST_MESSAGE_BYTES + 1).sum())
    rows = row_arrays(flush.kept, row_capacity)
    decode_messages(flush.data, sets, lowest_offset, flush.results, rows)
    return rows, no_header_arrays(row_capacity)


def _int64s(values: Sequence[object], attribute: str) -> NDArray[np.int64]:
    return np.fromiter(map(attrgetter(attribute), values), np.int64, len(values))


def _stamp(units: list[Unit], row_stops: list[int], timestamps: NDArray[np.int64]) -> None:
    """With log append time all records have the batch's time; those they carry are stale."""
    start = 0
    for unit, stop in zip(units, row_stops, strict=True):
        time_ms = _append_time_ms(unit)
        if time_ms is not None:
            timestamps[start:stop] = time_ms
        start = stop


def _append_time_ms(unit: Unit) -> int | None:
    match unit:
        case RecordBatch():
            is_append_time = unit.header.is_log_append_time
            return unit.header.max_timestamp_ms if is_append_time else None
        case Wrapper():
            return unit.timestamp_ms if unit.is_log_append_time else None
        case _:
            return None  # the messages of a run carry their times, of either type
