"""Batches to flat arrays, ready for Arrow without a Python object per record.

Row i has `offsets[i]`, `timestamps_ms[i]`, a key and a value as binary views into `data`, and the
headers [header_stops[i], header_stops[i + 1]).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segment_codec import _kernel_parts as parts
from segment_codec._message_kernels import decode_messages
from segment_codec._record_kernel import decode_records
from segment_codec.errors import DefectCode
from segment_codec.message_set import (
    PREFIX_BYTES,
    MessageRun,
    Wrapper,
    wrapped_messages,
)
from segment_codec.offset_order import Unit
from segment_codec.record_batch import RecordBatch, plain_records

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
    parts.WRAPPER_OFFSET: (_MALFORMED, "the wrapper's offset is not that of its last message"),
}


class Columns(NamedTuple):
    """Arrays of one flush; n rows, h headers. Owned by the receiver."""

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


class _Pending(NamedTuple):
    unit: Unit
    data: bytes | memoryview
    floor_offset: int
    ceiling_offset: int


class ColumnBuilder:
    """Collects batches, decompressed, and decodes them together.

    Batches of magic 2 and older ones are never mixed in one flush: ask `accepts` first.
    """

    def __init__(self, max_decompressed_batch_bytes: int) -> None:
        self._max_bytes = max_decompressed_batch_bytes
        self._pending: list[_Pending] = []
        self.plain_bytes = 0

    def accepts(self, unit: Unit) -> bool:
        """Whether the unit may join what was added since the last flush."""
        if not self._pending:
            return True
        return isinstance(unit, RecordBatch) == isinstance(self._pending[0].unit, RecordBatch)

    def add(self, unit: Unit, floor_offset: int, ceiling_offset: int) -> None:
        """Decompress the unit; of its rows those in [floor_offset, ceiling_offset) are wanted.

        Raises:
            DefectError: it cannot be decompressed; the builder is as before.
        """
        data = _plain_bytes(unit, self._max_bytes)
        self._pending.append(_Pending(unit, data, floor_offset, ceiling_offset))
        self.plain_bytes += len(data)

    def flush(self) -> tuple[Columns, list[UnitOutcome]]:
        """Decode what was added; one outcome for each unit, in order. The builder is empty then."""
        pending, self._pending, self.plain_bytes = self._pending, [], 0
        is_record_batch = bool(pending) and isinstance(pending[0].unit, RecordBatch)
        lengths = np.fromiter((len(each.data) for each in pending), np.int64, len(pending))
        spans = _Spans(pending, lengths)
        return _decode_records(spans) if is_record_batch else _decode_messages(spans)


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

    def __init__(self, pending: list[_Pending], lengths: NDArray[np.int64]) -> None:
        count = len(pending)
        self.pending = pending
        self.data = np.frombuffer(b"".join([each.data for each in pending]) or b"\0", np.uint8)
        self.stops = np.cumsum(lengths)
        self.starts = self.stops - lengths
        self.lengths = lengths
        self.floors = self.per_unit(lambda each: each.floor_offset)
        self.ceilings = self.per_unit(lambda each: each.ceiling_offset)
        self.statuses = np.zeros(count, np.int32)
        self.row_stops = np.zeros(count, np.int64)

    def per_unit(self, value: Callable[[_Pending], int]) -> NDArray[np.int64]:
        return np.fromiter((value(each) for each in self.pending), np.int64, len(self.pending))

    def fault(self, index: int) -> tuple[DefectCode, str] | None:
        return FAULTS.get(int(self.statuses[index]))

    def outcomes(
        self, first_offsets: NDArray[np.int64], record_counts: NDArray[np.int64]
    ) -> list[UnitOutcome]:
        return [
            UnitOutcome(each.unit, stop, FAULTS.get(status), first, records, length)
            for each, stop, status, first, records, length in zip(
                self.pending,
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
    """Output arrays for at most `capacity` rows; pages that stay unused cost nothing."""

    def __init__(self, capacity: int) -> None:
        self.offsets = np.empty(capacity, np.int64)
        self.timestamps = np.empty(capacity, np.int64)
        self.key_views = np.empty((capacity, 4), np.int32)
        self.has_key = np.empty(capacity, np.bool_)
        self.value_views = np.empty((capacity, 4), np.int32)
        self.has_value = np.empty(capacity, np.bool_)

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
    headers = [each.unit.header for each in spans.pending if isinstance(each.unit, RecordBatch)]
    count = len(headers)

    def field(values: Any) -> NDArray[np.int64]:
        return np.fromiter(values, np.int64, count)

    base_offsets = field(header.base_offset for header in headers)
    counts = field(header.record_count for header in headers)
    rows = _Rows(int(counts.sum()))
    capacity = 2 * len(rows.offsets) + 16
    while True:
        header_stops = np.empty(len(rows.offsets) + 1, np.int32)
        name_stops = np.empty(capacity + 1, np.int32)
        names = np.empty(len(spans.data), np.uint8)
        value_stops = np.empty(capacity + 1, np.int32)
        values = np.empty(len(spans.data), np.uint8)
        has_header_value = np.empty(capacity, np.bool_)
        done = decode_records(
            spans.data,
            spans.starts,
            spans.stops,
            base_offsets,
            field(header.base_timestamp_ms for header in headers),
            field(header.last_offset_delta for header in headers),
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
    row_count = int(spans.row_stops[-1]) if count else 0
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


def _decode_messages(spans: _Spans) -> tuple[Columns, list[UnitOutcome]]:
    count = len(spans.pending)
    rows = _Rows(int((spans.lengths // (PREFIX_BYTES + 8) + 1).sum()))
    first_offsets = np.zeros(count, np.int64)
    message_counts = np.zeros(count, np.int64)
    decode_messages(
        spans.data,
        spans.starts,
        spans.stops,
        spans.per_unit(lambda each: each.unit.magic),
        np.fromiter((isinstance(each.unit, Wrapper) for each in spans.pending), np.bool_, count),
        spans.per_unit(lambda each: each.unit.last_offset),
        spans.floors,
        spans.ceilings,
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
    for each, stop in zip(spans.pending, spans.row_stops.tolist(), strict=True):
        time_ms = _append_time_ms(each.unit)
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
