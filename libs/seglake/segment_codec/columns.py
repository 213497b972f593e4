"""Batches to flat arrays, ready for Arrow without a Python object per record.

Row i has `offsets[i]`, `timestamps_ms[i]`, a key and a value as binary views into `data`, and the
headers [header_stops[i], header_stops[i + 1]).
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seglake.segment_codec import _kernel_parts as parts
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

_MALFORMED = DefectCode.MALFORMED_RECORD
_MISCOUNTED = DefectCode.RECORD_COUNT_MISMATCH

FAULTS: dict[int, tuple[DefectCode, str]] = {
    parts.VARINT: (_MALFORMED, "a varint is cut off or too long"),
    parts.RECORD_LENGTH: (_MALFORMED, "a record's length does not fit"),
    parts.OFFSET_DELTA: (_MALFORMED, "an offset delta does not rise, or is above the last one"),
    parts.KEY_LENGTH: (_MALFORMED, "a key is longer than its record"),
    parts.VALUE_LENGTH: (_MALFORMED, "a value is longer than its record"),
    parts.HEADER_COUNT: (_MALFORMED, "a header count is negative or too large"),
    parts.HEADER_KEY_LENGTH: (_MALFORMED, "a header's key is null or longer than its record"),
    parts.HEADER_VALUE_LENGTH: (_MALFORMED, "a header's value is longer than its record"),
    parts.RECORD_REST: (_MALFORMED, "a record is longer than what it holds"),
    parts.TOO_FEW_RECORDS: (_MISCOUNTED, "the payload holds fewer records than the header says"),
    parts.TOO_MANY_BYTES: (_MISCOUNTED, "bytes are left behind the last record"),
    parts.INNER_CRC: (DefectCode.INNER_CRC_MISMATCH, "an inner message fails its checksum"),
    parts.NESTED: (DefectCode.NESTED_WRAPPER, "an inner message is a wrapper itself"),
    parts.INNER_SIZE: (_MALFORMED, "an inner message's size is too small"),
    parts.INNER_CUT: (_MALFORMED, "the last inner message is cut"),
    parts.INNER_MAGIC: (_MALFORMED, "an inner message has a magic above 1"),
    parts.MESSAGE_LENGTHS: (_MALFORMED, "key and value do not use up an inner message"),
    parts.INNER_OFFSETS: (_MALFORMED, "the offsets of inner messages do not rise"),
    parts.TAKEN: (
        DefectCode.OFFSET_OUT_OF_ORDER,
        "the first offsets of a wrapper were taken before",
    ),
    parts.WRAPPER_OFFSET: (_MALFORMED, "the wrapper's offset is not that of its last message"),
}


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
    """What became of one batch: its rows are [row_stop of the one before, row_stop)."""

    unit: Unit
    row_stop: int
    fault: tuple[DefectCode, str] | None
    first_offset: int
    record_count: int
    plain_bytes: int


class ColumnBuilder:
    """Collects batches, decompressed, and decodes them together.

    Batches of magic 2 and older ones are never mixed in one flush: ask `accepts` first.
    """

    def __init__(self, max_decompressed_batch_bytes: int) -> None:
        self._max_bytes = max_decompressed_batch_bytes
        self._kept = _KeptArrays()
        self._plain = self._kept.empty("plain", 1 << 20, np.uint8)
        self._units: list[Unit] = []
        self._stops: list[int] = []
        self._floors: list[int] = []
        self._ceilings: list[int] = []
        self.plain_bytes = 0

    def accepts(self, unit: Unit) -> bool:
        """Whether the unit may join what was added since the last flush."""
        if not self._units:
            return True
        return isinstance(unit, RecordBatch) == isinstance(self._units[0], RecordBatch)

    def add(self, unit: Unit, floor_offset: int, ceiling_offset: int) -> None:
        """Decompress the unit; of its rows those in [floor_offset, ceiling_offset) are wanted.

        Raises:
            DefectError: it cannot be decompressed; the builder is as before.
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
        """Decode what was added; one outcome for each unit, in order. The builder is empty then.

        An old wrapper's header tells only its last offset. One that turns out to begin below the
        sound units before it, or below `lowest_offset`, the end of those flushed earlier, is a
        fault.
        """
        data = self._plain[: max(self.plain_bytes, 1)]
        data.flags.writeable = False
        spans = _Spans(self._units, data, self._stops, self._floors, self._ceilings, self._kept)
        is_record_batch = bool(self._units) and isinstance(self._units[0], RecordBatch)
        self._units, self._stops, self._floors, self._ceilings = [], [], [], []
        self.plain_bytes = 0
        if is_record_batch:
            return _decode_records(spans)
        return _decode_messages(spans, lowest_offset)


