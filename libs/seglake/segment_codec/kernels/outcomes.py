"""Results of decoding batches and runs of batches."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seglake.segment_codec.formats.defects import Defect
from seglake.segment_codec.formats.errors import DefectCode, Fault
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.formats.units import Unit
from seglake.segment_codec.kernels.arrays import UnitResults
from seglake.segment_codec.kernels.batch_run import BatchRun
from seglake.segment_codec.kernels.faults import FAULTS, OK

REPEATED: Fault = DefectCode.OFFSET_OUT_OF_ORDER, "batches before it have these offsets"


class UnitOutcome(NamedTuple):
    """Result of decoding one unit; its rows end before `row_stop`, the next unit's first row.

    Attributes:
        fault: code and text of the unit's fault; None if there is none.
        is_kept: whether the unit has rows. A unit whose only fault is a wrong record count has
            rows, too.
        next_offset: exclusive end of the unit's offsets: the end of its records or of its header's
            range, whichever is higher. If there are more records than the header counts, only the
            counted records matter.
        skipped_count: number of records without rows: earlier batches have their offsets, or they
            are above the end of the range.
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
        """Return whether the unit has fewer records than offsets, as after a compaction."""
        return self.record_count <= self.unit.last_offset - self.first_offset

    @property
    def fault_of_rest(self) -> Fault | None:
        """Return why some records of the unit have no row, as a defect; None if all have a row."""
        if self.fault is not None or not self.skipped_count:
            return self.fault
        counts = f"{self.skipped_count} of {self.record_count}"
        detail = f"records skipped: offset repeated, or above the end: {counts}"
        return DefectCode.OFFSET_OUT_OF_ORDER, detail


def unit_outcome(unit: Unit, results: UnitResults, index: int, plain_bytes: int) -> UnitOutcome:
    """Return the outcome of one unit from the kernels' results.

    Args:
        unit: a batch, a wrapper or a run of messages.
        results: results of all units.
        index: index of the unit in the results.
        plain_bytes: size of the decompressed unit.
    """
    status = int(results.statuses[index])
    record_count, next_offset = int(results.record_counts[index]), unit.last_offset + 1
    if isinstance(unit, RecordBatch):
        record_count = unit.header.record_count  # `results` limits this count
        next_offset = int(results.next_offsets[index])
    return UnitOutcome(  # positional arguments are faster
        unit,
        int(results.row_stops[index]),
        FAULTS.get(status),
        int(results.first_offsets[index]),
        record_count,
        plain_bytes,
        status == OK or bool(results.is_kept[index]),
        next_offset,
        int(results.skipped_counts[index]),
    )


class RunOutcome(NamedTuple):
    """Results of decoding the batches of one run."""

    run: BatchRun
    first_row: int
    plain_bytes: NDArray[np.int64]
    results: UnitResults

    @property
    def is_sound(self) -> bool:
        """Return whether no batch is damaged and all records have offsets as in the headers."""
        return not self.results.statuses.any()

    @property
    def row_counts(self) -> NDArray[np.int64]:
        """Return the number of rows of each batch."""
        return np.diff(self.results.row_stops, prepend=self.first_row)

    def of_batches(self) -> Iterator[UnitOutcome]:
        """Yield an outcome for each batch."""
        for index, plain_bytes in enumerate(self.plain_bytes.tolist()):
            yield unit_outcome(self.run.batch(index), self.results, index, plain_bytes)


class PiecesOutcome(NamedTuple):
    """Results of a wrapper that is damaged inside: outcomes of its parts, and defects."""

    unit: Unit
    pieces: tuple[UnitOutcome | Defect, ...]


Outcome = UnitOutcome | RunOutcome | PiecesOutcome
