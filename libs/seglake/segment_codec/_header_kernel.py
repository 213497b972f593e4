"""The compiled walk over batches of magic 2: headers to an array, as long as nothing is odd.

It judges nothing. Where a batch is not plainly sound it stops, and the exact walk says what it is.
"""

from typing import NamedTuple

import numpy as np

from seglake.segment_codec._checksum import CASTAGNOLI, slicing_tables
from seglake.segment_codec._kernel_parts import (
    Array,
    Int,
    checksum,
    compiled,
    inlined,
    int32,
    int64,
)
from seglake.segment_codec.codec import Codec
from seglake.segment_codec.record_batch import (
    CHECKSUM_START,
    CODEC_MASK,
    CONTROL,
    HEADER_BYTES,
    LENGTH_STOP,
    MOST_MARKER_BYTES,
)

_LAST_CODEC = int(max(Codec))
_MOST_TABLE_BYTES = 1024  # above, the library's checksum is faster than a call of it is slow
_TABLES = slicing_tables(CASTAGNOLI)


class RunLimits(NamedTuple):
    """Offsets of a run lie in [low, high); `may_have_holes` between its batches.

    Without `verifies_all`, the checksums of those count that may be damaged markers.
    """

    low: Int
    high: Int
    may_have_holes: Int
    verifies_all: Int


@inlined
def _read_header(data: Array, p: Int, header: Array) -> None:
    header[0] = int64(data, p)
    header[1] = int32(data, p + 8)
    header[2] = int32(data, p + 12)
    header[3] = np.int64(data[p + 16])
    header[4] = int32(data, p + 17) & np.int64(0xFFFFFFFF)
    header[5] = np.int64(np.int16(np.uint16(data[p + 21]) << 8 | np.uint16(data[p + 22])))
    header[6] = int32(data, p + 23)
    header[7] = int64(data, p + 27)
    header[8] = int64(data, p + 35)
    header[9] = int64(data, p + 43)
    header[10] = np.int64(np.int16(np.uint16(data[p + 51]) << 8 | np.uint16(data[p + 52])))
    header[11] = int32(data, p + 53)
    header[12] = int32(data, p + 57)


@inlined
def _is_plain(header: Array, expected: Int, limits: RunLimits) -> bool:
    """Whether a header says nothing odd, and its offsets come where they should."""
    first, last_delta = header[0], header[6]
    if last_delta < 0 or header[12] <= 0:
        return False
    if header[5] & CONTROL != 0 or header[5] & CODEC_MASK > _LAST_CODEC:
        return False
    if first < expected or (first > expected and limits.may_have_holes == 0):
        return False
    return bool(first < limits.high and last_delta < limits.high - first)


@inlined
def _may_be_marker(header: Array, size_bytes: Int) -> bool:
    """As `record_batch.is_surely_data`, of a batch that is no marker by its header."""
    return bool(size_bytes <= MOST_MARKER_BYTES and header[9] >= 0 and header[11] <= 0)


@compiled
def scan_batches(data: Array, limits: RunLimits, headers: Array, checked: Array) -> Int:
    """Write the headers of the plain batches that data (n,) begins with; their number.

    headers (m, 13) is filled in the order of `BatchHeader`, for at most m batches. checked (m,) is
    whether the checksum is right or of no account; that of large ones is left to the caller.
    """
    p: Int = np.int64(0)
    stop = data.shape[0]
    expected = limits.low
    count = 0
    while count < headers.shape[0] and stop - p >= HEADER_BYTES:
        header = headers[count]
        _read_header(data, p, header)
        size_bytes = header[1] + LENGTH_STOP
        if header[3] != 2 or size_bytes < HEADER_BYTES or size_bytes > stop - p:
            break
        if count == 0 and header[0] > expected:
            expected = header[0]  # a hole before the run is seen by others
        if not _is_plain(header, expected, limits):
            break
        is_wanted = limits.verifies_all != 0 or _may_be_marker(header, size_bytes)
        is_small = size_bytes <= _MOST_TABLE_BYTES
        checked[count] = is_small or not is_wanted
        if (
            is_wanted
            and is_small
            and header[4] != np.int64(checksum(_TABLES, data, p + CHECKSUM_START, p + size_bytes))
        ):
            break
        expected = header[0] + header[6] + 1
        count += 1
        p += size_bytes
    return count
