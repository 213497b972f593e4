"""Converts decoded columns to Arrow rows of `records`, without a Python object per record.

Strings that all rows of a batch or a file share are dictionary-encoded, which halves the time of
the Parquet writer. Numbers are not encoded, because the writer would decode their dictionaries
first.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.kafka_log.replica import PartitionKey
from seglake.kafka_log.transaction_markers import TransactionState
from seglake.lake.tables import HEADERS_TYPE, RECORDS

if TYPE_CHECKING:
    from seglake.segment_codec.kernels.flush import Columns

STATES = tuple(TransactionState)
TIMESTAMP_TYPES = (0, 1, -1)
_TIMESTAMP_TYPES = np.array(TIMESTAMP_TYPES, np.int32)
_EARLIEST_MS = -62_135_596_800_000  # 0001-01-01: Python has no earlier times
_LATEST_MS = 253_402_300_799_999  # 9999-12-31: Python has no later times
_TIMESTAMP = pa.timestamp("us", tz="UTC")


class Origin(NamedTuple):
    """Values that all rows of a partition share in one run."""

    source_id: str
    key: PartitionKey
    run_id: str
    generation: int


class UnitRows(NamedTuple):
    """Values that the rows of one batch share.

    Attributes:
        timestamp_type: Kafka's number; -1 for magic 0.
    """

    row_count: int
    timestamp_type: int
    state: TransactionState
    batch_base_offset: int


class SharedColumns(NamedTuple):
    """Values of several `UnitRows` as arrays; timestamp types and states are indexes."""

    row_counts: NDArray[np.int64]  # all arrays have an element per batch
    timestamp_types: NDArray[np.int8]
    states: NDArray[np.int8]
    batch_base_offsets: NDArray[np.int64]


def shared_of(units: Sequence[UnitRows]) -> SharedColumns:
    """Convert the values that records of a batch share to arrays, one element per batch."""
    return SharedColumns(
        np.array([unit.row_count for unit in units], np.int64),
        np.array([TIMESTAMP_TYPES.index(unit.timestamp_type) for unit in units], np.int8),
        np.array([STATES.index(unit.state) for unit in units], np.int8),
        np.array([unit.batch_base_offset for unit in units], np.int64),
    )


def joined(parts: Sequence[SharedColumns]) -> SharedColumns:
    """Concatenate the shared values of several groups of batches."""
    return SharedColumns(*map(np.concatenate, zip(*parts, strict=True)))


def record_rows(
    columns: "Columns", units: SharedColumns, origin: Origin
) -> tuple[pa.RecordBatch, int]:
    """Return rows of `records`, and the number of header names with invalid bytes, now U+FFFD.

    Args:
        columns: decoded arrays; the rows share their memory.
        units: values that the rows of each batch share, in the same order.
        origin: values that all rows share.
    """
    count = len(columns.offsets)
    counts = units.row_counts
    zeros = np.zeros(count, np.int32)  # indexes into a dictionary with one value
    times_ms = columns.timestamps_ms
    has_no_type = np.repeat(units.timestamp_types == TIMESTAMP_TYPES.index(-1), counts)
    has_no_time = has_no_type & (times_ms == -1)  # magic-1 messages in a magic-0 wrapper have times
    base_offsets = np.repeat(units.batch_base_offsets, counts)
    payload = pa.py_buffer(columns.data.data)
    headers, replaced = _headers(columns)
    arrays = {
        "key": _views(columns.has_key, columns.key_views, payload),
        "value": _views(columns.has_value, columns.value_views, payload),
        "partition": pa.array(np.full(count, origin.key.partition, np.int32)),
        "offset": pa.array(columns.offsets),
        "timestamp": timestamps(columns.timestamps_ms),
        "timestampType": pa.array(_TIMESTAMP_TYPES[np.repeat(units.timestamp_types, counts)]),
        "headers": headers,
        "timestamp_ms": pa.array(times_ms, mask=_mask(has_no_time)),
        "source_id": _constant(origin.source_id, zeros),
        "topic_id": _constant(origin.key.topic_id, zeros),
        "transaction_state": _transaction_states(units.states, counts, zeros),
        "batch_base_offset": pa.array(base_offsets),
        "run_id": _constant(origin.run_id, zeros),
        "generation": pa.array(np.full(count, origin.generation, np.int64)),
    }
    names = RECORDS.file_schema.names
    return pa.RecordBatch.from_arrays([arrays[name] for name in names], names), replaced


def _mask(is_null: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    """Return where values are null; None if none is null."""
    return is_null if is_null.any() else None


def _validity(is_valid: NDArray[np.bool_]) -> Any:
    """Return a bitmap of valid values, as Arrow has it; None if all values are valid."""
    return None if is_valid.all() else pa.py_buffer(np.packbits(is_valid, bitorder="little").data)


def _views(is_valid: NDArray[np.bool_], views: NDArray[np.int32], payload: pa.Buffer) -> Any:
    """Return a column of binary views into the payload."""
    buffers = [_validity(is_valid), pa.py_buffer(views.data), payload]
    return pa.Array.from_buffers(pa.binary_view(), len(is_valid), buffers)


def _dictionary(indices: Any, values: Any) -> Any:
    """Return a dictionary-encoded column, given the index of each row's value."""
    # safe=False: the indexes need no check
    return pa.DictionaryArray.from_arrays(indices, values, safe=False)


