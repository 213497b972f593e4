"""Collects the batches of a split, and finds the offset holes between them. Pure."""

from bisect import bisect_right
from enum import StrEnum
from typing import NamedTuple


class GapCause(StrEnum):
    """Cause of covered offsets missing from the tables."""

    COMPACTED = "compacted"
    DELETED = "deleted"
    MARKER = "marker"  # a damaged transaction marker, which holds no record
    DELETED_OR_LOST = "deleted_or_lost"  # below the first segment, and nothing proves a deletion
    REMOTE = "remote"
    UNDECIDED = "undecided"  # the transaction has not ended
    QUARANTINED = "quarantined"
    MISSING = "missing"


class Hole(NamedTuple):
    """Missing offsets between two sound batches; `segment_index` is the later batch's segment."""

    start_offset: int
    next_offset: int
    is_after_defect: bool
    segment_index: int


class HoleFinder:
    """Finds the holes between the sound batches of a split, added in the order of their bytes.

    Memory grows with the number of holes, not of batches.

    >>> finder = HoleFinder()
    >>> finder.batch(0, 10, 0)
    >>> finder.defect()
    >>> finder.batch(15, 20, 0)
    >>> finder.holes()
    [Hole(start_offset=10, next_offset=15, is_after_defect=True, segment_index=0)]
    """

    def __init__(self) -> None:
        """Start without a batch."""
        self.first_offset: int | None = None
        self.next_offset: int | None = None
        self.has_leading_defect = False
        self.has_defect_since = False
        self._holes: list[Hole] = []

    def defect(self) -> None:
        """Add damaged bytes: they explain a hole before the next batch."""
        self.has_defect_since = True

    def batch(self, first_offset: int, next_offset: int, segment_index: int) -> None:
        """Add a sound batch with the offsets [first_offset, next_offset).

        A batch with lower offsets than the one before it fills holes that it belongs to.
        """
        if self.next_offset is None:
            self.first_offset = first_offset
            self.has_leading_defect = self.has_defect_since
        elif first_offset < self.next_offset:
            self._fill(first_offset, next_offset, segment_index)
            return
        elif first_offset > self.next_offset:
            hole = Hole(self.next_offset, first_offset, self.has_defect_since, segment_index)
            self._holes.append(hole)
        self.next_offset = next_offset
        self.has_defect_since = False

    def _fill(self, start: int, stop: int, segment_index: int) -> None:
        """Remove a late batch's offsets from a hole, or make it the new first batch."""
        if self.first_offset is not None and stop <= self.first_offset:
            if stop < self.first_offset:
                hole = Hole(stop, self.first_offset, self.has_leading_defect, segment_index)
                self._holes.insert(0, hole)
            self.first_offset = start
            return
        index = bisect_right(self._holes, start, key=lambda hole: hole.start_offset) - 1
        if index < 0:
            return
        hole = self._holes[index]
        rest = [
            hole._replace(next_offset=min(start, hole.next_offset)),
            hole._replace(start_offset=max(stop, hole.start_offset)),
        ]
        self._holes[index : index + 1] = [r for r in rest if r.start_offset < r.next_offset]

    def holes(self) -> list[Hole]:
        """Return the offsets missing between the first and the last batch."""
        return self._holes


DAMAGE_CAUSES = (GapCause.QUARANTINED, GapCause.MARKER)
"""Causes that damaged bytes explain."""


def cause_of(
    *, is_after_defect: bool, is_compacted: bool, next_offset: int, log_start_offset: int
) -> GapCause:
    """Return the cause of a hole; each cause needs its evidence, else the hole is `missing`.

    >>> facts = {"is_compacted": True, "next_offset": 15, "log_start_offset": 0}
    >>> cause_of(is_after_defect=True, **facts), cause_of(is_after_defect=False, **facts)
    (<GapCause.QUARANTINED: 'quarantined'>, <GapCause.COMPACTED: 'compacted'>)
    """
    if next_offset <= log_start_offset:
        return GapCause.DELETED
    if is_after_defect:
        return GapCause.QUARANTINED
    return GapCause.COMPACTED if is_compacted else GapCause.MISSING
