"""Decodes many batches at once to flat arrays for Arrow, without a Python object per record."""

import numpy as np
from numpy.typing import NDArray

from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.formats.units import Unit, plain_bytes
from seglake.segment_codec.kernels.arrays import KeptArrays, unit_results
from seglake.segment_codec.kernels.batch_run import BatchRun, plain_records_of, plain_run_of
from seglake.segment_codec.kernels.flush import RECORD_BATCHES, Columns, Flush, decoded
from seglake.segment_codec.kernels.outcomes import (
    Outcome,
    PiecesOutcome,
    RunOutcome,
    UnitOutcome,
)

LOWEST_OFFSET = -(1 << 63)

_FIRST_BYTES = 1 << 20
_MOST_ROOM_BYTES = 256 << 20


class ColumnBuilder:
    """Collector of decompressed batches, which a flush decodes together.

    A flush must not mix magic 2 with older formats: call `accepts` before adding.

    Args:
        max_decompressed_batch_bytes: highest accepted size of a batch after decompression; a larger
            batch is a defect.
        full_bytes: number of bytes that are collected before a flush, for which memory is reserved;
            0 if unknown.
        reached_offset: first offset that may get a row. A record gets no row if an earlier record
            of any batch has the same or a higher offset; if this is None, only earlier records of
            its own batch count.
    """

    def __init__(
        self,
        max_decompressed_batch_bytes: int,
        full_bytes: int = 0,
        reached_offset: int | None = None,
    ) -> None:
        """Store the limits, and reserve memory for the first bytes."""
        self._max_bytes = max_decompressed_batch_bytes
        # Reserve a quarter more: the last run may exceed the limit, and unused memory costs
        # nothing.
        self._full_bytes = min(full_bytes + full_bytes // 4, _MOST_ROOM_BYTES)
        self._kept = KeptArrays()
        self._plain = self._kept.empty("plain", _FIRST_BYTES, np.uint8)
        self._room = self._plain.data
        self._units: list[Unit | BatchRun] = []
        self._starts: list[int] = []  # these lists have an element per batch
        self._stops: list[int] = []
        self._floors: list[int] = []
        self._ceilings: list[int] = []
        self._late: set[int] = set()  # which batches are out of order
        self._lows: list[int] = []
        self._passed_offset = LOWEST_OFFSET
        is_followed = reached_offset is not None
        low_offset = LOWEST_OFFSET if reached_offset is None else reached_offset
        self._reach = np.array([low_offset, 0, is_followed], np.int64)
        self.plain_bytes = 0

    def accepts(self, unit: Unit | BatchRun) -> bool:
        """Return whether a unit has the format of the units that await the next flush."""
        if not self._units:
            return True
        return isinstance(unit, RECORD_BATCHES) == isinstance(self._units[0], RECORD_BATCHES)

    def passed(self, next_offset: int) -> None:
        """Record that a batch was skipped: later records with offsets below its end get no rows."""
        self._passed_offset = max(self._passed_offset, next_offset)

    def add(
        self, unit: Unit, floor_offset: int, ceiling_offset: int, *, is_late: bool = False
    ) -> None:
        """Decompress and add a unit.

        Args:
            unit: the batch, wrapper or run of messages.
            floor_offset: records below this offset get no rows.
            ceiling_offset: records at or above this offset get no rows.
            is_late: whether the unit is out of order: it fills a hole between earlier batches. Only
                records within the header's range of offsets get rows.

        Raises:
            DefectError: the unit cannot be decompressed; the builder is unchanged.
        """
        start = self.plain_bytes
        self._append(plain_bytes(unit, self._max_bytes))
        if is_late and isinstance(unit, RecordBatch):
            self._late.add(len(self._starts))
            floor_offset = max(floor_offset, unit.first_offset)
            ceiling_offset = min(ceiling_offset, unit.last_offset + 1)
        self._units.append(unit)
        self._starts.append(start)
        self._stops.append(self.plain_bytes)
        self._floors.append(floor_offset)
        self._lows.append(self._passed_offset)
        self._ceilings.append(ceiling_offset)

    def add_run(
        self,
        run: BatchRun,
        floor_offset: int,
        ceiling_offset: int,
        most_plain_bytes: int,
        lows: NDArray[np.int64] | None = None,
    ) -> int:
        """Decompress and add the batches of a run, and return the number added.

        It stops when `most_plain_bytes` are collected, or at a batch that cannot be decompressed.

        Args:
            run: the run, with its bytes.
            floor_offset: records below this offset get no rows.
            ceiling_offset: records at or above this offset get no rows.
            most_plain_bytes: number of collected bytes at which to stop.
            lows: for each batch, the exclusive end of the batch before it; only if the run was cut
                from a longer run, else None.
        """
        before, start = len(self._stops), self.plain_bytes
        if run.is_compressed:
            for data in plain_records_of(run, self._max_bytes):
                self._append(data)
                self._stops.append(self.plain_bytes)
                if self.plain_bytes >= most_plain_bytes:
                    break
            self._starts += [start, *self._stops[before:]][:-1]
        else:
            plain = plain_run_of(run)
            self._starts += (self.plain_bytes + plain.starts).tolist()
            self._stops += (self.plain_bytes + plain.stops).tolist()
            self._append(plain.data)
        count = len(self._stops) - before
        if count:
            self._units.append(run.part(0, count).without_data())
            self._floors += [floor_offset] * count
            ends = np.full(count, LOWEST_OFFSET) if lows is None else lows[:count]
            self._lows += np.maximum(ends, self._passed_offset).tolist()
            self._ceilings += [ceiling_offset] * count
        return count

    def _append(self, data: bytes | memoryview) -> None:
        """Append uncompressed bytes to the collected bytes, and reserve memory if needed."""
        stop = self.plain_bytes + len(data)
        if stop > len(self._plain):
            before = self._plain[: self.plain_bytes]
            self._plain = self._kept.empty("plain", max(2 * stop, self._full_bytes), np.uint8)
            self._plain[: self.plain_bytes] = before
            self._room = self._plain.data
        self._room[self.plain_bytes : stop] = data
        self.plain_bytes = stop

    def flush(self) -> tuple[Columns, list[UnitOutcome | PiecesOutcome]]:
        """Decode all added units and clear the builder; return rows and an outcome per batch."""
        columns, outcomes = self.flush_runs()
        return columns, [
            of_batch
            for outcome in outcomes
            for of_batch in (
                outcome.of_batches() if isinstance(outcome, RunOutcome) else (outcome,)
            )
        ]

    def flush_runs(self) -> tuple[Columns, list[Outcome]]:
        """Decode all added units and clear the builder; return the rows, and an outcome per unit.

        A run has one outcome for all its batches. The next `add` overwrites the arrays, see
        `Columns`.
        """
        data = self._plain[: max(self.plain_bytes, 1)]
        data.flags.writeable = False
        flush = Flush(
            units=self._units,
            data=data,
            starts=np.array(self._starts, np.int64),
            stops=np.array(self._stops, np.int64),
            floors=np.array(self._floors, np.int64),
            ceilings=np.array(self._ceilings, np.int64),
            is_late=np.isin(np.arange(len(self._stops)), list(self._late)),
            lows=np.array(self._lows, np.int64),
            kept=self._kept,
            reach=self._reach,
            results=unit_results(len(self._stops)),
        )
        self._units = []
        self._starts, self._stops, self._floors, self._ceilings = [], [], [], []
        self.plain_bytes = 0
        self._late, self._lows = set(), []
        return decoded(flush)
