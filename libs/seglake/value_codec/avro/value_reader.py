"""Reads the values of one Avro writer's schema into columns."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.value_codec.avro.column_arrays import ArrayMaker, StoredColumns, empty_columns
from seglake.value_codec.avro.column_tree import MOST_DIGITS, columns_of
from seglake.value_codec.avro.programs import Program, program_of
from seglake.value_codec.avro.schema_types import AvroType
from seglake.value_codec.bodies import Bodies
from seglake.value_codec.decoded import MOST_BYTES, ArrowArray, Decoded, TooManyItemsError
from seglake.value_codec.kernels import operations as op
from seglake.value_codec.kernels.arguments import in_one_form
from seglake.value_codec.reject_reasons import RejectReason

_Pair = tuple[NDArray[np.int64], NDArray[np.int64]]
_HALF = 1 << 64
_MOST_ITEMS = (1 << 63) - 1
_WORDS_AT_ONCE = 1 << 20  # most entries in a call of the kernel, without items of lists


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

    def read(self, bodies: Bodies) -> Decoded:
        """Decode bodies, as `ColumnReader` says; the texts of a column may have 2 GiB."""
        data, starts, ends = in_one_form(bodies)
        outcomes, places = np.zeros(len(starts), np.int64), starts.copy()
        most = max(_WORDS_AT_ONCE // (len(self._columns.slots) + 1), 64)
        at_once = min(most, len(starts))
        room = np.full(self._columns.levels, at_once)
        parts: list[ArrowArray] = []
        first = size = 0
        while first < len(starts) or not parts:
            if not parts or len(parts[-1]) < at_once:  # more items than there was room for
                room[1:] = np.minimum(2 * room[1:] + 64, 2 * most)
                stored = empty_columns(self._columns, room)
            some = slice(first, first + at_once)
            verdicts = outcomes[some], places[some]
            parts.append(self._part(Bodies(data, starts[some], ends[some]), verdicts, stored))
            stored.clear()
            first += len(parts[-1])
            size += parts[-1].nbytes
            if size > MOST_BYTES and len(starts) > 1:
                raise TooManyItemsError
        whole = parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
        reasons, positions = np.zeros(len(starts), np.uint8), np.zeros(len(starts), np.int64)
        bad = np.flatnonzero(outcomes)
        reasons[bad], positions[bad] = _CODES[outcomes[bad]], places[bad] - starts[bad]
        return Decoded(whole, reasons, positions)

    def _part(self, bodies: Bodies, verdicts: _Pair, stored: StoredColumns) -> ArrowArray:
        """Return the values of the first bodies, as many as there is room for, but at least one."""
        count = self._run(self._program, bodies, verdicts, stored)
        if not count and len(bodies.starts):
            return self._alone(bodies, verdicts)
        return self._array(bodies.data, verdicts[0][:count], stored)

    def _alone(self, bodies: Bodies, verdicts: _Pair) -> ArrowArray:
        """Return the value of the first body, whose lists need more room than others."""
        first = bodies.of(np.zeros(1, np.int64))
        outcomes, places = verdicts
        nothing = self._columns._replace(slots=[], flags=[])
        counted = empty_columns(nothing, np.full(nothing.levels, _MOST_ITEMS))
        self._run(self._program.without_places(), first, verdicts, counted)
        room = counted.kept
        room[0] = 1
        if outcomes[0] == op.OK and self._columns.bytes_of(room) > MOST_BYTES:
            outcomes[0], places[0] = op.TOO_LARGE, first.starts[0]
        stored = empty_columns(self._columns, room if outcomes[0] == op.OK else room.clip(max=1))
        if outcomes[0] == op.OK:
            self._run(self._program, first, verdicts, stored)
        return self._array(bodies.data, outcomes[:1], stored)

    def _array(
        self, data: NDArray[np.uint8], outcomes: NDArray[np.int64], stored: StoredColumns
    ) -> ArrowArray:
        """Return the stored values; those of faulty bodies are null."""
        from seglake.value_codec.kernels.entries import copy_ranges

        stored.entries[0] = len(outcomes)
        is_sound = None if not outcomes.any() else (outcomes == op.OK).view(np.uint8)
        return ArrayMaker(stored, data, copy_ranges).array(self._columns.top, is_sound)

    def _run(self, program: Program, bodies: Bodies, verdicts: _Pair, stored: StoredColumns) -> int:
        """Store the entries and verdicts of bodies; return for how many there was room."""
        from seglake.value_codec.kernels.value_kernel import read_values  # imports numba, 0.2 s

        run = op.Run(*program, bodies.data, _POWERS, self._stack, stored)
        count: int = read_values(run, bodies.starts, bodies.ends, *verdicts)
        return count


def _powers() -> NDArray[np.uint64]:
    """Return the powers of ten that limit decimals, each as two halves of 64 bits."""
    powers = [10**digits for digits in range(MOST_DIGITS + 1)]
    return np.array([(power // _HALF, power % _HALF) for power in powers], np.uint64)


_POWERS = _powers()
# An outcome of the kernel has the name of its reason.
_REASONS = {getattr(op, each.name): each for each in RejectReason if hasattr(op, each.name)}
_CODES = np.array([0, *(_REASONS[outcome].code for outcome in sorted(_REASONS))], np.uint8)
