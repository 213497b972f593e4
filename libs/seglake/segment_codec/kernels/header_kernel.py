"""Compiled walk over batches of magic 2: headers to an array, as long as nothing is odd.

It judges nothing. It stops at a batch that is not plainly sound, and the exact walk judges that.
"""

from typing import NamedTuple

import numpy as np

from seglake.segment_codec.formats.checksum import CASTAGNOLI, slicing_tables
from seglake.segment_codec.formats.codec import Codec
from seglake.segment_codec.formats.record_batch import (
    CHECKSUM_START,
    CODEC_MASK,
    CONTROL,
    HEADER_BYTES,
    LENGTH_STOP,
    MOST_MARKER_BYTES,
    TRANSACTIONAL,
)
from seglake.segment_codec.kernels.batch_run import BatchKind
from seglake.segment_codec.kernels.parts import (
    Array,
    Int,
    checksum,
    compiled,
    inlined,
    int32,
    int64,
)

_LAST_CODEC = int(max(Codec))
_DATA, _EMPTY = int(BatchKind.DATA), int(BatchKind.EMPTY)
_ABORT, _COMMIT = int(BatchKind.ABORT), int(BatchKind.COMMIT)
_ODD = -1
_MOST_TABLE_BYTES = 1024  # for more bytes, the library is faster in spite of the call
_TABLES = slicing_tables(CASTAGNOLI)

# Bytes of a marker's record: lengths of the record, key and value, and zeros; -1 is any byte.
_MARKER = np.array(
    [0x20, 0, 0, 0, 8, 0, 0, 0, -1, 12, -1, -1, -1, -1, -1, -1, 0],
    np.int64,
)
_MARKER_TYPE_PLACE = 8
_MARKER_BYTES = HEADER_BYTES + len(_MARKER)


class RunLimits(NamedTuple):
    """Limits of a run.

    Attributes:
        low: lowest offset of the run.
        high: offset from which on batches do not belong to the run.
        may_have_holes: 1 if offsets may be missing between batches, else 0.
        verifies_all: 1 to verify all checksums. If 0, only those of batches that may be damaged
            markers are verified, and of the others only the headers must be in memory.
        size_bytes: end of the last batch, at most, from the first byte of data.
    """

    low: Int
    high: Int
    may_have_holes: Int
    verifies_all: Int
    size_bytes: Int


@inlined
def _read_header(data: Array, p: Int, header: Array) -> None:
    """Write the fields of the header at p to an array, in the order of `BatchHeader`."""
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
def _kind_of(data: Array, p: Int, header: Array, size_bytes: Int) -> Int:
    """Return the kind of a batch, or _ODD; a control batch's kind is in its record."""
    attributes, record_count = header[5], header[12]
    if header[6] < 0 or attributes & CODEC_MASK > _LAST_CODEC:
        return _ODD
    if record_count > header[6] + 1:
        return _ODD  # its records reach above the offsets that it claims
    if attributes & CONTROL != 0:
        return _marker_kind(data, p, header, size_bytes)
    if record_count > 0:
        return _DATA
    return _EMPTY if record_count == 0 and size_bytes == HEADER_BYTES else _ODD


@inlined
def _marker_kind(data: Array, p: Int, header: Array, size_bytes: Int) -> Int:
    """Return the kind of a marker in its usual form, or _ODD."""
    is_usual = size_bytes == _MARKER_BYTES and header[12] == 1 and header[6] == 0
    if not is_usual or header[5] & (TRANSACTIONAL | CODEC_MASK) != TRANSACTIONAL:
        return _ODD
    for place in range(_MARKER_BYTES - HEADER_BYTES):
        expected_byte = _MARKER[place]
        if expected_byte >= 0 and np.int64(data[p + HEADER_BYTES + place]) != expected_byte:
            return _ODD
    kind = np.int64(data[p + HEADER_BYTES + _MARKER_TYPE_PLACE])
    if kind > 1:
        return _ODD
    return _COMMIT if kind == 1 else _ABORT


@inlined
def _is_in_place(header: Array, expected: Int, limits: RunLimits) -> bool:
    """Return whether a batch's offsets continue the run, within its limits."""
    first = header[0]
    if first < expected or (first > expected and limits.may_have_holes == 0):
        return False
    return bool(first < limits.high and header[6] < limits.high - first)


@inlined
def _may_be_marker(header: Array, size_bytes: Int) -> bool:
    """Return whether a data batch may be a damaged marker; see `record_batch.is_surely_data`."""
    return bool(size_bytes <= MOST_MARKER_BYTES and header[9] >= 0 and header[11] <= 0)


@inlined
def _needs_all(size_bytes: Int, limits: RunLimits) -> bool:
    """Return whether all bytes of a batch must be in memory, to be verified or as a marker."""
    return bool(limits.verifies_all != 0 or size_bytes <= MOST_MARKER_BYTES)


@compiled
def scan_batches(
    data: Array, limits: RunLimits, headers: Array, kinds: Array, checked: Array
) -> Int:
    """Write the headers of the plain batches at the start of data (n,), and return their number.

    The last batch may end after data if only its header is needed, see `RunLimits`.

    headers (m, 13) is filled in the order of `BatchHeader`, for at most m batches, kinds (m,) with
    `BatchKind`. checked (m,) is True if the checksum is right or need not be verified; the caller
    verifies those of large batches.
    """
    p: Int = np.int64(0)
    stop = data.shape[0]
    expected = limits.low
    count = 0
    while count < headers.shape[0] and stop - p >= HEADER_BYTES:
        header = headers[count]
        _read_header(data, p, header)
        size_bytes = header[1] + LENGTH_STOP
        if header[3] != 2 or size_bytes < HEADER_BYTES or size_bytes > limits.size_bytes - p:
            break
        if size_bytes > stop - p and _needs_all(size_bytes, limits):
            break
        if count == 0 and header[0] > expected:
            expected = header[0]  # a hole before the run is the caller's to report
        kind = _kind_of(data, p, header, size_bytes)
        if kind == _ODD or not _is_in_place(header, expected, limits):
            break
        kinds[count] = kind
        is_verified = limits.verifies_all != 0 or _may_be_marker(header, size_bytes)
        is_verified = is_verified or kind >= _ABORT
        is_small = size_bytes <= _MOST_TABLE_BYTES
        checked[count] = is_small or not is_verified
        if (
            is_verified
            and is_small
            and header[4] != np.int64(checksum(_TABLES, data, p + CHECKSUM_START, p + size_bytes))
        ):
            break
        expected = header[0] + header[6] + 1
        count += 1
        p += size_bytes
    return count
