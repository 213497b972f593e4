"""Decodes batches to flat arrays, ready for Arrow, without a Python object per record.

Decompressed batches are collected until enough of them can be decoded together.
"""

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
    """Collector of decompressed batches, which are decoded together.

    A flush never mixes magic 2 with older formats: call `accepts` first.

    Args:
        max_decompressed_batch_bytes: most plain bytes of a batch; a larger batch is a defect.
        full_bytes: bytes that are collected before a flush, 0 if unknown. After the first few, the
            builder makes room for all.
        reached_offset: lowest offset of the first records. Each later record is above the records
            before it, or gives no row. If None, that holds only within each batch.
    """

    def __init__(
        self,
        max_decompressed_batch_bytes: int,
        full_bytes: int = 0,
        reached_offset: int | None = None,
    ) -> None:
        """Store the limits and make room for the first bytes."""
        self._max_bytes = max_decompressed_batch_bytes
        # A quarter more: the last run exceeds it. Unused memory costs nothing.
        self._full_bytes = min(full_bytes + full_bytes // 4, _MOST_ROOM_BYTES)
        self._kept = KeptArrays()
        self._plain = self._kept.empty("plain", _FIRST_BYTES, np.uint8)
        self._room = self._plain.data
        self._units: list[Unit | BatchRun] = []
        self._starts: list[int] = []  # these lists have one element per batch
        self._stops: list[int] = []
        self._floors: list[int] = []
        self._ceilings: list[int] = []
        self._late: set[int] = set()  # indexes of late batches
        self._lows: list[int] = []
        self._passed_offset = LOWEST_OFFSET
        is_followed = reached_offset is not None
        low_offset = LOWEST_OFFSET if reached_offset is None else reached_offset
        self._reach = np.array([low_offset, 0, is_followed], np.int64)
        self.plain_bytes = 0

    def accepts(self, unit: Unit | BatchRun) -> bool:
        """Return whether the unit has the format of those added since the last flush."""
        if not self._units:
            return True
        return isinstance(unit, RECORD_BATCHES) == isinstance(self._units[0], RECORD_BATCHES)

    def passed(self, next_offset: int) -> None:
        """Skip records below the end of a batch that is not added, in all batches added later."""
        self._passed_offset = max(self._passed_offset, next_offset)

    def add(
        self, unit: Unit, floor_offset: int, ceiling_offset: int, *, is_late: bool = False
    ) -> None:
        """Decompress and add a unit.

        Args:
            unit: the batch, wrapper or run of messages.
            floor_offset: records below it give no rows.
            ceiling_offset: records from it on give no rows.
            is_late: the unit lies in a hole of the batches before it, so only offsets of its header
                give rows.

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
        """Decompress and add the batches of a run, and return how many were added.

        It stops early once `most_plain_bytes` are collected, and before a batch that cannot be
        decompressed.

        Args:
            run: the run, with its bytes.
            floor_offset: records below it give no rows.
            ceiling_offset: records from it on give no rows.
            most_plain_bytes: plain bytes in the builder at which to stop.
            lows: for each batch, the end of the batch before it, if other batches lie between them.
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
        """Copy plain bytes to the end of the collected ones, and make room if needed."""
        stop = self.plain_bytes + len(data)
        if stop > len(self._plain):
            before = self._plain[: self.plain_bytes]
            self._plain = self._kept.empty("plain", max(2 * stop, self._full_bytes), np.uint8)
            self._plain[: self.plain_bytes] = before
            self._room = self._plain.data
        self._room[self.plain_bytes : stop] = data
        self.plain_bytes = stop

    def flush(self) -> tuple[Columns, list[UnitOutcome | PiecesOutcome]]:
        """Decode all added units and empty the builder; return rows and an outcome per batch."""
        columns, outcomes = self.flush_runs()
        return columns, [
            of_batch
            for outcome in outcomes
            for of_batch in (
                outcome.of_batches() if isinstance(outcome, RunOutcome) else (outcome,)
            )
        ]

    def flush_runs(self) -> tuple[Columns, list[Outcome]]:
        """Decode all added units and empty the builder; return the rows and an outcome per unit.

        The outcome of a run covers all its batches. The arrays are borrowed, see `Columns`.
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
