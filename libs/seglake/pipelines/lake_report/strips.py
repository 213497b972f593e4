"""Which offsets of a partition are in which state, and where. Pure."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from seglake.kafka_log.observation import Observation
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import OffsetRange, subtracted
from seglake.log_tables.partition_ledger import PartitionLedger
from seglake.pipelines.lake_report.gap_pieces import GapPiece
from seglake.pipelines.lake_report.model import Offsets, OffsetState

MOST_RANGES = 500
"""Of one state in one partition: more than a strip has pixels to show."""


def offsets_by_state(
    ledger: PartitionLedger, gaps: Sequence[GapPiece], seen: Observation | None
) -> dict[OffsetState, Offsets]:
    """The states that there are in a partition.

    Args:
        gaps: those that still stand.
    """
    covered, current = ledger.covered, ledger.current
    exact = {
        OffsetState.SUPERSEDED: ledger.superseded,
        OffsetState.NOT_INGESTED: [] if seen is None else _not_ingested(covered, seen),
    }
    found = {
        state: Offsets(_count(ranges), tuple(ranges)) for state, ranges in exact.items() if ranges
    }
    tolerance = _extent(covered) // MOST_RANGES
    for cause in GapCause:
        own = [piece for piece in gaps if piece.cause == cause]
        if own:
            starts = np.concatenate([piece.starts for piece in own])
            stops = np.concatenate([piece.stops for piece in own])
            count = sum(piece.offset_count for piece in own)
            found[OffsetState(str(cause))] = Offsets(count, _joined(starts, stops, tolerance))
    if current:
        count = _count(current) - sum(piece.offset_count for piece in gaps)
        found[OffsetState.INGESTED] = Offsets(count, coarser(current, tolerance))
    return found


def coarser(ranges: Sequence[OffsetRange], tolerance: int) -> tuple[OffsetRange, ...]:
    """Ranges, at least one, those made one that are no more than so many offsets apart."""
    starts, stops = np.array(ranges, np.int64).T
    return _joined(starts, stops, tolerance)


def within_budget(
    strips: Sequence[Mapping[OffsetState, Offsets]], most_ranges: int
) -> list[dict[OffsetState, Offsets]]:
    """The strips with ever coarser ranges, until all of them have no more than so many."""
    result = [dict(strip) for strip in strips]
    most = MOST_RANGES
    while most > 1 and sum(len(o.ranges) for s in result for o in s.values()) > most_ranges:
        most //= 2
        result = [_coarser_strip(strip, most) for strip in result]
    return result


def _coarser_strip(strip: Mapping[OffsetState, Offsets], most: int) -> dict[OffsetState, Offsets]:
    extent = _extent([offsets for of_state in strip.values() for offsets in of_state.ranges])
    return {
        state: found
        if len(found.ranges) <= most
        else Offsets(found.count, coarser(found.ranges, extent // most))
        for state, found in strip.items()
    }


def _count(ranges: Iterable[OffsetRange]) -> int:
    return sum(stop - start for start, stop in ranges)


def _not_ingested(covered: Sequence[OffsetRange], seen: Observation) -> list[OffsetRange]:
    """What runs saw above the covered offsets; the checkpoint proves it where nothing was read."""
    end = seen.log_end_offset if seen.log_end_offset is not None else seen.high_watermark
    start = max(covered[-1][1] if covered else 0, seen.log_start_offset or 0)
    return [] if end is None else subtracted((start, end), covered)


def _extent(ranges: Sequence[OffsetRange]) -> int:
    """From the first offset to behind the last."""
    if not ranges:
        return 0
    return max(stop for _, stop in ranges) - min(start for start, _ in ranges)


def _joined(
    starts: NDArray[np.int64], stops: NDArray[np.int64], tolerance: int
) -> tuple[OffsetRange, ...]:
    """Ranges in any order made one where they are no more than so many offsets apart."""
    order = np.argsort(starts, kind="stable")
    starts, reached = starts[order], np.maximum.accumulate(stops[order])
    begins = np.flatnonzero(starts[1:] - reached[:-1] > tolerance) + 1
    firsts = np.concatenate([[0], begins])
    lasts = np.concatenate([begins - 1, [len(starts) - 1]])
    return tuple(zip(starts[firsts].tolist(), reached[lasts].tolist(), strict=True))
