"""Batches and damage that wait until enough of a split can be decoded together."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seglake.kafka_log.transaction_markers import TransactionState
from seglake.log_tables.batch_rows import BATCH_STATES, BatchState
from seglake.log_tables.record_rows import STATES
from seglake.log_tables.run_rows import RunColumns
from seglake.segment_codec.formats.control_record import ControlType
from seglake.segment_codec.formats.defects import Defect
from seglake.segment_codec.formats.units import Unit
from seglake.segment_codec.kernels.batch_run import CONTROL_TYPES, BatchRun
from seglake.segment_codec.kernels.outcomes import RunOutcome

_DECODED = BATCH_STATES.index(BatchState.DECODED)
_ABORTED = BATCH_STATES.index(BatchState.ABORTED)
_OPEN = STATES.index(TransactionState.OPEN)


class PendingUnit(NamedTuple):
    """A sound batch waiting to be decoded.

    Attributes:
        segment_index: index of its segment in the split.
        is_late: it lies in a hole of the batches before it.
    """

    unit: Unit
    segment_index: int
    state: BatchState
    transaction_state: TransactionState
    control_type: ControlType | None
    is_late: bool = False

    @property
    def is_undecided(self) -> bool:
        """Return whether the batch is left out because its transaction has not ended."""
        is_open = self.transaction_state is TransactionState.OPEN
        return is_open and self.state is BatchState.ABORTED


class PendingDefect(NamedTuple):
    """Damage waiting for its turn; `segment_index` is the index of its segment in the split."""

    defect: Defect
    segment_index: int


class PendingRun(NamedTuple):
    """Batches that wait together; their states and transactions' states by index."""

    run: BatchRun
    segment_index: int
    states: NDArray[np.int8]
    transaction_states: NDArray[np.int8]

    @property
    def decoded_places(self) -> NDArray[np.int64]:
        """Return the indexes of the batches to decode."""
        return np.flatnonzero(self.states == _DECODED)

    @property
    def has_undecided(self) -> bool:
        """Return whether a batch is left out because its transaction has not ended."""
        is_undecided = (self.states == _ABORTED) & (self.transaction_states == _OPEN)
        return bool(is_undecided.any())

    def part(self, start: int, stop: int) -> "PendingRun":
        """Return the batches [start, stop); at least one."""
        if (start, stop) == (0, len(self.run)):
            return self
        return PendingRun(
            self.run.part(start, stop),
            self.segment_index,
            self.states[start:stop],
            self.transaction_states[start:stop],
        )

    def without_data(self) -> "PendingRun":
        """Return the run without the records of its batches."""
        return self._replace(run=self.run.without_data())

    def columns(self, places: NDArray[np.int64], outcome: RunOutcome | None) -> RunColumns:
        """Return the columns that decoding adds to the batches at `places`."""
        row_counts, plain_bytes = np.zeros((2, len(self.run)), np.int64)
        if outcome is not None:
            row_counts[places], plain_bytes[places] = outcome.row_counts, outcome.plain_bytes
        return RunColumns(self.states, self.transaction_states, row_counts, plain_bytes)

    def units(self) -> Iterator[PendingUnit]:
        """Yield the run batch by batch."""
        of_each = zip(self.states.tolist(), self.transaction_states.tolist(), strict=True)
        for index, (state, transaction_state) in enumerate(of_each):
            yield PendingUnit(
                unit=self.run.batch(index),
                segment_index=self.segment_index,
                state=BATCH_STATES[state],
                transaction_state=STATES[transaction_state],
                control_type=CONTROL_TYPES[self.run.kinds[index]],
            )
