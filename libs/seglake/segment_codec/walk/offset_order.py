"""Tracks the offsets read from a partition, so that no offset is read twice.

No checksum covers the header's offset, and copies, crashes and old bugs leave batches twice or in
the wrong order, so a valid batch may still be in the wrong place.
"""

from bisect import bisect_right
from collections.abc import Iterable

from seglake.segment_codec.formats.errors import DefectCode
from seglake.segment_codec.formats.message_set import Wrapper
from seglake.segment_codec.formats.units import Unit

MOST_HOLES = 65_536


class OffsetOrder:
    """Offsets of one partition that were read, in the order of the segments' bytes.

    `next_offset` is the end of the batches so far. The newest MOST_HOLES holes below it are
    remembered: a batch inside a hole came late and is accepted; all other offsets below
    `next_offset` were read before.

    >>> order = OffsetOrder(0)
    >>> order.advance([(0, 10), (15, 20)])
    >>> order.next_offset, order.hole_around(12, 14)
    (20, (10, 15))
    """

    def __init__(self, next_offset: int) -> None:
        """Start at the first expected offset; offsets below it count as read."""
        self.next_offset = next_offset
        self._holes: list[tuple[int, int]] = []
        # Only the last offset of a wrapper is known before decoding, so there may be a hole before
        # it: another wrapper may belong there, and decoding shows whether it does.
        self._unknown: list[tuple[int, int]] = []
        self._late_from: int | None = None
        self._has_forgotten = False

    @property
    def proved_offset(self) -> int:
        """Return the offset below which early batches are proved: later ones filled their holes.

        While all batches came in order, this is `next_offset`; after a late batch, it is the first
        offset from its hole on that is still missing.
        """
        if self._late_from is None:
            return self.next_offset
        if self._has_forgotten:
            return self._late_from
        holes = [start for start, _ in (*self._holes, *self._unknown) if start >= self._late_from]
        return min(holes, default=self.next_offset)

    def advance(self, stretches: Iterable[tuple[int, int]]) -> None:
        """Mark rising ranges of offsets, from `next_offset` on, as read."""
        for start, stop in stretches:
            self._advance(start, stop, self._holes)

    def judge(
        self, unit: Unit, base_offset: int, limit_offset: int, first_offset: int | None = None
    ) -> DefectCode | None:
        """Return the defect of the unit's place, or mark its offsets as read and return None.

        Args:
            unit: the batch, wrapper or run of messages.
            base_offset: base offset of the segment.
            limit_offset: offsets from here on cannot be in this segment.
            first_offset: first offset of a wrapper, None if it is unknown.
        """
        first, last = unit.first_offset, unit.last_offset
        is_open = isinstance(unit, Wrapper) and first_offset is None
        if first_offset is not None:
            first = first_offset
        if first < base_offset or last >= limit_offset:
            return DefectCode.OFFSET_OUT_OF_SEGMENT
        if first >= self.next_offset:
            self._advance(first, last + 1, self._unknown if is_open else self._holes)
            return None
        holes = self._unknown if is_open else self._holes
        hole_start = _filled(holes, first, last + 1)
        if hole_start is None:
            return DefectCode.OFFSET_OUT_OF_ORDER
        late_from = hole_start if self._late_from is None else self._late_from
        self._late_from = min(late_from, hole_start)
        return None

    def _advance(self, start: int, stop: int, holes: list[tuple[int, int]]) -> None:
        """Mark the offsets [start, stop) as read, and remember a hole before them in `holes`."""
        if start > self.next_offset:
            holes.append((self.next_offset, start))
            self._has_forgotten |= len(holes) > MOST_HOLES
            del holes[:-MOST_HOLES]
        self.next_offset = stop

    def hole_around(self, start: int, stop: int) -> tuple[int, int] | None:
        """Return the hole that contains a range of offsets; None without one."""
        index = _index_around(self._holes, start, stop)
        return None if index is None else self._holes[index]


def _index_around(holes: list[tuple[int, int]], start: int, stop: int) -> int | None:
    """Return the index of the hole around a range of offsets, None without one."""
    index = bisect_right(holes, (start, stop)) - 1
    for candidate in (index, index + 1):
        if 0 <= candidate < len(holes):
            hole_start, hole_stop = holes[candidate]
            if hole_start <= start and stop <= hole_stop:
                return candidate
    return None


def _filled(holes: list[tuple[int, int]], start: int, stop: int) -> int | None:
    """Remove a range from the hole around it and return that hole's start; None without one."""
    index = _index_around(holes, start, stop)
    if index is None:
        return None
    hole_start, hole_stop = holes[index]
    rest = [(hole_start, start), (stop, hole_stop)]
    holes[index : index + 1] = [r for r in rest if r[0] < r[1]]
    return hole_start
