"""Compiled decoder of records of magic 2; its slow counterpart is `reference_decoder`.

Functions that read return the index after the bytes read or, if these are invalid, the negative
status.
"""

from typing import NamedTuple

import numpy as np

from seglake.compiled_loops import Array, Int, compiled, inlined
from seglake.segment_codec.kernels.arrays import (
    BatchArrays,
    HeaderArrays,
    RowArrays,
    UnitResults,
)
from seglake.segment_codec.kernels.faults import (
    CONTRADICTED,
    HEADER_COUNT,
    HEADER_KEY_LENGTH,
    HEADER_VALUE_LENGTH,
    KEY_LENGTH,
    OK,
    RECORD_LENGTH,
    RECORD_REST,
    REPEATED_OFFSETS,
    TOO_FEW_RECORDS,
    TOO_MANY_BYTES,
    VALUE_LENGTH,
)
from seglake.segment_codec.kernels.parts import copy, set_view, varint, varlong

_NO_ROOM = -1  # status used only here: `headers` has too little room
_REACHED, _IS_STRETCHED, _IS_FOLLOWED = 0, 1, 2  # indexes of `reach`
_SMALLEST_BODY_BYTES = 6
_NULL = -(1 << 31)  # a negative length means null


class _Batch(NamedTuple):
    """Fields and limits of a batch; `next_offset` is the exclusive end in its header."""

    stop: Int
    floor: Int
    ceiling: Int
    base_offset: Int
    base_timestamp: Int
    next_offset: Int
    count: Int


class _Written(NamedTuple):
    """Counts of written rows, headers, bytes of header names and bytes of header values."""

    rows: Int
    headers: Int
    name_bytes: Int
    value_bytes: Int


class _Given(NamedTuple):
    """Records of a batch that Kafka's consumer would return: those whose offsets rise.

    Attributes:
        first_offset: base offset of the batch, or a lower offset of a record.
        next_offset: exclusive end of the last of these records.
        record_count: number of these records.
        skipped_count: number of other records: earlier records have their offsets, or they are
            above the end of the range.
    """

    first_offset: Int
    next_offset: Int
    record_count: Int
    skipped_count: Int


class _Head(NamedTuple):
    """End of a record, and its deltas of timestamp and offset."""

    end: Int
    timestamp_delta: Int
    offset_delta: Int


class _Payload(NamedTuple):
    """Positions of key and value, with a negative length for null, and the number of headers."""

    key_start: Int
    key_length: Int
    value_start: Int
    value_length: Int
    header_count: Int


@inlined
def _length(data: Array, p: Int, end: Int, least: Int, fault: Int) -> tuple[Int, Int]:
    """Read a length of `least` or more that fits into the remaining bytes; pass on a negative p."""
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
    """Read length, attributes, timestamp delta and offset delta of a record."""
    length, p = _length(data, p, stop, _SMALLEST_BODY_BYTES, RECORD_LENGTH)
    end = p + length
    timestamp_delta = offset_delta = np.int64(0)
    if p >= 0:
        # Byte p is the record's attributes: no bit is defined, and Kafka ignores them.
        timestamp_delta, p = varlong(data, p + 1, end)
    if p >= 0:
        offset_delta, p = varint(data, p, end)
    return _Head(end, timestamp_delta, offset_delta), p


@inlined
def _read_payload(data: Array, p: Int, end: Int) -> tuple[_Payload, Int]:
    """Read key, value and number of headers of a record."""
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
    data: Array,
    p: Int,
    end: Int,
    count: Int,
    is_requested: Int,
    headers: HeaderArrays,
    at: _Written,
) -> tuple[_Written, Int]:
    """Check the headers of a record, and write them if the record gets a row."""
    number, names_at, values_at = at.headers, at.name_bytes, at.value_bytes
    for _ in range(count):
        name_length, name_start = _length(data, p, end, 0, HEADER_KEY_LENGTH)
        p = name_start + name_length
        value_length, value_start = _length(data, p, end, _NULL, HEADER_VALUE_LENGTH)
        p = value_start + max(value_length, 0)
        if p < 0:
            break
        if is_requested:
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
    """Write the row of one record to the row arrays."""
    rows.offsets[row] = offset
    rows.timestamps[row] = timestamp
    rows.has_key[row] = payload.key_length >= 0
    set_view(rows.key_views, row, data, payload.key_start, max(payload.key_length, 0))
    rows.has_value[row] = payload.value_length >= 0
    set_view(rows.value_views, row, data, payload.value_start, max(payload.value_length, 0))


@inlined
def _is_skipped(batch: _Batch, offset: Int, is_given: bool) -> bool:
    """Return whether a record gets no row although its offset is within floor and ceiling."""
    return bool(not is_given and (offset < batch.base_offset or offset >= batch.floor))


@inlined
def _is_far(batch: _Batch, offset: Int) -> bool:
    """Return whether an offset is above the header's last offset, and above the ceiling too."""
    return bool(batch.base_offset < batch.ceiling <= offset and offset >= batch.next_offset)


