"""The compiled loops over messages of magic 0 and 1, and the search for a header.

The slow twin of `decode_messages` is `reference_decoder`.
"""

import numba
import numpy as np

from seglake.segment_codec._kernel_parts import (
    INNER_CRC,
    INNER_CUT,
    INNER_MAGIC,
    INNER_OFFSETS,
    INNER_SIZE,
    MESSAGE_LENGTHS,
    NESTED,
    OK,
    TAKEN,
    WRAPPER_OFFSET,
    Array,
    Int,
    compiled,
    crc32,
    int32,
    int64,
    set_view,
)


@numba.njit(inline="always")
def _message_status(data: Array, p: Int, stop: Int) -> Int:
    """Check one message at p, checksum included, of a set that ends at stop."""
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
    if np.uint32(int32(data, p + 12)) != crc32(data, p + 16, end):
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
    low: int,
    high: int,
    may_have_holes: bool,
    result: Array,
) -> None:
    """Find the run of sound uncompressed messages at the start of data.

    The run ends before the first message of another magic or other attributes, with an offset that
    is not above the one before it (at first: not below low) or not below high, that is cut or not
    sound; also at the first hole in the offsets, unless they may have some.
    result (5,) is written: bytes, messages, first offset, last offset, largest timestamp.
    """
    p = 0
    count = 0
    first: Int = np.int64(-1)
    last: Int = np.int64(low) - 1
    largest: Int = np.int64(-(1 << 63))
    stop = data.shape[0]
    while stop - p >= 18 and data[p + 16] == magic and data[p + 17] == attributes:
        offset = int64(data, p)
        if count > 0 and offset != last + 1 and not may_have_holes:
            break
        if offset <= last or offset >= high or _message_status(data, p, stop) != OK:
            break
        if count == 0:
            first = offset
        last = offset
        if magic == 1:
            largest = max(largest, int64(data, p + 18))
        count += 1
        p += 12 + int32(data, p + 8)
    result[0] = p
    result[1] = count
    result[2] = first
    result[3] = last
    result[4] = largest


@compiled
def decode_messages(
    data: Array,
    starts: Array,
    stops: Array,
    magics: Array,
    is_wrapper: Array,
    last_offsets: Array,
    floors: Array,
    ceilings: Array,
    lowest_offset: int,
    statuses: Array,
    row_stops: Array,
    first_offsets: Array,
    message_counts: Array,
    offsets: Array,
    timestamps: Array,
    key_views: Array,
    has_key: Array,
    value_views: Array,
    has_value: Array,
) -> None:
    """Decode sets of messages of magic 0 and 1: runs, and the insides of wrappers.

    As `decode_records`; last_offsets (s,) is the wrapper's own offset, and none of its messages may
    lie below lowest_offset, or below the end of a sound set before it. first_offsets (s,) and
    message_counts (s,) are written: the absolute first offset of the set and how many it holds.
    """
    row = 0
    lowest: Int = np.int64(lowest_offset)
    for i in range(starts.shape[0]):
        start = starts[i]
        stop = stops[i]
        status = OK
        p = start
        count = 0
        first: Int = np.int64(0)
        last: Int = np.int64(-1)
        while p < stop:
            status = _message_status(data, p, stop)
            if status != OK:
                break
            offset = int64(data, p)
            if offset <= last:
                status = INNER_OFFSETS
                break
            if count == 0:
                first = offset
            last = offset
            count += 1
            p += 12 + int32(data, p + 8)
        shift: Int = np.int64(0)
        if status == OK and is_wrapper[i]:
            if magics[i] == 1:
                shift = last_offsets[i] - last
                if shift < 0:
                    status = WRAPPER_OFFSET
            elif last != last_offsets[i]:
                status = WRAPPER_OFFSET
            if status == OK and first + shift < lowest:
                status = TAKEN
        if status == OK:
            lowest = max(lowest, last + shift + 1)
        first_offsets[i] = first + shift
        message_counts[i] = count
        p = start
        while status == OK and p < stop:
            size = int32(data, p + 8)
            magic = np.int64(data[p + 16])
            offset = int64(data, p) + shift
            if floors[i] <= offset < ceilings[i]:
                offsets[row] = offset
                timestamps[row] = int64(data, p + 18) if magic == 1 else np.int64(-1)
                at = p + 18 + 8 * magic
                length = int32(data, at)
                at += 4
                has_key[row] = length >= 0
                set_view(key_views, row, data, at, max(length, 0))
                at += max(length, 0)
                length = int32(data, at)
                at += 4
                has_value[row] = length >= 0
                set_view(value_views, row, data, at, max(length, 0))
                row += 1
            p += 12 + size
        statuses[i] = status
        row_stops[i] = row


@compiled
def find_header(data: Array, start: int, left: int, low: int, high: int) -> int:
    """The first place at or behind start that looks like the header of a batch or message.

    left is how many bytes the file has from data's first byte on; offsets must lie in [low, high).
    Returns -1 when there is none; places within the last 61 bytes of data are not looked at unless
    the file ends there.
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
