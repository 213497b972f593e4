"""What waits in a split until enough of it can be decoded together. Values."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seglake.log_tables.batch_rows import BatchState
from seglake.log_tables.record_rows import STATES
from seglake.segment_codec.batch_run import BatchRun
from seglake.segment_codec.control_record import ControlType
from seglake.segment_codec.offset_order import Unit
from seglake.segment_codec.segment import Defect
from seglake.segment_codec.transactions import TransactionState


class PendingUnit(NamedTuple):
    """A sound batch waiting for its turn; `segment_index` is where it lies."""

    unit: Unit
    segment_index: int
    state: BatchState
    transaction_state: TransactionState
    control_type: ControlType | None


class PendingDefect(NamedTuple):
    """Damage waiting for its turn."""

    defect: Defect
    segment_index: int


class PendingRun(NamedTuple):
    """Batches that are decoded together; their transactions' states by index."""

    run: BatchRun
    segment_index: int
    states: NDArray[np.int8]

    @property
    def last(self) -> "PendingRun":
        """The last batch alone."""
        return self.part(len(self.run) - 1, len(self.run))

    def part(self, start: int, stop: int) -> "PendingRun":
        """The batches [start, stop); at least one."""
        if (start, stop) == (0, len(self.run)):
            return self
        return PendingRun(self.run.part(start, stop), self.segment_index, self.states[start:stop])

    def units(self) -> Iterator[PendingUnit]:
        """The same, batch by batch."""
        for index, state in enumerate(self.states.tolist()):
            yield PendingUnit(
                unit=self.run.batch(index),
                segment_index=self.segment_index,
                state=BatchState.DECODED,
                transaction_state=STATES[state],
                control_type=None,
            )