def _transaction_states(
    states: NDArray[np.int8], counts: NDArray[np.int64], zeros: NDArray[np.int32]
) -> Any:
    """Return the transaction state of each row as a column, from `states` of the batches."""
    if len(states) and (states == states[0]).all():  # most flushes have a single state
        return _constant(STATES[int(states[0])], zeros)
    return _dictionary(np.repeat(states.astype(np.int32), counts), pa.array([*map(str, STATES)]))


def _constant(text: str | None, zeros: NDArray[np.int32]) -> Any:
    """Return a column that has the same text in each row; `zeros` has one element per row."""
    if text is not None:
        return _dictionary(zeros, pa.array([text]))
    nulls: Any = pa.array(zeros, mask=np.ones(len(zeros), np.bool_))
    return _dictionary(nulls, pa.array([""]))


def timestamps(times_ms: NDArray[np.int64]) -> Any:
    """Convert times to a column in UTC with microseconds.

    A time is null if Kafka has none (-1), or if its year is outside 1 to 9999.
    """
    is_null = (times_ms == -1) | (times_ms < _EARLIEST_MS) | (times_ms > _LATEST_MS)
    mask = _mask(is_null)
    times_us = (times_ms if mask is None else np.where(is_null, 0, times_ms)) * 1000
    return pa.array(times_us, mask=mask).view(_TIMESTAMP)


def _headers(columns: "Columns") -> tuple[Any, int]:
    """Return the column of headers, and the number of names that are not UTF-8."""
    count = len(columns.offsets)
    total = len(columns.has_header_value)
    if total == 0:
        return pa.nulls(count, HEADERS_TYPE), 0
    names, replaced = _names(columns)
    content = (
        pa.py_buffer(columns.header_value_stops.data),
        pa.py_buffer(columns.header_values.data),
    )
    value_buffers = [_validity(columns.has_header_value), *content]
    values = pa.Array.from_buffers(pa.binary(), total, value_buffers)
    pairs = pa.StructArray.from_arrays([names, values], fields=list(HEADERS_TYPE.value_type))
    stops = columns.header_stops
    has_headers = stops[1:] > stops[:-1]
    buffers = [_validity(has_headers), pa.py_buffer(stops.data)]
    return pa.Array.from_buffers(HEADERS_TYPE, count, buffers, children=[pairs]), replaced


def _names(columns: "Columns") -> tuple[Any, int]:
    """Return header names as strings, and how many have U+FFFD instead of invalid bytes."""
    total = len(columns.has_header_value)
    if not (columns.names > 127).any():
        buffers = [None, pa.py_buffer(columns.name_stops.data), pa.py_buffer(columns.names.data)]
        return pa.Array.from_buffers(pa.string(), total, buffers), 0
    data = columns.names.tobytes()
    names, replaced = [], 0
    for start, stop in pairwise(columns.name_stops.tolist()):
        name = data[start:stop].decode("utf-8", errors="replace")
        replaced += name.encode() != data[start:stop]
        names.append(name)
    return pa.array(names, pa.string()), replaced


def payload_bytes(is_valid: NDArray[np.bool_], views: NDArray[np.int32]) -> int:
    """Return the total length in bytes of all keys or all values."""
    lengths = views[:, 0] if is_valid.all() else views[is_valid, 0]
    return int(lengths.sum(dtype=np.int64))
