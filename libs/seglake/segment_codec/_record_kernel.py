"""The compiled decoder of records of magic 2; its slow twin is `reference_decoder`.

A helper that reads returns the index after what it read or, where the bytes are invalid, minus a
status.
"""

from typing import NamedTuple

import numpy as np

from seglake.segment_codec._kernel_arrays import BatchArrays, HeaderArrays, RowArrays, UnitResults
from seglake.segment_codec._kernel_faults import (
    HEADER_COUNT,
    HEADER_KEY_LENGTH,
    HEADER_VALUE_LENGTH,
    KEY_LENGTH,
    OFFSET_DELTA,
    OK,
    RECORD_LENGTH,
    RECORD_REST,
    TOO_FEW_RECORDS,
    TOO_MANY_BYTES,
    VALUE_LENGTH,
)
from seglake.segment_codec._kernel_parts import (
    Array,
    Int,
    compiled,
    copy,
    inlined,
    set_view,
    varint,
    varlong,
)

_NO_ROOM = -1  # a status that never leaves this module
_SMALLEST_BODY_BYTES = 6
_NULL = -(1 << 31)  # any negative length means null


class _Batch(NamedTuple):
    stop: Int
    floor: Int
    ceiling: Int
    base_offset: Int
    base_timestamp: Int
    last_delta: Int
    count: Int


class _Written(NamedTuple):
    """How far the output is filled: rows, headers, bytes of header names and of their values."""

    rows: Int
    headers: Int
    name_bytes: Int
    value_bytes: Int


class _Head(NamedTuple):
    end: Int
    timestamp_delta: Int
    offset_delta: Int


class _Payload(NamedTuple):
    """Where key and value are, with a negative length for null, and the number of headers."""

    key_start: Int
    key_length: Int
    value_start: Int
    value_length: Int
    header_count: Int


@inlined
def _length(data: Array, p: Int, end: Int, least: Int, fault: Int) -> tuple[Int, Int]:
    """A varint from least up to the number of bytes after it. A p that is a status is passed on."""
    if p < 0:
        return np.int64(0), p
    length, p = varint(data, p, end)
    if p < 0:
        return np.int64(0), p
    if length < least or length > end - p:
        return np.int64(0), np.int64(-fault)
    return length, p


@inlined
def _read_head(data: Array, p: Int, stop: Int) -> tuple[_Head, Int]:
    length, p = _length(data, p, stop, _SMALLEST_BODY_BYTES, RECORD_LENGTH)
    end = p + length
    timestamp_delta = offset_delta = np.int64(0)
    if p >= 0:
        # One byte of attributes is skipped: none is defined, and Kafka ignores it too.
        timestamp_delta, p = varlong(data, p + 1, end)
    if p >= 0:
        offset_delta, p = varint(data, p, end)
    return _Head(end, timestamp_delta, offset_delta), p


@inlined
def _read_payload(data: Array, p: Int, end: Int) -> tuple[_Payload, Int]:
    key_length, key_start = _length(data, p, end, _NULL, KEY_LENGTH)
    p = key_start + max(key_length, 0)
    value_length, value_start = _length(data, p, end, _NULL, VALUE_LENGTH)
    p = value_start + max(value_length, 0)
    header_count, p = _length(data, p, end, 0, HEADER_COUNT)
    payload = _Payload(
        key_start=key_start,
        key_length=key_length,
        value_start=value_start,
        value_length=value_length,
        header_count=header_count,
    )
    return payload, p


