"""Which offsets of a partition are taken already: no offset may come out twice.

The header's offset is outside every checksum, and copies, crashes and old bugs leave batches twice
or in the wrong order, so a sound batch may still stand where it does not belong.
"""

from bisect import bisect_right

from seglake.segment_codec.errors import DefectCode
from seglake.segment_codec.message_set import MessageRun, Wrapper
from seglake.segment_codec.record_batch import RecordBatch

Unit = RecordBatch | Wrapper | MessageRun

MOST_HOLES = 65_536


class OffsetOrder:
    """Follows one partition through its segments, in the order of their bytes.

    `next_offset` is the end of what came so far. Holes below it are remembered, the newest
    MOST_HOLES of them: a batch that fits into one whole came late and is taken, any other offset
    below `next_offset` was taken before.
    """

    def __init__(self, next_offset: int) -> None:
        self.next_offset = next_offset
        self._holes: list[tuple[int, int]] = []
        # Of a wrapper only the last offset is known, so what lies before it may be a hole or not:
        # another wrapper may stand there, and whoever decodes it sees whether it does.
        self._unknown: list[tuple[int, int]] = []
        self._late_from: int | None = None
        self._has_forgotten = False

    @property
    def proved_offset(self) -> int:
        """Up to here a batch in front of lower ones is proved: they filled what it left out.

        `next_offset` while every batch came in order; where one came late, the first offset that
        is still missing from the hole it fell into, and on.
        """
        if self._late_from is None:
            return self.next_offset
        if self._has_forgotten:
            return self._late_from
        holes = [start for start, _ in (*self._holes, *self._unknown) if start >= self._late_from]
        return min(holes, default=self.next_offset)

    def judge(self, unit: Unit, base_offset: int, limit_offset: int) -> DefectCode | None:
        """What is wrong with where the unit stands; without a fault its offsets are now taken.

        Args:
            base_offset: of the segment.
            limit_offset: offsets from here on cannot be in this segment.
        """
        first, last = unit.first_offset, unit.last_offset
        if first < base_offset or last >= limit_offset:
            return DefectCode.OFFSET_OUT_OF_SEGMENT
        if first >= self.next_offset:
            if first > self.next_offset:
                holes = self._unknown if isinstance(unit, Wrapper) else self._holes
                holes.append((self.next_offset, first))
                self._has_forgotten |= len(holes) > MOST_HOLES
                del holes[:-MOST_HOLES]
            self.next_offset = last + 1
            return None
        holes = self._unknown if isinstance(unit, Wrapper) else self._holes
        hole_start = _filled(holes, first, last + 1)
        if hole_start is None:
            return DefectCode.OFFSET_OUT_OF_ORDER
        late_from = hole_start if self._late_from is None else self._late_from
        self._late_from = min(late_from, hole_start)
        return None


def _filled(holes: list[tuple[int, int]], start: int, stop: int) -> int | None:
    """Take a range out of the hole that holds it whole; where that began, None without one."""
    index = bisect_right(holes, (start, stop)) - 1
    for candidate in (index, index + 1):
        if 0 <= candidate < len(holes):
            hole_start, hole_stop = holes[candidate]
            if hole_start <= start and stop <= hole_stop:
                rest = [(hole_start, start), (stop, hole_stop)]
                holes[candidate : candidate + 1] = [r for r in rest if r[0] < r[1]]
                return hole_start
    return None
