"""Compiled loop that reads headers of consecutive plain batches of magic 2 into an array.

Plain are valid data batches, and markers in their usual form. The loop stops at any other batch and
reports no defect: `SegmentWalk` judges that batch.
"""

from typing import NamedTuple

import numpy as np

from seglake.compiled_loops import Array, Int, compiled, inlined
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
from seglake.segment_codec.kernels.parts import checksum, int32, int64

_LAST_CODEC = int(max(Codec))
_DATA, _EMPTY = int(BatchKind.DATA), int(BatchKind.EMPTY)
_ABORT, _COMMIT = int(BatchKind.ABORT), int(BatchKind.COMMIT)
_ODD = -1
_MOST_TABLE_BYTES = 1024  # above this size, the library's CRC is faster than the kernel's
_TABLES = slicing_tables(CASTAGNOLI)

# Bytes of a marker's record: lengths of record, key and value, and zeros; -1 is any byte.
_MARKER = np.array(
    [0x20, 0, 0, 0, 8, 0, 0, 0, -1, 12, -1, -1, -1, -1, -1, -1, 0],
    np.int64,
)
_MARKER_TYPE_PLACE = 8
_MARKER_BYTES = HEADER_BYTES + len(_MARKER)


class RunLimits(NamedTuple):
    """Limits within which batches may belong to a run.

    Attributes:
        low: lowest offset of the run.
        high: exclusive upper limit of the run's offsets.
        may_have_holes: 1 if offsets may be missing between batches, else 0.
        verifies_all: 1 verifies all checksums; 0 only those of batches that may be damaged markers,
            and needs only the headers of other batches in memory.
        size_bytes: upper limit for the end of the last batch, relative to the first byte of data.
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
    """Return the `BatchKind` of the batch at p; _ODD if the batch is not plain."""
    attributes, record_count = header[5], header[12]
    if header[6] < 0 or attributes & CODEC_MASK > _LAST_CODEC:
        return _ODD
    if record_count > header[6] + 1:
        return _ODD  # the header states more records than offsets
    if attributes & CONTROL != 0:
        return _marker_kind(data, p, header, size_bytes)
    if record_count > 0:
        return _DATA
    return _EMPTY if record_count == 0 and size_bytes == HEADER_BYTES else _ODD


@inlined
def _marker_kind(data: Array, p: Int, header: Array, size_bytes: Int) -> Int:
    """Return the kind of a control batch; _ODD unless it is a marker in its usual form."""
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
    """Return whether a batch's offsets continue the run and are within its limits."""
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
    """Return whether all bytes of a batch must be in memory."""
    return bool(limits.verifies_all != 0 or size_bytes <= MOST_MARKER_BYTES)


@compiled
def scan_batches(
    data: Array, limits: RunLimits, headers: Array, kinds: Array, checked: Array
) -> Int:
    """Read the headers of the plain batches at the start of data (n,), and return their number.

    If only headers are needed, the last batch may end after data, see `RunLimits`.

    Three arrays are written, for at most m batches: headers (m, 13) in the order of `BatchHeader`,
    kinds (m,) with `BatchKind`, and checked (m,), which is False if the caller must verify the
    checksum of a large batch.
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
            expected = header[0]  # a hole before the first batch is reported by the caller
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