class _KeptArrays:
    """Arrays that serve one flush after another: fresh memory costs a page fault for each page.

    Pages that stay unused cost nothing.
    """

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[Any]] = {}

    def empty(self, name: str, count: int, kind: type[np.generic]) -> NDArray[Any]:
        """An array with whatever is in it; of one name at a time, always of one kind."""
        kept = self._arrays.get(name)
        if kept is None or len(kept) < count:
            kept = self._arrays[name] = np.empty(count, kind)
        return kept[:count]


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


class _Spans:
    """The kernels' inputs and outputs that both formats share."""

    def __init__(
        self,
        units: list[Unit],
        data: NDArray[np.uint8],
        stops: list[int],
        floors: list[int],
        ceilings: list[int],
        kept: _KeptArrays,
    ) -> None:
        self.units = units
        self.data = data
        self.stops = np.array(stops, np.int64)
        self.lengths = np.diff(self.stops, prepend=0)
        self.starts = self.stops - self.lengths
        self.floors = np.array(floors, np.int64)
        self.ceilings = np.array(ceilings, np.int64)
        self.statuses = np.zeros(len(units), np.int32)
        self.row_stops = np.zeros(len(units), np.int64)
        self.kept = kept

    def per_unit(self, values: Iterable[int]) -> NDArray[np.int64]:
        return np.fromiter(values, np.int64, len(self.units))

    def outcomes(
        self, first_offsets: NDArray[np.int64], record_counts: NDArray[np.int64]
    ) -> list[UnitOutcome]:
        return [
            UnitOutcome(unit, stop, FAULTS.get(status), first, records, length)
            for unit, stop, status, first, records, length in zip(
                self.units,
                self.row_stops.tolist(),
                self.statuses.tolist(),
                first_offsets.tolist(),
                record_counts.tolist(),
                self.lengths.tolist(),
                strict=True,
            )
        ]


_RowArrays = tuple[
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int32],
    NDArray[np.bool_],
    NDArray[np.int32],
    NDArray[np.bool_],
]


class _Rows:
    """Output arrays for at most `capacity` rows."""

    def __init__(self, kept: _KeptArrays, capacity: int) -> None:
        self.offsets = kept.empty("offsets", capacity, np.int64)
        self.timestamps = kept.empty("timestamps", capacity, np.int64)
        self.key_views = kept.empty("key_views", 4 * capacity, np.int32).reshape(-1, 4)
        self.has_key = kept.empty("has_key", capacity, np.bool_)
        self.value_views = kept.empty("value_views", 4 * capacity, np.int32).reshape(-1, 4)
        self.has_value = kept.empty("has_value", capacity, np.bool_)

    def arrays(self) -> _RowArrays:
        return (
            self.offsets,
            self.timestamps,
            self.key_views,
            self.has_key,
            self.value_views,
            self.has_value,
        )

    def cut(self, rows: int) -> _RowArrays:
        return (
            self.offsets[:rows],
            self.timestamps[:rows],
            self.key_views[:rows],
            self.has_key[:rows],
            self.value_views[:rows],
            self.has_value[:rows],
        )


