"""Selects records to print, by time and number."""

import sys
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

_NO_TIME_MS = -1


class RecordChoice(NamedTuple):
    """Selection of records by timestamp in [from_ms, to_ms), and by number; None for no bound.

    A record without a timestamp is in no time range.
    """

    from_ms: int | None = None
    to_ms: int | None = None
    limit: int | None = None

    def of(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the selected records in nonempty batches; stop reading at the limit.

        Args:
            batches: the records, in any order.
        """
        left = sys.maxsize if self.limit is None else self.limit
        if left == 0:
            return
        for rows in batches:
            kept = self._in_time(rows).slice(0, left)
            if kept.num_rows:
                yield kept
            left -= kept.num_rows
            if left == 0:
                return

    def _in_time(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        if self.from_ms is None and self.to_ms is None:
            return rows
        # Any: the stubs do not know the type of a column.
        column: Any = rows.column("timestamp_ms")
        times = column.fill_null(_NO_TIME_MS).to_numpy()
        keep = times != _NO_TIME_MS
        if self.from_ms is not None:
            keep &= times >= self.from_ms
        if self.to_ms is not None:
            keep &= times < self.to_ms
        return rows if np.all(keep) else rows.filter(pa.array(keep))
