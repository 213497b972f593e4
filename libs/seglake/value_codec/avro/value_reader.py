"""Reads the values of one Avro writer's schema into columns."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.value_codec.avro.column_arrays import ArrayMaker, empty_columns
from seglake.value_codec.avro.column_tree import MOST_DIGITS, columns_of
from seglake.value_codec.avro.programs import program_of
from seglake.value_codec.avro.schema_types import AvroType
from seglake.value_codec.decoded import MOST_BYTES, ArrowArray, Decoded, TooManyItemsError
from seglake.value_codec.kernels import operations as op
from seglake.value_codec.reject_reasons import RejectReason

_HALF = 1 << 64
_WORDS_AT_ONCE = 1 << 20  # most entries in a call of the kernel, without items of lists


_REASONS: Mapping[int, RejectReason] = {
    op.SHORT: RejectReason.SHORT,
    op.TRAILING_BYTES: RejectReason.TRAILING_BYTES,
    op.BAD_VARINT: RejectReason.BAD_VARINT,
    op.BAD_BOOLEAN: RejectReason.BAD_BOOLEAN,
    op.BAD_UTF8: RejectReason.BAD_UTF8,
    op.BAD_ENUM: RejectReason.BAD_ENUM,
    op.BAD_UNION_BRANCH: RejectReason.BAD_UNION_BRANCH,
    op.DEPTH: RejectReason.DEPTH,
    op.TOO_LARGE: RejectReason.TOO_LARGE,
    op.DECIMAL_OVERFLOW: RejectReason.DECIMAL_OVERFLOW,
    op.TIMESTAMP_RANGE: RejectReason.TIMESTAMP_RANGE,
}


class AvroReader:
    """Reader of the Avro values that one schema wrote."""

    def __init__(self, schema: AvroType, *, is_raw_bytes: bool) -> None:
        """Make the program of a schema.

        Args:
            schema: the writer's schema.
            is_raw_bytes: a value of a schema that is just `bytes` has no length before the bytes,
                as Confluent's serializers write it.
        """
        self._columns = columns_of(schema)
        self._program = program_of(self._columns, is_raw_bytes=is_raw_bytes)
        self._stack = np.zeros(op.DEEPEST, np.int64)

    @property
    def type(self) -> pa.DataType:
        """Return the Arrow type of the values: see `column_tree`."""
        return self._columns.top.arrow

    def read(
        self, data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> Decoded:
        """Decode bodies, as `ColumnReader` says.

        Args:
            data: bytes of all bodies; the texts of a column may have 2 GiB.
            starts: index of each body's first byte.
            ends: index after each body's last byte.
        """
        at_once = max(_WORDS_AT_ONCE // (len(self._columns.slots) + 1), 64)
        parts, reasons, positions = [], [_NO_REASONS], [_NO_POSITIONS]
        size = 0
        for first in range(0, len(starts), at_once) or [0]:
            some = slice(first, first + at_once)
            values, outcomes, places = self._part(data, starts[some], ends[some])
            size += values.nbytes
            if size > MOST_BYTES and len(starts) > 1:
                raise TooManyItemsError
            parts.append(values)
            reasons.append(_CODES[outcomes])
            positions.append(np.where(outcomes == op.OK, 0, places - starts[some]))
        whole = parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
        return Decoded(whole, np.concatenate(reasons), np.concatenate(positions))

    def _part(
        self, data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> tuple[ArrowArray, NDArray[np.int64], NDArray[np.int64]]:
        """Return values, outcomes, and the index of the byte that decides each outcome."""
        from seglake.value_codec.kernels.fill_kernel import copy_ranges, fill_columns

        content, starts, ends = _in_one_form(data, starts, ends)
        outcomes, places, totals = self._checked(content, starts, ends)
        if self._columns.bytes_of(totals) > MOST_BYTES:
            if len(starts) > 1:
                raise TooManyItemsError
            if outcomes[0] == op.OK:
                outcomes[0], places[0] = op.TOO_LARGE, starts[0]
            totals[1:] = 0
        stored = empty_columns(self._columns, totals)
        counts = np.zeros(self._columns.levels, np.int64)
        columns = self._program, content, starts, ends, outcomes, self._stack, stored
        fill_columns(*columns, counts)
        counts[0] = len(starts)
        is_sound = None if not outcomes.any() else (outcomes == op.OK).view(np.uint8)
        maker = ArrayMaker(stored, counts, content, copy_ranges)
        return maker.array(self._columns.top, is_sound), outcomes, places

    def _checked(
        self, data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Check bodies: return outcomes, deciding indexes, and numbers of entries by level."""
        from seglake.value_codec.kernels.value_kernel import check_values  # imports numba, 0.2 s

        outcomes, places = verdicts = np.empty((2, len(starts)), np.int64)
        totals = np.zeros(self._columns.levels, np.int64)
        bounds = self._program, data, starts, ends
        check_values(*bounds, _POWERS, self._stack, verdicts, totals)
        totals[0] = len(starts)
        return outcomes, places, totals


def _in_one_form(
    data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """Return arrays of one type and layout, so that the kernels are compiled only once."""
    content = np.ascontiguousarray(data).view()
    content.flags.writeable = False
    return content, np.array(starts, np.int64), np.array(ends, np.int64)


def _powers() -> NDArray[np.uint64]:
    """Return the powers of ten that limit decimals, each as two halves of 64 bits."""
    powers = [10**digits for digits in range(MOST_DIGITS + 1)]
    return np.array([(power // _HALF, power % _HALF) for power in powers], np.uint64)


_POWERS = _powers()
_CODES = np.array([0, *(_REASONS[outcome].code for outcome in sorted(_REASONS))], np.uint8)
_NO_REASONS, _NO_POSITIONS = np.zeros(0, np.uint8), np.zeros(0, np.int64)