def _decode_records(spans: _Spans) -> tuple[Columns, list[UnitOutcome]]:
    headers = [unit.header for unit in spans.units if isinstance(unit, RecordBatch)]
    base_offsets = spans.per_unit(header.base_offset for header in headers)
    counts = spans.per_unit(header.record_count for header in headers)
    empty = spans.kept.empty
    rows = _Rows(spans.kept, int(counts.sum()))
    header_stops = empty("header_stops", len(rows.offsets) + 1, np.int32)
    names = empty("names", len(spans.data), np.uint8)
    values = empty("header_values", len(spans.data), np.uint8)
    capacity = 2 * len(rows.offsets) + 16
    while True:
        name_stops = empty("name_stops", capacity + 1, np.int32)
        value_stops = empty("header_value_stops", capacity + 1, np.int32)
        has_header_value = empty("has_header_value", capacity, np.bool_)
        done = decode_records(
            spans.data,
            spans.starts,
            spans.stops,
            base_offsets,
            spans.per_unit(header.base_timestamp_ms for header in headers),
            spans.per_unit(header.last_offset_delta for header in headers),
            counts,
            spans.floors,
            spans.ceilings,
            spans.statuses,
            spans.row_stops,
            *rows.arrays(),
            header_stops,
            name_stops,
            names,
            value_stops,
            values,
            has_header_value,
        )
        if done == 0:
            break
        capacity *= 4
    row_count = int(spans.row_stops[-1]) if headers else 0
    offsets, timestamps, key_views, has_key, value_views, has_value = rows.cut(row_count)
    _stamp(spans, timestamps)
    total = int(header_stops[row_count])
    columns = Columns(
        spans.data,
        offsets,
        timestamps,
        key_views,
        has_key,
        value_views,
        has_value,
        header_stops[: row_count + 1],
        name_stops[: total + 1],
        names[: name_stops[total]],
        value_stops[: total + 1],
        values[: value_stops[total]],
        has_header_value[:total],
    )
    return columns, spans.outcomes(base_offsets, counts)


def _decode_messages(spans: _Spans, lowest_offset: int) -> tuple[Columns, list[UnitOutcome]]:
    count = len(spans.units)
    rows = _Rows(spans.kept, int((spans.lengths // (PREFIX_BYTES + 8) + 1).sum()))
    first_offsets = np.zeros(count, np.int64)
    message_counts = np.zeros(count, np.int64)
    decode_messages(
        spans.data,
        spans.starts,
        spans.stops,
        spans.per_unit(unit.magic for unit in spans.units),
        np.fromiter((isinstance(unit, Wrapper) for unit in spans.units), np.bool_, count),
        spans.per_unit(unit.last_offset for unit in spans.units),
        spans.floors,
        spans.ceilings,
        lowest_offset,
        spans.statuses,
        spans.row_stops,
        first_offsets,
        message_counts,
        *rows.arrays(),
    )
    row_count = int(spans.row_stops[-1]) if count else 0
    offsets, timestamps, key_views, has_key, value_views, has_value = rows.cut(row_count)
    _stamp(spans, timestamps)
    no_stops = np.zeros(1, np.int32)
    nothing = np.zeros(0, np.uint8)
    columns = Columns(
        spans.data,
        offsets,
        timestamps,
        key_views,
        has_key,
        value_views,
        has_value,
        np.zeros(row_count + 1, np.int32),
        no_stops,
        nothing,
        no_stops,
        nothing,
        np.zeros(0, np.bool_),
    )
    return columns, spans.outcomes(first_offsets, message_counts)


def _stamp(spans: _Spans, timestamps: NDArray[np.int64]) -> None:
    """With log append time all records have the batch's time; what they carry is stale."""
    start = 0
    for unit, stop in zip(spans.units, spans.row_stops.tolist(), strict=True):
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
            return None  # each message of a run carries its own time, of whatever type
