"""What decoding says of batches and of runs of them. Values."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seglake.segment_codec._kernel_faults import FAULTS
from seglake.segment_codec.batch_run import BatchRun
from seglake.segment_codec.errors import DefectCode
from seglake.segment_codec.offset_order import Unit
from seglake.segment_codec.segment_items import Defect


class UnitOutcome(NamedTuple):
    """The result of one unit; its rows are [row_stop of the previous one, row_stop)."""

    unit: Unit
    row_stop: int
    fault: tuple[DefectCode, str] | None
    first_offset: int
    record_count: int
    plain_bytes: int


class RunOutcome(NamedTuple):
    """The results of a run's batches; statuses are those of the kernels."""

    run: BatchRun
    first_row: int
    row_stops: NDArray[np.int64]
    statuses: NDArray[np.int32]
    plain_bytes: NDArray[np.int64]

    @property
    def is_sound(self) -> bool:
        """Whether no batch is damaged inside."""
        return not self.statuses.any()

    @property
    def row_counts(self) -> NDArray[np.int64]:
        """The rows of each batch."""
        return np.diff(self.row_stops, prepend=self.first_row)

    def of_batches(self) -> Iterator[UnitOutcome]:
        """The same, batch by batch."""
        for index in range(len(self.run)):
            batch = self.run.batch(index)
            yield UnitOutcome(
                unit=batch,
                row_stop=int(self.row_stops[index]),
                fault=FAULTS.get(int(self.statuses[index])),
                first_offset=batch.first_offset,
                record_count=batch.header.record_count,
                plain_bytes=int(self.plain_bytes[index]),
            )


class PiecesOutcome(NamedTuple):
    """The results of a wrapper that is damaged inside: of its parts, and the defects between."""

    unit: Unit
    pieces: tuple[UnitOutcome | Defect, ...]


Outcome = UnitOutcome | RunOutcome | PiecesOutcome
