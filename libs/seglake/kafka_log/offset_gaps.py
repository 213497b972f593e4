"""Finds the holes between a split's batches, and the causes of gaps."""

from bisect import bisect_right
from enum import StrEnum
from typing import NamedTuple


class GapCause(StrEnum):
    """Reason why covered offsets have no rows in the tables."""

    COMPACTED = "compacted"
    ERASED = "erased"  # `seglake erase` removed the record from the lake
    EXPIRED = "expired"  # retention (`retention.records`) removed the record from the lake
    DELETED = "deleted"
    MARKER = "marker"  # damaged transaction marker, so no record is lost
    # Offsets below the first segment; nothing proves whether Kafka deleted them.
    DELETED_OR_LOST = "deleted_or_lost"
    REMOTE = "remote"
    UNDECIDED = "undecided"  # the record's transaction has no marker yet
    QUARANTINED = "quarantined"
    MISSING = "missing"


class OffsetHole(NamedTuple):
    """Offsets missing between two valid batches of a log.

    Attributes:
        is_after_defect: whether damaged bytes are between the two batches.
        segment_index: index of the later batch's segment.
    """

    start_offset: int
    next_offset: int
    is_after_defect: bool
    segment_index: int


class HoleFinder:
    """Finds the holes between the valid batches of a split, added in the order of their bytes.

    Memory grows with the number of holes, not of batches.

    >>> finder = HoleFinder()
    >>> finder.batch(0, 10, 0)
    >>> finder.defect()
    >>> finder.batch(15, 20, 0)
    >>> finder.holes()
    [OffsetHole(start_offset=10, next_offset=15, is_after_defect=True, segment_index=0)]
    """

    def __init__(self) -> None:
        """Start without a batch."""
        self.first_offset: int | None = None
        self.next_offset: int | None = None
        self.has_leading_defect = False
        self.has_defect_since = False
        self._holes: list[OffsetHole] = []

    def defect(self) -> None:
        """Record that damaged bytes follow, which explain a hole before the next batch."""
        self.has_defect_since = True

    def batch(self, first_offset: int, next_offset: int, segment_index: int) -> None:
        """Add a valid batch with the offsets [first_offset, next_offset).

        A batch with lower offsets than an earlier batch fills the hole in which its offsets were
        missing.
        """
        if self.next_offset is None:
            self.first_offset = first_offset
            self.has_leading_defect = self.has_defect_since
        elif first_offset < self.next_offset:
            self._fill(first_offset, next_offset, segment_index)
            return
        elif first_offset > self.next_offset:
            hole = OffsetHole(self.next_offset, first_offset, self.has_defect_since, segment_index)
            self._holes.append(hole)
        self.next_offset = next_offset
        self.has_defect_since = False

    def _fill(self, start: int, stop: int, segment_index: int) -> None:
        """Remove an out-of-order batch's offsets from a hole, or make the batch the first one."""
        if self.first_offset is not None and stop <= self.first_offset:
            if stop < self.first_offset:
                hole = OffsetHole(stop, self.first_offset, self.has_leading_defect, segment_index)
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

    def holes(self) -> list[OffsetHole]:
        """Return the offsets missing between the first and the last batch."""
        return self._holes


NEVER_FILLED = (GapCause.COMPACTED, GapCause.ERASED, GapCause.EXPIRED)
"""Causes of gaps that no repair fills; there may be millions of such gaps."""

DAMAGE_CAUSES = (GapCause.QUARANTINED, GapCause.MARKER)
"""Causes of gaps that are explained by damaged bytes."""


def cause_of(
    *, is_after_defect: bool, is_compacted: bool, next_offset: int, log_start_offset: int
) -> GapCause:
    """Return the cause of a hole by the evidence; MISSING without evidence.

    >>> facts = {"is_compacted": True, "next_offset": 15, "log_start_offset": 0}
    >>> cause_of(is_after_defect=True, **facts), cause_of(is_after_defect=False, **facts)
    (<GapCause.QUARANTINED: 'quarantined'>, <GapCause.COMPACTED: 'compacted'>)
    """
    if next_offset <= log_start_offset:
        return GapCause.DELETED
    if is_after_defect:
        return GapCause.QUARANTINED
    return GapCause.COMPACTED if is_compacted else GapCause.MISSING
