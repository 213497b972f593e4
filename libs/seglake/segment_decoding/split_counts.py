"""Counts what decoding finds in a split, while its rows are made."""

import numpy as np
from numpy.typing import NDArray

from seglake.kafka_log.gap_ranges import GapTally
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.transaction_markers import TransactionState
from seglake.log_tables.record_rows import STATES, SharedColumns, payload_bytes
from seglake.segment_codec.formats.defects import Defect
from seglake.segment_codec.kernels.flush import Columns
from seglake.segment_decoding.tasks import Totals


class SplitCounts:
    """Counts of a split.

    Attributes:
        totals: counts by the names of `Totals`.
        defects: number of quarantined byte spans by defect code.
        gaps: gaps by cause.
        open_rows: number of rows whose transaction has not ended.
        times_ms: least and greatest timestamp in `records`, in ms since 1970; None without rows.
        faulty_bytes: bytes of batches whose damage was found only by decoding.
        above_bytes: bytes of batches found to be above the range only by decoding.
        inner_bytes: number of bytes by which the rows' sizes exceed the bytes on the disk. If a
            compressed message of the old formats is damaged inside, the row of each valid part
            counts the whole message, and the row of the damage counts the inner bytes.
        kept_bytes: bytes of batches that are quarantined although some of their records have rows.
        undecided_bytes: bytes of batches without rows because their transaction has not ended.
    """

    def __init__(self) -> None:
        """Start with zeros."""
        self.totals = dict.fromkeys(Totals._fields, 0)
        self.defects: dict[str, int] = {}
        self.gaps = GapTally()
        self.open_rows = 0
        self.faulty_bytes = 0
        self.above_bytes = 0
        self.inner_bytes = 0
        self.kept_bytes = 0
        self.undecided_bytes = 0
        self.times_ms: tuple[int, int] | None = None

    def count_defect(self, defect: Defect) -> None:
        """Count damaged bytes that go to quarantine."""
        self.totals["quarantined_batches"] += 1
        self.defects[str(defect.code)] = self.defects.get(str(defect.code), 0) + 1
        if defect.content is not None:
            self.inner_bytes += defect.size_bytes

    def count_batches(self, count: int, offset_count: int) -> None:
        """Add the number of batches, and of the offsets in them, to the totals."""
        self.totals["batches"] += count
        self.totals["offsets"] += offset_count

    def count_gap(self, cause: GapCause, start: int, stop: int) -> None:
        """Count the gap [start, stop) under its cause."""
        self.totals["gaps"] += 1
        self.totals["offsets"] += stop - start
        self.gaps.add(cause, start, stop)

    def count_records(self, columns: Columns, units: SharedColumns, replaced_names: int) -> None:
        """Count the records of a flush.

        Args:
            columns: the decoded records.
            units: for each batch, the values that all records of the batch have in common.
            replaced_names: number of header names that were not UTF-8.
        """
        totals = self.totals
        count, offsets = len(columns.offsets), columns.offsets
        totals["records"] += count
        totals["offset_sum"] += exact_sum(offsets)
        totals["key_bytes"] += payload_bytes(columns.has_key, columns.key_views)
        totals["value_bytes"] += payload_bytes(columns.has_value, columns.value_views)
        totals["replaced_header_names"] += replaced_names
        times = columns.timestamps_ms
        has_time = times != -1
        times = times if has_time.all() else times[has_time]
        if len(times):
            known = self.times_ms or (times[0], times[0])
            self.times_ms = (
                int(np.min(times, initial=known[0])),
                int(np.max(times, initial=known[1])),
            )
        is_open = units.states == STATES.index(TransactionState.OPEN)
        self.open_rows += int(units.row_counts[is_open].sum())


def exact_sum(values: NDArray[np.int64]) -> int:
    """Return the exact sum as a Python int, since it may exceed 64 bits."""
    most = max(-int(values.min(initial=0)), int(values.max(initial=0)))
    if most * len(values) < 1 << 63:  # as nearly always, and in a third of the time
        return int(values.sum())
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())
