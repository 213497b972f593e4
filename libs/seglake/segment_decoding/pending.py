"""Batches and damage that are queued to be decoded together."""

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
    """Valid batch that is queued for decoding with others.

    Attributes:
        segment_index: index of the batch's segment in the split.
        is_late: whether the batch is out of order: its offsets are missing between earlier batches.
    """

    unit: Unit
    segment_index: int
    state: BatchState
    transaction_state: TransactionState
    control_type: ControlType | None
    is_late: bool = False

    @property
    def is_undecided(self) -> bool:
        """Return whether the batch gets no rows because its transaction has not ended."""
        is_open = self.transaction_state is TransactionState.OPEN
        return is_open and self.state is BatchState.ABORTED


class PendingDefect(NamedTuple):
    """Damage queued among batches; `segment_index` is its segment's index in the split."""

    defect: Defect
    segment_index: int


class PendingRun(NamedTuple):
    """Consecutive batches queued for decoding; transaction states are indexes into `STATES`."""

    run: BatchRun
    segment_index: int
    states: NDArray[np.int8]
    transaction_states: NDArray[np.int8]

    @property
    def decoded_places(self) -> NDArray[np.int64]:
        """Return the indexes of those batches that are decoded."""
        return np.flatnonzero(self.states == _DECODED)

    @property
    def has_undecided(self) -> bool:
        """Return whether any batch gets no rows because its transaction has not ended."""
        is_undecided = (self.states == _ABORTED) & (self.transaction_states == _OPEN)
        return bool(is_undecided.any())

    def part(self, start: int, stop: int) -> "PendingRun":
        """Return the batches with indexes [start, stop), which must not be empty."""
        if (start, stop) == (0, len(self.run)):
            return self
        return PendingRun(
            self.run.part(start, stop),
            self.segment_index,
            self.states[start:stop],
            self.transaction_states[start:stop],
        )

    def without_data(self) -> "PendingRun":
        """Return the run without its records' bytes, so that they can be freed."""
        return self._replace(run=self.run.without_data())

    def columns(self, places: NDArray[np.int64], outcome: RunOutcome | None) -> RunColumns:
        """Return the columns of all batches; those at `places` were decoded."""
        row_counts, plain_bytes = np.zeros((2, len(self.run)), np.int64)
        if outcome is not None:
            row_counts[places], plain_bytes[places] = outcome.row_counts, outcome.plain_bytes
        return RunColumns(self.states, self.transaction_states, row_counts, plain_bytes)

    def units(self) -> Iterator[PendingUnit]:
        """Yield each batch of the run as a value of its own."""
        of_each = zip(self.states.tolist(), self.transaction_states.tolist(), strict=True)
        for index, (state, transaction_state) in enumerate(of_each):
            yield PendingUnit(
                unit=self.run.batch(index),
                segment_index=self.segment_index,
                state=BATCH_STATES[state],
                transaction_state=STATES[transaction_state],
                control_type=CONTROL_TYPES[self.run.kinds[index]],
            )
