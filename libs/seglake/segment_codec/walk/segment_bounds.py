"""Offsets, index and end rules that a walk needs for a segment besides its bytes."""

from collections.abc import Callable
from typing import NamedTuple, Self

from seglake.segment_codec.formats.units import HIGHEST_OFFSET

MOST_OFFSETS = 1 << 31  # an offset index stores 31 bits


def limit_after(base_offset: int, proved_offset: int = 0) -> int:
    """Return the highest possible exclusive end of a segment's offsets.

    An index can have 2^31 offsets, and brokers start a new segment before that. A segment that is
    longer nevertheless (KAFKA-6264) ends at the highest proved offset.

    >>> limit_after(1000) - 1000 == 1 << 31, limit_after(0, proved_offset=1 << 40) == 1 << 40
    (True, True)

    Args:
        base_offset: base offset of the segment.
        proved_offset: the next segment's first offset; for the last segment a high watermark, a
            recovery point, or the end of the ingested offsets.
    """
    return max(base_offset + MOST_OFFSETS, proved_offset)


class SegmentBounds(NamedTuple):
    """Offsets, index and end rules of a segment.

    Attributes:
        base_offset: the number in the file name.
        limit_offset: exclusive upper limit of the segment's offsets: the next segment's first
            offset; for the last segment the log end, if known.
        is_last: whether it is the last segment of the log, so that an incomplete end is no damage.
        is_final: whether no broker will append to the log any more, so that an incomplete end is
            damage.
        durable_offset: the high watermark or the recovery point, whichever is higher. A wrong
            checksum below it is damage; above it, a write may not have reached the disk.
        anchors: returns positions that the offset index lists as batch starts. They are verified
            before use. It is called only if there is damage.
        run_breaks: offsets at which runs of messages are split.
        may_have_holes: whether the cleaner may have removed messages; if False, a run ends at a
            hole, so that the hole is reported.
    """

    base_offset: int
    limit_offset: int
    is_last: bool
    durable_offset: int
    anchors: Callable[[], tuple[int, ...]] = tuple
    run_breaks: tuple[int, ...] = ()
    may_have_holes: bool = True
    is_final: bool = False

    @classmethod
    def of_search(cls, base_offset: int, limit_offset: int, *run_breaks: int) -> Self:
        """Return bounds for a search for offsets, in which the end of a file is never judged.

        Args:
            base_offset: base offset of the segment.
            limit_offset: exclusive upper limit of the segment's offsets.
            *run_breaks: offsets at which runs of messages are split.
        """
        return cls(base_offset, limit_offset, is_last=True, durable_offset=0, run_breaks=run_breaks)

    @classmethod
    def of_batches(cls, first_offset: int, next_offset: int) -> Self:
        """Return bounds for consecutive batches of a segment; the last one must be complete.

        Args:
            first_offset: lowest offset of the batches.
            next_offset: exclusive end of the batches' offsets.
        """
        return cls(first_offset, next_offset, is_last=False, durable_offset=0)

    def of_int64(self) -> Self:
        """Return these bounds with a limit that fits an int64."""
        if self.limit_offset <= HIGHEST_OFFSET:
            return self
        return self._replace(limit_offset=HIGHEST_OFFSET)