@inlined
def _decode_batch(
    data: Array,
    p: Int,
    batch: _Batch,
    count: Int,
    rows: RowArrays,
    headers: HeaderArrays,
    at: _Written,
    low: Int,
) -> tuple[Int, _Written, _Given]:
    """Decode the first `count` records of a batch to rows and headers.

    Records with offsets below `low` get no rows, since earlier batches have these offsets. The
    result is the status, the counts written so far, and the records that a consumer would return.
    """
    nothing: Int = np.int64(0)
    given = _Given(batch.base_offset, low, nothing, nothing)
    for _ in range(count):
        if p == batch.stop:
            return np.int64(TOO_FEW_RECORDS), at, given
        head, p = _read_head(data, p, batch.stop)
        if p < 0:
            return -p, at, given
        payload, p = _read_payload(data, p, head.end)
        if p < 0:
            return -p, at, given
        offset = batch.base_offset + head.offset_delta
        is_given = offset >= given.next_offset and not _is_far(batch, offset)
        is_requested = is_given and batch.floor <= offset < batch.ceiling
        if is_requested and at.headers + payload.header_count > headers.has_value.shape[0]:
            return np.int64(_NO_ROOM), at, given
        at, p = _read_headers(data, p, head.end, payload.header_count, is_requested, headers, at)
        if p < 0:
            return -p, at, given
        if p != head.end:
            return np.int64(RECORD_REST), at, given
        given = _Given(
            min(given.first_offset, offset) if is_given else given.first_offset,
            offset + 1 if is_given else given.next_offset,
            given.record_count + np.int64(is_given),
            given.skipped_count + np.int64(_is_skipped(batch, offset, is_given)),
        )
        if is_requested:
            timestamp = batch.base_timestamp + head.timestamp_delta
            _write_row(data, rows, at.rows, offset, timestamp, payload)
            at = _Written(at.rows + 1, at.headers, at.name_bytes, at.value_bytes)
            headers.row_stops[at.rows] = at.headers
    return np.int64(OK if p == batch.stop else TOO_MANY_BYTES), at, given


@inlined
def _judged(batch: _Batch, status: Int, given: _Given, low: Int) -> Int:
    """Return the status of a batch that decoded without fault, judged by its records' offsets."""
    if status not in (OK, TOO_FEW_RECORDS):
        return status
    if batch.count > 0 and given.record_count == 0 and batch.next_offset <= low:
        return np.int64(REPEATED_OFFSETS)
    is_odd = given.skipped_count > 0 or given.first_offset < batch.base_offset
    is_odd = is_odd or given.next_offset > max(batch.next_offset, low)
    return np.int64(CONTRADICTED) if status == OK and is_odd else status


@inlined
def _given_batch(
    data: Array,
    p: Int,
    batch: _Batch,
    rows: RowArrays,
    headers: HeaderArrays,
    at: _Written,
    low: Int,
) -> tuple[Int, _Written, _Given]:
    """Decode the records of a batch that Kafka's consumer would return.

    If bytes remain after the counted records, the last counted record is not returned either.
    """
    count = batch.count
    status, after, given = _decode_batch(data, p, batch, count, rows, headers, at, low)
    if status == TOO_MANY_BYTES:
        _, after, given = _decode_batch(data, p, batch, count - 1, rows, headers, at, low)
    return _judged(batch, status, given, low), after, given


@inlined
def _is_kept(status: Int, given: _Given) -> bool:
    """Return whether a batch's rows are kept: also if only its record count is wrong."""
    is_miscounted = status in (TOO_FEW_RECORDS, TOO_MANY_BYTES)
    return bool(status in (OK, CONTRADICTED) or (is_miscounted and given.record_count > 0))


@inlined
def _next_offset(batch: _Batch, status: Int, given: _Given, is_late: Int) -> Int:
    """Return the exclusive end of a batch's offsets, from its records and its header."""
    if status == TOO_MANY_BYTES:
        return given.next_offset
    return batch.next_offset if is_late else max(batch.next_offset, given.next_offset)


@compiled
def decode_records(
    data: Array,
    batches: BatchArrays,
    results: UnitResults,
    rows: RowArrays,
    headers: HeaderArrays,
    reach: Array,
) -> bool:
    """Decode the uncompressed records of batches of magic 2 in data (n,).

    It writes rows, headers and results, and returns False if `headers` has too little room. reach
    (3,) is the state between calls: the exclusive end of earlier records; 1 if records of a batch
    exceeded its header's last offset; and 1 if this call updates both, 0 to judge each batch alone.
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
            next_offset=batches.next_offsets[i],
            count=batches.counts[i],
        )
        start, is_late = batches.starts[i], batches.is_late[i]
        low = batch.base_offset if is_late else max(reach[_REACHED], batches.lows[i])
        status, after, given = _given_batch(data, start, batch, rows, headers, at, low)
        if status == _NO_ROOM:
            return False
        if is_late and reach[_IS_STRETCHED] != 0:
            # The exclusive end of the earlier, longer batch is only in `reach`.
            status = np.int64(REPEATED_OFFSETS)
        if _is_kept(status, given):
            at = after
            results.is_kept[i] = True
            results.next_offsets[i] = _next_offset(batch, status, given, is_late)
            if reach[_IS_FOLLOWED] != 0 and not is_late:
                reach[_REACHED] = max(reach[_REACHED], results.next_offsets[i])
                reach[_IS_STRETCHED] |= results.next_offsets[i] > batch.next_offset
        results.statuses[i] = status
        results.row_stops[i] = at.rows
        results.first_offsets[i] = given.first_offset
        results.record_counts[i] = batch.count
        results.skipped_counts[i] = given.skipped_count
    return True
