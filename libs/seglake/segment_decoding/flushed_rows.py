"""Collects the rows of batches that are decoded together, in order of bytes."""

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seglake.lake.tables import BATCHES
from seglake.log_tables.batch_rows import Place
from seglake.log_tables.record_rows import SharedColumns, UnitRows, joined, shared_of
from seglake.log_tables.run_rows import RunColumns, run_rows, shared_of_runs
from seglake.segment_codec.kernels.batch_run import BatchRun
from seglake.segment_decoding.decoded_rows import Row, joined_rows


class _Run(NamedTuple):
    """Consecutive batches with the decoder's columns, and the index of their first row."""

    run: BatchRun
    added: RunColumns
    place: Place
    first_row: int


class FlushedRows:
    """Collector of rows of `batches`, and of the values that the records of a batch share.

    All runs of batches go into the same arrays, since a small array costs as much as a large one.
    """

    def __init__(self) -> None:
        """Start with no rows."""
        self.row_stop = 0  # number of rows in `records` so far
        self._count = 0
        self._rows: list[Row] = []
        self._row_numbers: list[int] = []
        self._runs: list[_Run] = []
        self._shared: list[UnitRows | _Run] = []

    def add_batch(self, row: Row, records: UnitRows | None) -> None:
        """Add the row of a batch; `records` is None if the batch was not decoded."""
        self._rows.append(row)
        self._row_numbers.append(self._count)
        self._count += 1
        if records is not None:
            self._shared.append(records)

    def add_run(self, run: BatchRun, added: RunColumns, place: Place) -> None:
        """Add the rows of a run of valid batches."""
        self._runs.append(_Run(run, added, place, self._count))
        self._shared.append(self._runs[-1])
        self._count += len(run)

    def batches(self) -> pa.RecordBatch | None:
        """Return all rows of `batches`; None if there is none."""
        if not self._count:
            return None
        parts = list(self._of_runs())
        numbers = [np.arange(len(of.run)) + of.first_row for of in self._runs]
        if self._rows:
            parts.append(BATCHES.to_arrow(self._rows))
            numbers.append(np.array(self._row_numbers))
        rows = joined_rows(parts)
        if len(parts) == 1:
            return rows
        return rows.take(np.argsort(np.concatenate(numbers), kind="stable"))

    def shared(self) -> SharedColumns:
        """Return, for each batch, the values that all its records share."""
        parts = []
        for is_run, group in groupby(self._shared, lambda of: isinstance(of, _Run)):
            several = list(group)
            if is_run:
                runs = [of for of in several if isinstance(of, _Run)]
                parts.append(shared_of_runs([of.run for of in runs], [of.added for of in runs]))
            else:
                parts.append(shared_of([of for of in several if isinstance(of, UnitRows)]))
        return joined(parts)

    def _of_runs(self) -> Iterator[pa.RecordBatch]:
        """Yield an Arrow batch for each segment, with a row for each batch in its runs."""
        for place, group in groupby(self._runs, lambda of: of.place):
            several = list(group)
            yield run_rows([of.run for of in several], [of.added for of in several], place)
