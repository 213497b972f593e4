"""Compiled loops over messages of magic 0 and 1, and the search for a batch or message header.

The slow counterpart of `decode_messages` is `reference_decoder`.
"""

from typing import NamedTuple

import numba
import numpy as np

from seglake.compiled_loops import Array, Int, compiled, inlined
from seglake.segment_codec.formats.message_set import LONG_MESSAGE_BYTES
from seglake.segment_codec.kernels.arrays import MessageSetArrays, RowArrays, UnitResults
from seglake.segment_codec.kernels.faults import (
    INNER_CRC,
    INNER_CUT,
    INNER_MAGIC,
    INNER_OFFSETS,
    INNER_SIZE,
    MESSAGE_LENGTHS,
    NESTED,
    OK,
    WRAPPER_OFFSET,
)
from seglake.segment_codec.kernels.parts import crc32, int32, int64, set_view


@numba.njit(inline="always")  # inlined by numba, since LLVM's inlining is 8 % slower
def _message_status(data: Array, p: Int, stop: Int, is_sound: bool) -> Int:
    """Return the status of the message at p in a set that ends at stop.

    Its checksum is verified unless is_sound.
    """
    if stop - p < 12:
        return INNER_CUT
    size = int32(data, p + 8)
    if size < 14:
        return INNER_SIZE
    end = p + 12 + size
    if end > stop:
        return INNER_CUT
    magic = data[p + 16]
    if magic > 1:
        return INNER_MAGIC
    if magic == 1 and size < 22:
        return INNER_SIZE
    if not is_sound and np.uint32(int32(data, p + 12)) != crc32(data, p + 16, end):
        return INNER_CRC
    if data[p + 17] & 7 != 0:
        return NESTED
    at = p + 18 + 8 * np.int64(magic)
    for _ in range(2):
        if at + 4 > end:
            return MESSAGE_LENGTHS
        length = int32(data, at)
        at += 4
        if length > end - at:
            return MESSAGE_LENGTHS
        at += max(length, 0)
    if at != end:
        return MESSAGE_LENGTHS
    return OK


@compiled
def scan_messages(
    data: Array,
    magic: int,
    attributes: int,
    high: int,
    may_have_holes: bool,
    sound: int,
    run: Array,
) -> None:
    """Continue the run of valid uncompressed messages at the start of data.

    The run ends before the first message that is cut off or invalid, has another magic or other
    attributes, or has an offset that does not exceed the previous one or reaches high. Unless
    may_have_holes, it also ends at the first hole in the offsets. It also ends before a message
    longer than LONG_MESSAGE_BYTES, unless the message is at the index `sound`: its checksum is
    known to be valid. run (8,) is read and written: bytes, messages, first offset, last offset,
    largest timestamp, then bytes, last offset and largest timestamp without the last message.
    """
    p = run[0]
    count = run[1]
    first = run[2]
    last = run[3]
    largest = run[4]
    stop = data.shape[0]
    while stop - p >= 18 and data[p + 16] == magic and data[p + 17] == attributes:
        offset = int64(data, p)
        if count > 0 and offset != last + 1 and not may_have_holes:
            break
        is_sound = p == sound
        if not is_sound and int32(data, p + 8) > LONG_MESSAGE_BYTES - 12:
            break
        if offset <= last or offset >= high or _message_status(data, p, stop, is_sound) != OK:
            break
        if count == 0:
            first = offset
        run[5] = p
        run[6] = last
        run[7] = largest
        last = offset
        if magic == 1:
            largest = max(largest, int64(data, p + 18))
        count += 1
        p += 12 + int32(data, p + 8)
    run[0] = p
    run[1] = count
    run[2] = first
    run[3] = last
    run[4] = largest


@compiled
def span_messages(data: Array, result: Array) -> None:
    """Find the first and the last offset of the messages in data, by their lengths only.

    result (2,) is written: first and last offset. Both are -1 if the lengths do not fill data, or
    if the offsets are negative or do not rise.
    """
    p = 0
    stop = data.shape[0]
    first: Int = np.int64(-1)
    last: Int = np.int64(-1)
    while stop - p >= 12 and 0 <= int32(data, p + 8) <= stop - p - 12:
        offset = int64(data, p)
        if offset <= last:
            break
        last = offset
        if p == 0:
            first = last
        p += 12 + int32(data, p + 8)
    result[0] = first if p == stop else np.int64(-1)
    result[1] = last if p == stop else np.int64(-1)


@inlined
def _leads_on(data: Array, p: Int, stop: Int) -> bool:
    """Return whether the set ends at p or a plausible message (by size and magic) begins at p."""
    if p == stop:
        return True
    if stop - p < 26 or data[p + 16] > 1:
        return False
    size = int32(data, p + 8)
    is_plausible: bool = 14 <= size <= stop - p - 12
    return is_plausible


@inlined
def _end_of_damaged(data: Array, p: Int, stop: Int) -> Int:
    """Find the end of a damaged message by its size or by its fields; 0 if neither is plausible."""
    if stop - p < 26:
        return np.int64(0)
    size = int32(data, p + 8)
    if 14 <= size <= stop - p - 12 and _leads_on(data, p + 12 + size, stop):
        return p + 12 + size
    if data[p + 16] > 1:
        return np.int64(0)
    at = p + 18 + 8 * np.int64(data[p + 16])
    for _ in range(2):
        if stop - at < 4:
            return np.int64(0)
        length = int32(data, at)
        at += 4
        if length > stop - at:
            return np.int64(0)
        at += max(length, 0)
    return at if _leads_on(data, at, stop) else np.int64(0)