@inlined
def _read_headers(
    data: Array, p: Int, end: Int, count: Int, is_wanted: Int, headers: HeaderArrays, at: _Written
) -> tuple[_Written, Int]:
    """Check the headers of one record, and write them if its offset is wanted."""
    number, names_at, values_at = at.headers, at.name_bytes, at.value_bytes
    for _ in range(count):
        name_length, name_start = _length(data, p, end, 0, HEADER_KEY_LENGTH)
        p = name_start + name_length
        value_length, value_start = _length(data, p, end, _NULL, HEADER_VALUE_LENGTH)
        p = value_start + max(value_length, 0)
        if p < 0:
            break
        if is_wanted:
            copy(headers.names, names_at, data, name_start, name_length)
            names_at += name_length
            headers.has_value[number] = value_length >= 0
            if value_length > 0:
                copy(headers.values, values_at, data, value_start, value_length)
                values_at += value_length
            number += 1
            headers.name_stops[number] = names_at
            headers.value_stops[number] = values_at
    return _Written(at.rows, number, names_at, values_at), p


@inlined
def _write_row(
    data: Array, rows: RowArrays, row: Int, offset: Int, timestamp: Int, payload: _Payload
) -> None:
    rows.offsets[row] = offset
    rows.timestamps[row] = timestamp
    rows.has_key[row] = payload.key_length >= 0
    set_view(rows.key_views, row, data, payload.key_start, max(payload.key_length, 0))
    rows.has_value[row] = payload.value_length >= 0
    set_view(rows.value_views, row, data, payload.value_start, max(payload.value_length, 0))


@inlined
def _decode_batch(
    data: Array, p: Int, batch: _Batch, rows: RowArrays, headers: HeaderArrays, at: _Written
) -> tuple[Int, _Written]:
    """Return the status of one batch, and how far the output is filled if that is OK."""
    delta_before: Int = np.int64(-1)
    for _ in range(batch.count):
        if p == batch.stop:
            return np.int64(TOO_FEW_RECORDS), at
        head, p = _read_head(data, p, batch.stop)
        if p < 0:
            return -p, at
        if head.offset_delta <= delta_before or head.offset_delta > batch.last_delta:
            return np.int64(OFFSET_DELTA), at
        delta_before = head.offset_delta
        payload, p = _read_payload(data, p, head.end)
        if p < 0:
            return -p, at
        offset = batch.base_offset + head.offset_delta
        is_wanted = batch.floor <= offset < batch.ceiling
        if is_wanted and at.headers + payload.header_count > headers.has_value.shape[0]:
            return np.int64(_NO_ROOM), at
        at, p = _read_headers(data, p, head.end, payload.header_count, is_wanted, headers, at)
        if p < 0:
            return -p, at
        if p != head.end:
            return np.int64(RECORD_REST), at
        if is_wanted:
            timestamp = batch.base_timestamp + head.timestamp_delta
            _write_row(data, rows, at.rows, offset, timestamp, payload)
            at = _Written(at.rows + 1, at.headers, at.name_bytes, at.value_bytes)
            headers.row_stops[at.rows] = at.headers
    return np.int64(OK if p == batch.stop else TOO_MANY_BYTES), at


@compiled
def decode_records(
    data: Array, batches: BatchArrays, results: UnitResults, rows: RowArrays, headers: HeaderArrays
) -> bool:
    """Decode the plain records of batches of magic 2, which lie in data (n,).

    Returns whether there was room for all headers in the arrays of `headers`.
    """
    nothing: Int = np.int64(0)
    at = _Written(nothing, nothing, nothing, nothing)
    headers.row_stops[0] = 0
    headers.name_stops[0] = 0
    headers.value_stops[0] = 0
    for i in range(batches.starts.shape[0]):
        batch = _Batch(
            stop=batches.stops[i],
            floor=batches.floors[i],
            ceiling=batches.ceilings[i],
            base_offset=batches.base_offsets[i],
            base_timestamp=batches.base_timestamps[i],
            last_delta=batches.last_deltas[i],
            count=batches.counts[i],
        )
        status, after = _decode_batch(data, batches.starts[i], batch, rows, headers, at)
        if status == _NO_ROOM:
            return False
        if status == OK:
            at = after
        results.statuses[i] = status
        results.row_stops[i] = at.rows
        results.first_offsets[i] = batch.base_offset
        results.record_counts[i] = batch.count
    return True
