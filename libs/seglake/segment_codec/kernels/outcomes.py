"""What decoding says of batches and of runs of them. Values."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seglake.segment_codec.formats.defects import Defect
from seglake.segment_codec.formats.errors import DefectCode, Fault
from seglake.segment_codec.formats.units import Unit
from seglake.segment_codec.kernels.arrays import UnitResults
from seglake.segment_codec.kernels.batch_run import BatchRun
from seglake.segment_codec.kernels.faults import FAULTS

REPEATED: Fault = DefectCode.OFFSET_OUT_OF_ORDER, "its offsets were read before"


class UnitOutcome(NamedTuple):
    """The result of one unit; its rows are [row_stop of the previous one, row_stop).

    Attributes:
        is_kept: it has rows, also where it has a fault: of a count that is not that of the records.
        next_offset: where its records or its header end, whichever is higher; of a count that is
            too low, where the records end that it has room for.
        skipped_count: of its records, those at offsets that were read before or are cut off.
    """

    unit: Unit
    row_stop: int
    fault: Fault | None
    first_offset: int
    record_count: int
    plain_bytes: int
    is_kept: bool
    next_offset: int
    skipped_count: int

    @property
    def is_sparse(self) -> bool:
        """Whether there are fewer records than offsets: the cleaner removed some."""
        return self.record_count <= self.unit.last_offset - self.first_offset

    @property
    def fault_of_rest(self) -> Fault | None:
        """Why a batch that has rows has not those of all its records; None if it has."""
        if self.fault is not None or not self.skipped_count:
            return self.fault
        counts = f"{self.skipped_count} of {self.record_count}"
        detail = f"records skipped, at offsets of others or above the end: {counts}"
        return DefectCode.OFFSET_OUT_OF_ORDER, detail


class RunOutcome(NamedTuple):
    """The results of a run's batches; statuses are those of the kernels."""

    run: BatchRun
    first_row: int
    plain_bytes: NDArray[np.int64]
    results: UnitResults  # of these batches

    @property
    def is_sound(self) -> bool:
        """Whether no batch is damaged inside, or holds other offsets than its header says."""
        return not self.results.statuses.any()

    @property
    def row_counts(self) -> NDArray[np.int64]:
        """The rows of each batch."""
        return np.diff(self.results.row_stops, prepend=self.first_row)

    def of_batches(self) -> Iterator[UnitOutcome]:
        """The same, batch by batch."""
        for index in range(len(self.run)):
            batch = self.run.batch(index)
            yield UnitOutcome(
                unit=batch,
                row_stop=int(self.results.row_stops[index]),
                fault=FAULTS.get(int(self.results.statuses[index])),
                first_offset=int(self.results.first_offsets[index]),
                record_count=batch.header.record_count,
                plain_bytes=int(self.plain_bytes[index]),
                is_kept=bool(self.results.is_kept[index]),
                next_offset=int(self.results.next_offsets[index]),
                skipped_count=int(self.results.skipped_counts[index]),
            )


class PiecesOutcome(NamedTuple):
    """The results of a wrapper that is damaged inside: of its parts, and the defects between."""

    unit: Unit
    pieces: tuple[UnitOutcome | Defect, ...]


Outcome = UnitOutcome | RunOutcome | PiecesOutcome
