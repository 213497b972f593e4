"""Reasons why the lake lacks records of a disk, found in the lake's tables."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seglake.kafka_log.offset_gaps import GapCause
from seglake.lake.parquet_rows import NULL_NUMBER, is_one_of, numbers
from seglake.log_tables.batch_rows import BatchState
from seglake.pipelines.lake_audit.disk_check.ledger_rows import Flags, Offsets

Reason = tuple[str, Flags]  # a reason, and for each record whether it applies
IN_QUARANTINE = "in quarantine"


class DiskRecords(NamedTuple):
    """Records of a disk, each with its batch's checksum and leader epoch (-1 for none).

    `is_quarantined` flags records of batches that are in quarantine and were not ingested later.
    """

    offsets: Offsets
    crcs: Offsets
    epochs: Offsets
    is_quarantined: Flags

    def filtered(self, chosen: Flags) -> "DiskRecords":
        """Return the records that are flagged in `chosen`."""
        return DiskRecords._make(column[chosen] for column in self)


class Explained(NamedTuple):
    """Number of records by reason, and the offsets of records without a reason."""

    counts: Counter[str]
    unexplained: Offsets


def why_absent(
    records: DiskRecords, batches: pa.Table, gaps: pa.Table, known_start_offset: int
) -> Explained:
    """Count the reasons why records of a disk are not in `records`.

    Args:
        records: the disk's records that the lake lacks.
        batches: the lake's batches that overlap the records' offsets, by rising base offset.
        gaps: the lake's gaps that overlap the records' offsets.
        known_start_offset: the log start in the lake; runs did not read lower offsets.
    """
    place = _batch_of(records.offsets, batches)
    is_aborted = is_one_of(batches, "state", (BatchState.ABORTED,))
    # If only the checksum differs, the log cleaner rewrote the batch before or after the ingest.
    has_other_crc = _at(numbers(batches, "crc"), place) != records.crcs
    reasons = [
        *_of_another_log(records, batches),
        ("aborted", _at(is_aborted.astype(np.int64), place) == 1),
        ("rewritten by the cleaner", (place >= 0) & has_other_crc),
    ]
    found = gaps.column("cause").unique().to_pylist()
    # If older segments are in a remote tier, the disk's log start is above these segments.
    if GapCause.REMOTE in found:
        reasons.append(_in_gap(records, gaps, GapCause.REMOTE))
    reasons.append(("below the log start", records.offsets < known_start_offset))
    reasons += [_in_gap(records, gaps, cause) for cause in found if cause != GapCause.REMOTE]
    return _explained(records, reasons)


def _in_gap(records: DiskRecords, gaps: pa.Table, cause: str | None) -> Reason:
    of_cause = gaps.filter(pa.array(is_one_of(gaps, "cause", (cause,))))
    return f"in a gap ({cause})", _is_in_gap(records.offsets, of_cause)


def why_different(records: DiskRecords, batches: pa.Table) -> Explained:
    """Count the reasons why payloads in the lake differ from a disk's at the same offsets.

    Args:
        records: the disk's records whose payload differs.
        batches: the lake's batches that overlap their offsets, by rising base offset.
    """
    return _explained(records, _of_another_log(records, batches))


def _of_another_log(records: DiskRecords, batches: pa.Table) -> list[Reason]:
    place = _batch_of(records.offsets, batches)
    is_of_other_leader = (place >= 0) & _is_of_other_leader(records, batches, place)
    return [(IN_QUARANTINE, records.is_quarantined), ("of another leader", is_of_other_leader)]


def _explained(records: DiskRecords, reasons: Iterable[Reason]) -> Explained:
    """Count each record under the first reason that applies to it."""
    is_open = np.ones(len(records.offsets), np.bool_)
    counts: Counter[str] = Counter()
    for reason, holds in reasons:
        counts[reason] += int((holds & is_open).sum())
        is_open &= ~holds
    return Explained(counts, records.offsets[is_open])


def _batch_of(offsets: Offsets, batches: pa.Table) -> Offsets:
    """Return, for each offset, the row number of the batch that includes it; -1 without a batch."""
    bases, lasts = numbers(batches, "base_offset"), numbers(batches, "last_offset")
    found = np.searchsorted(bases, offsets, side="right") - 1
    if not len(bases):
        return found
    return np.where((found >= 0) & (offsets <= lasts[found]), found, -1)


def _is_of_other_leader(records: DiskRecords, batches: pa.Table, place: Offsets) -> Flags:
    known = _at(numbers(batches, "leader_epoch"), place)
    both = (known != NULL_NUMBER) & (records.epochs != NULL_NUMBER)
    result: Flags = both & (known != records.epochs)
    return result


def _at(values: Offsets, place: Offsets) -> Offsets:
    """Return the values at row numbers; NULL_NUMBER for the number -1, which is no row."""
    if not len(values):
        return np.full(len(place), NULL_NUMBER, np.int64)
    return np.where(place >= 0, values[place], NULL_NUMBER)


def _is_in_gap(offsets: Offsets, gaps: pa.Table) -> Flags:
    # A gap may contain another gap, because a repair records the rest of a gap as a new gap.
    ordered = gaps.sort_by("start_offset")
    starts = numbers(ordered, "start_offset")
    reached = np.maximum.accumulate(numbers(ordered, "next_offset"))
    place = np.searchsorted(starts, offsets, side="right") - 1
    return (place >= 0) & (offsets < reached[np.maximum(place, 0)])
