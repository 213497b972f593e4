"""Why the lake has not what a disk has, as far as the lake's own tables say. Pure."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.lake.parquet_rows import NULL_NUMBER, numbers
from seglake.log_tables.batch_rows import BatchState

Offsets = NDArray[np.int64]
Flags = NDArray[np.bool_]

_OTHER_LEADER = "of another leader"
_QUARANTINED = "in quarantine"


class DiskRecords(NamedTuple):
    """Records of a disk, each with checksum and leader epoch (-1 when none) of its batch.

    `is_quarantined` tells batches that the lake has in quarantine and did not take later.
    """

    offsets: Offsets
    crcs: Offsets
    epochs: Offsets
    is_quarantined: Flags

    def taken(self, chosen: Flags) -> "DiskRecords":
        """Some of them."""
        return DiskRecords(
            self.offsets[chosen],
            self.crcs[chosen],
            self.epochs[chosen],
            self.is_quarantined[chosen],
        )


class Explained(NamedTuple):
    """How many records have an explanation, by its words, and the offsets of those without."""

    counts: dict[str, int]
    unexplained: Offsets


class _Reasons:
    """Gives each record the first reason that holds."""

    def __init__(self, records: DiskRecords) -> None:
        self._records = records
        self._is_open = np.ones(len(records.offsets), np.bool_)
        self._counts: dict[str, int] = {}

    def give(self, reason: str, holds: Flags) -> None:
        count = int((holds & self._is_open).sum())
        if count:
            self._counts[reason] = self._counts.get(reason, 0) + count
        self._is_open &= ~holds

    def result(self) -> Explained:
        return Explained(self._counts, self._records.offsets[self._is_open])


def why_absent(
    records: DiskRecords, batches: pa.Table, gaps: pa.Table, known_start_offset: int
) -> Explained:
    """Why records of a disk are not in `records`.

    Args:
        batches: of the lake, by rising base offset, all that reach between the records' offsets.
        gaps: the same of `gaps`.
        known_start_offset: the lake knows that the log began here; what is below was not read.
    """
    reasons = _Reasons(records)
    reasons.give(_QUARANTINED, records.is_quarantined)
    place = _holding(records.offsets, batches, "base_offset", "last_offset")
    has_batch = place >= 0
    reasons.give(_OTHER_LEADER, has_batch & _is_of_other_leader(records, batches, place))
    is_aborted = has_batch & _has_text(batches, "state", BatchState.ABORTED, place)
    reasons.give("aborted", is_aborted)
    # A batch with another checksum was written anew: by the cleaner, before or after it was taken.
    is_rewritten = has_batch & (_at(numbers(batches, "crc"), place) != records.crcs)
    reasons.give("rewritten by the cleaner", is_rewritten)
    reasons.give("below the log start", records.offsets < known_start_offset)
    for cause in gaps.column("cause").unique().to_pylist():
        own = gaps.filter(pa.array([row == cause for row in gaps.column("cause").to_pylist()]))
        reasons.give(f"in a gap ({cause})", _is_in_gap(records.offsets, own))
    return reasons.result()


def why_different(records: DiskRecords, batches: pa.Table) -> Explained:
    """Why records of a disk have another payload than the lake's at the same offsets.

    Args:
        batches: of the lake, by rising base offset.
    """
    reasons = _Reasons(records)
    reasons.give(_QUARANTINED, records.is_quarantined)
    place = _holding(records.offsets, batches, "base_offset", "last_offset")
    reasons.give(_OTHER_LEADER, (place >= 0) & _is_of_other_leader(records, batches, place))
    return reasons.result()


def _holding(offsets: Offsets, rows: pa.Table, first: str, last: str) -> Offsets:
    """The row that holds each offset, by rising first offsets; -1 for none."""
    if not rows.num_rows:
        return np.full(len(offsets), -1, np.int64)
    place = np.searchsorted(numbers(rows, first), offsets, side="right") - 1
    return np.where((place >= 0) & (offsets <= numbers(rows, last)[place]), place, -1)


def _is_of_other_leader(records: DiskRecords, batches: pa.Table, place: Offsets) -> Flags:
    known = _at(numbers(batches, "leader_epoch"), place)
    both = (known != NULL_NUMBER) & (records.epochs != NULL_NUMBER)
    result: Flags = both & (known != records.epochs)
    return result


def _has_text(rows: pa.Table, column: str, text: str, place: Offsets) -> Flags:
    values: Any = np.array([value == text for value in rows.column(column).to_pylist()], np.int64)
    result: Flags = _at(values, place) == 1
    return result


def _at(values: Offsets, place: Offsets) -> Offsets:
    """The values of rows, NULL_NUMBER where there is no row."""
    if not len(values):
        return np.full(len(place), NULL_NUMBER, np.int64)
    return np.where(place >= 0, values[place], NULL_NUMBER)


def _is_in_gap(offsets: Offsets, gaps: pa.Table) -> Flags:
    # Gaps may hold each other: one that was repaired is stated anew in parts.
    ordered = gaps.sort_by("start_offset")
    starts = numbers(ordered, "start_offset")
    reached = np.maximum.accumulate(numbers(ordered, "next_offset"))
    place = np.searchsorted(starts, offsets, side="right") - 1
    return (place >= 0) & (offsets < reached[np.maximum(place, 0)])
