"""Batches to flat arrays, ready for Arrow without a Python object per record.

They are collected here, decompressed, until enough of them can be decoded together.
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
    """Collects decompressed batches and decodes them together.

    A flush never mixes magic 2 with older formats: call `accepts` first.

    Args:
        max_decompressed_batch_bytes: a batch that is larger is a defect.
        full_bytes: how much is collected before a flush, where that is known. With more than a
            little of it, room for all is made.
        reached_offset: where the first records may begin. Each later one lies above those before
            it, or gives no row. None: that holds only within each batch.
    """

    def __init__(
        self,
        max_decompressed_batch_bytes: int,
        full_bytes: int = 0,
        reached_offset: int | None = None,
    ) -> None:
        self._max_bytes = max_decompressed_batch_bytes
        # The last run goes beyond it. What is not filled costs nothing, but must be had.
        self._full_bytes = min(full_bytes + full_bytes // 4, _MOST_ROOM_BYTES)
        self._kept = KeptArrays()
        self._plain = self._kept.empty("plain", _FIRST_BYTES, np.uint8)
        self._room = self._plain.data
        self._units: list[Unit | BatchRun] = []
        self._starts: list[int] = []  # of each batch, from here on
        self._stops: list[int] = []
        self._floors: list[int] = []
        self._ceilings: list[int] = []
        self._late: set[int] = set()  # places of batches
        self._lows: list[int] = []
        self._passed_offset = LOWEST_OFFSET
        is_followed = reached_offset is not None
        low_offset = LOWEST_OFFSET if reached_offset is None else reached_offset
        self._reach = np.array([low_offset, 0, is_followed], np.int64)
        self.plain_bytes = 0

    def accepts(self, unit: Unit | BatchRun) -> bool:
        """Whether the unit has the format of those added since the last flush."""
        if not self._units:
            return True
        return isinstance(unit, RECORD_BATCHES) == isinstance(self._units[0], RECORD_BATCHES)

    def passed(self, next_offset: int) -> None:
        """Let no record of the batches that follow lie below the end of one that is not added."""
        self._passed_offset = max(self._passed_offset, next_offset)

    def add(
        self, unit: Unit, floor_offset: int, ceiling_offset: int, *, is_late: bool = False
    ) -> None:
        """Decompress the unit; only rows in [floor_offset, ceiling_offset) will be written.

        Args:
            is_late: it lies in a hole of the batches before it, so no row is beside its header.

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
        """Decompress the batches of a run, and return how many were added.

        They are fewer than all where `most_plain_bytes` wait, and in front of a batch that cannot
        be decompressed.

        Args:
            lows: where the batch before each of them ends, if others lie between them.
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
        stop = self.plain_bytes + len(data)
        if stop > len(self._plain):
            before = self._plain[: self.plain_bytes]
            self._plain = self._kept.empty("plain", max(2 * stop, self._full_bytes), np.uint8)
            self._plain[: self.plain_bytes] = before
            self._room = self._plain.data
        self._room[self.plain_bytes : stop] = data
        self.plain_bytes = stop

    def flush(self) -> tuple[Columns, list[UnitOutcome | PiecesOutcome]]:
        """As `flush_runs`, with one outcome per batch."""
        columns, outcomes = self.flush_runs()
        return columns, [
            of_batch
            for outcome in outcomes
            for of_batch in (
                outcome.of_batches() if isinstance(outcome, RunOutcome) else (outcome,)
            )
        ]

    def flush_runs(self) -> tuple[Columns, list[Outcome]]:
        """Decode what was added and empty the builder; return an outcome per unit or run."""
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