@compiled
def lay_out_messages(data: Array, pieces: Array) -> int:
    """Split a damaged set into messages, valid or not, and return the number of pieces.

    If the end of a message cannot be found, the rest of the set is one piece. Payloads are not
    searched for messages, since a value may contain messages of another log. pieces (n, 4) is
    written; a row has start, status, offset field, and whether the piece is one message.
    """
    p: Int = np.int64(0)
    stop: Int = np.int64(data.shape[0])
    count = 0
    while p < stop:
        status = _message_status(data, p, stop, False)
        end: Int = p + 12 + int32(data, p + 8) if status == OK else _end_of_damaged(data, p, stop)
        pieces[count, 0] = p
        pieces[count, 1] = status
        pieces[count, 2] = int64(data, p) if stop - p >= 8 else np.int64(-1)
        pieces[count, 3] = np.int64(end > 0)
        count += 1
        p = end if end > 0 else stop
    return count


@compiled
def judge_offsets(pieces: Array, shift: int, last_offset: int) -> None:
    """Set the status INNER_OFFSETS on messages whose offsets do not rise or exceed last_offset.

    pieces (n, 4) is the output of `lay_out_messages`; shift is added to its offsets, which makes
    them absolute.
    """
    reached: Int = np.int64(-1)
    for i in range(pieces.shape[0]):
        pieces[i, 2] += shift
        if pieces[i, 1] == OK:
            if reached < pieces[i, 2] <= last_offset:
                reached = pieces[i, 2]
            else:
                pieces[i, 1] = INNER_OFFSETS


class _Set(NamedTuple):
    """Status of a set's first faulty message, and counts of the valid messages before it."""

    status: Int
    count: Int
    first_offset: Int
    last_offset: Int


@inlined
def _check_set(data: Array, p: Int, stop: Int) -> _Set:
    """Check the messages of a set up to the first faulty message."""
    status: Int = np.int64(OK)
    count = first = last = np.int64(0)
    while p < stop:
        status = _message_status(data, p, stop, False)
        if status != OK:
            break
        offset = int64(data, p)
        if count > 0 and offset <= last:
            status = np.int64(INNER_OFFSETS)
            break
        if count == 0:
            first = offset
        last = offset
        count += 1
        p += 12 + int32(data, p + 8)
    return _Set(status, count, first, last)


@inlined
def _write_row(data: Array, p: Int, offset: Int, rows: RowArrays, row: Int) -> None:
    """Write the row for the valid message at p."""
    magic = np.int64(data[p + 16])
    rows.offsets[row] = offset
    rows.timestamps[row] = int64(data, p + 18) if magic == 1 else np.int64(-1)
    at = p + 18 + 8 * magic
    length = int32(data, at)
    at += 4
    rows.has_key[row] = length >= 0
    set_view(rows.key_views, row, data, at, max(length, 0))
    at += max(length, 0)
    length = int32(data, at)
    at += 4
    rows.has_value[row] = length >= 0
    set_view(rows.value_views, row, data, at, max(length, 0))


@compiled
def decode_messages(
    data: Array, sets: MessageSetArrays, results: UnitResults, rows: RowArrays
) -> None:
    """Decode sets of messages of magic 0 and 1 in data (n,), and write rows and results.

    A set with a faulty message gets no rows. First offsets in the results are absolute.
    """
    row = 0
    for i in range(sets.starts.shape[0]):
        p = sets.starts[i]
        stop = sets.stops[i]
        found = _check_set(data, p, stop)
        status = found.status
        shift: Int = np.int64(0)
        if status == OK and sets.is_wrapper[i]:
            if sets.magics[i] == 1:
                shift = sets.last_offsets[i] - found.last_offset
            if shift < 0:
                status = np.int64(WRAPPER_OFFSET)
            elif found.first_offset + shift < 0:
                status = np.int64(INNER_OFFSETS)
        results.statuses[i] = status
        results.first_offsets[i] = found.first_offset + shift
        results.record_counts[i] = found.count
        while status == OK and p < stop:
            offset = int64(data, p) + shift
            if sets.floors[i] <= offset < sets.ceilings[i]:
                _write_row(data, p, offset, rows, row)
                if sets.is_append_time[i] and data[p + 16] == 1:
                    rows.timestamps[row] = sets.append_times[i]
                row += 1
            p += 12 + int32(data, p + 8)
        results.row_stops[i] = row


@compiled
def find_header(data: Array, start: int, left: int, low: int, high: int) -> int:
    """Return the first index >= `start` where a batch or a message seems to begin; else -1.

    `left` is the number of bytes from `data[0]` to the end of the file. The header's offset must be
    in [`low`, `high`). The last 61 bytes of `data` are searched only if the file ends with them.
    """
    size = data.shape[0]
    stop = size - 17 if size == left else size - 61
    for p in range(start, stop + 1):
        magic = data[p + 16]
        if magic > 2:
            continue
        length = int32(data, p + 8)
        if length < 14 or p + 12 + length > left:
            continue
        offset = int64(data, p)
        if offset < low or offset >= high:
            continue
        if magic < 2:
            if data[p + 17] < 16:
                return p
        elif length >= 49 and p + 61 <= size:
            last_delta = int32(data, p + 23)
            count = int32(data, p + 57)
            if data[p + 22] & 7 <= 4 and last_delta >= 0 and 0 <= count <= last_delta + 1:
                return p
    return -1
