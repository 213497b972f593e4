"""Counts and ranges of gaps by cause. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from seglake.grouping import grouped
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import OffsetRange, merged, subtracted_near


class GapRanges(NamedTuple):
    """Gaps, mostly of one cause: how many, with how many offsets, and their ranges.

    Attributes:
        ranges: the ranges of the gaps, rising; touching ones are joined. Empty for gaps that the
            cleaner made: there may be one beside every other batch, so those are only counted.
    """

    gaps: int
    offsets: int
    ranges: tuple[OffsetRange, ...] = ()

    @classmethod
    def of(cls, ranges: Sequence[OffsetRange]) -> "GapRanges":
        """Return gaps with their sums, one for each of some merged ranges.

        >>> GapRanges.of([(0, 2), (5, 9)])
        GapRanges(gaps=2, offsets=6, ranges=((0, 2), (5, 9)))
        """
        return cls(len(ranges), sum(stop - start for start, stop in ranges), tuple(ranges))

    def outside(self, repaired: Sequence[OffsetRange]) -> "GapRanges":
        """Return the gaps outside of the merged ranges of repairs."""
        if not self.ranges or not repaired:
            return self
        return GapRanges.of(
            [piece for offsets in self.ranges for piece in subtracted_near(offsets, repaired)]
        )


GapsByCause = Mapping[GapCause, GapRanges]
Cause = TypeVar("Cause", bound=str)


class GapTally:
    """Sums gaps by cause, in any order. Memory grows with the number of listed ranges."""

    def __init__(self) -> None:
        """Start without gaps."""
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
    """Return the sums by cause of gaps, each with its first offset and the one after its last."""
    tally = GapTally()
    for gap in gaps:
        tally.add(*gap)
    return tally.by_cause()


def ranges_joined(parts: Iterable[GapRanges]) -> GapRanges:
    """Return the sum of several gap ranges; their ranges are merged."""
    listed = [*parts]
    return GapRanges(
        sum(part.gaps for part in listed),
        sum(part.offsets for part in listed),
        tuple(merged(offsets for part in listed for offsets in part.ranges)),
    )


def gaps_joined(parts: Iterable[Mapping[Cause, GapRanges]]) -> dict[Cause, GapRanges]:
    """Return the sums of several mappings of gap ranges, by cause."""
    found = grouped(item for part in parts for item in part.items())
    joined = {cause: ranges_joined(gaps) for cause, gaps in found.items()}
    return {cause: gaps for cause, gaps in joined.items() if gaps.gaps}
