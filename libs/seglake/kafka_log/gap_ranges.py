"""Sums gaps by cause: their number, offsets and ranges."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from seglake.grouping import grouped
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import OffsetRange, merged, subtracted_near


class GapRanges(NamedTuple):
    """Number of gaps, their number of offsets, and their ranges.

    Attributes:
        ranges: the sorted ranges of the gaps; adjacent ranges are joined. Gaps made by the log
            cleaner are counted but not listed, because there may be millions.
    """

    gaps: int
    offsets: int
    ranges: tuple[OffsetRange, ...] = ()

    @classmethod
    def of(cls, ranges: Sequence[OffsetRange]) -> "GapRanges":
        """Make the value from merged ranges, each of which is one gap.

        >>> GapRanges.of([(0, 2), (5, 9)])
        GapRanges(gaps=2, offsets=6, ranges=((0, 2), (5, 9)))
        """
        return cls(len(ranges), sum(stop - start for start, stop in ranges), tuple(ranges))

    def outside(self, repaired: Sequence[OffsetRange]) -> "GapRanges":
        """Return the rest of the gaps after the repaired offsets, given as merged ranges."""
        if not self.ranges or not repaired:
            return self
        return GapRanges.of(
            [piece for offsets in self.ranges for piece in subtracted_near(offsets, repaired)]
        )


GapsByCause = Mapping[GapCause, GapRanges]
Cause = TypeVar("Cause", bound=str)


class GapTally:
    """Adds up gaps by cause, in any order; memory grows with the number of listed ranges."""

    def __init__(self) -> None:
        """Start with no gaps."""
        self._counts: dict[GapCause, tuple[int, int]] = {}
        self._ranges: dict[GapCause, list[OffsetRange]] = {}

    def add(self, cause: GapCause, start: int, stop: int) -> None:
        """Add the gap [start, stop); a gap that the cleaner made is counted, but not listed."""
        gaps, offsets = self._counts.get(cause, (0, 0))
        self._counts[cause] = gaps + 1, offsets + stop - start
        if cause is not GapCause.COMPACTED:
            self._ranges.setdefault(cause, []).append((start, stop))

    def by_cause(self) -> dict[GapCause, GapRanges]:
        """Return the gaps added so far, by cause."""
        return {
            cause: GapRanges(*counts, tuple(merged(self._ranges.get(cause, ()))))
            for cause, counts in self._counts.items()
        }


def tallied(gaps: Iterable[tuple[GapCause, int, int]]) -> dict[GapCause, GapRanges]:
    """Sum gaps by cause; each gap is given as cause, start offset and exclusive end offset."""
    tally = GapTally()
    for gap in gaps:
        tally.add(*gap)
    return tally.by_cause()


def ranges_joined(parts: Iterable[GapRanges]) -> GapRanges:
    """Add the counts of several `GapRanges`, and merge their ranges."""
    listed = [*parts]
    return GapRanges(
        sum(part.gaps for part in listed),
        sum(part.offsets for part in listed),
        tuple(merged(offsets for part in listed for offsets in part.ranges)),
    )


def gaps_joined(parts: Iterable[Mapping[Cause, GapRanges]]) -> dict[Cause, GapRanges]:
    """Add up several mappings from cause to gap ranges; omit causes without gaps."""
    found = grouped(item for part in parts for item in part.items())
    joined = {cause: ranges_joined(gaps) for cause, gaps in found.items()}
    return {cause: gaps for cause, gaps in joined.items() if gaps.gaps}
