"""Tracks the offsets read from a partition, so that no offset is ingested twice.

No checksum covers a header's offset, and copies, crashes and old bugs leave batches repeated or in
the wrong order. So a valid batch may be misplaced.
"""

from bisect import bisect_right
from collections.abc import Iterable

from seglake.segment_codec.formats.errors import DefectCode
from seglake.segment_codec.formats.message_set import Wrapper
from seglake.segment_codec.formats.units import Unit

MOST_HOLES = 65_536


class OffsetOrder:
    """Offsets of a partition that were read, in the order of bytes.

    `next_offset` is the exclusive end of the batches so far. The newest MOST_HOLES holes below it
    are stored. A batch within a hole is out of order, and is accepted. All other offsets below
    `next_offset` have already been read.

    >>> order = OffsetOrder(0)
    >>> order.advance([(0, 10), (15, 20)])
    >>> order.next_offset, order.hole_around(12, 14)
    (20, (10, 15))
    """

    def __init__(self, next_offset: int) -> None:
        """Start at the first expected offset; all offsets below it count as read."""
        self.next_offset = next_offset
        self._holes: list[tuple[int, int]] = []
        # Possible holes before wrappers, whose first offset is unknown before decoding.
        # Another wrapper within such a hole is accepted; decoding shows whether it is right.
        self._unknown: list[tuple[int, int]] = []
        self._late_from: int | None = None
        self._has_forgotten = False

    @property
    def proved_offset(self) -> int:
        """Return the exclusive end up to which the order of batches is proved.

        While all batches are in order, it is `next_offset`. Once an out-of-order batch has filled a
        hole, it is the first offset that is still missing, at or above the start of that hole.
        """
        if self._late_from is None:
            return self.next_offset
        if self._has_forgotten:
            return self._late_from
        holes = [start for start, _ in (*self._holes, *self._unknown) if start >= self._late_from]
        return min(holes, default=self.next_offset)

    def advance(self, stretches: Iterable[tuple[int, int]]) -> None:
        """Mark offset ranges as read; the ranges rise, and all are at or above `next_offset`."""
        for start, stop in stretches:
            self._advance(start, stop, self._holes)

    def judge(
        self, unit: Unit, base_offset: int, limit_offset: int, first_offset: int | None = None
    ) -> DefectCode | None:
        """Return the defect if a unit is misplaced; else mark its offsets as read, and return None.

        Args:
            unit: the batch, wrapper or run of messages.
            base_offset: base offset of the segment.
            limit_offset: exclusive upper limit of the segment's offsets.
            first_offset: first offset of a wrapper; None if unknown.
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
        """Mark the offsets [start, stop) as read, and store a hole before them in `holes`."""
        if start > self.next_offset:
            holes.append((self.next_offset, start))
            self._has_forgotten |= len(holes) > MOST_HOLES
            del holes[:-MOST_HOLES]
        self.next_offset = stop

    def hole_around(self, start: int, stop: int) -> tuple[int, int] | None:
        """Return the hole that contains a range of offsets; None if there is none."""
        index = _index_around(self._holes, start, stop)
        return None if index is None else self._holes[index]


def _index_around(holes: list[tuple[int, int]], start: int, stop: int) -> int | None:
    """Return the index of the hole that contains a range of offsets; None if there is none."""
    index = bisect_right(holes, (start, stop)) - 1
    for candidate in (index, index + 1):
        if 0 <= candidate < len(holes):
            hole_start, hole_stop = holes[candidate]
            if hole_start <= start and stop <= hole_stop:
                return candidate
    return None


def _filled(holes: list[tuple[int, int]], start: int, stop: int) -> int | None:
    """Remove a range from the hole that contains it.

    Returns the start of that hole; None if no hole contains the range.
    """
    index = _index_around(holes, start, stop)
    if index is None:
        return None
    hole_start, hole_stop = holes[index]
    rest = [(hole_start, start), (stop, hole_stop)]
    holes[index : index + 1] = [r for r in rest if r[0] < r[1]]
    return hole_start
