"""Facts about a segment that a walk needs besides its bytes."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

from seglake.segment_codec.formats.units import HIGHEST_OFFSET

MOST_OFFSETS = 1 << 31  # an index entry holds a 31-bit offset


def limit_after(base_offset: int, proved_offset: int = 0) -> int:
    """Return the highest possible end of a segment's offsets.

    An index reaches 2^31 offsets, and brokers begin a new segment before. If a broker did not
    (KAFKA-6264), the log reaches further, as far as offsets are proved.

    >>> limit_after(1000) - 1000 == 1 << 31, limit_after(0, proved_offset=1 << 40) == 1 << 40
    (True, True)

    Args:
        base_offset: base offset of the segment.
        proved_offset: the next segment's first offset; for the last segment a high watermark, a
            recovery point, or the end of the ingested offsets.
    """
    return max(base_offset + MOST_OFFSETS, proved_offset)


@dataclass(frozen=True, slots=True)
class SegmentBounds:
    """Facts about a segment besides its bytes.

    Attributes:
        base_offset: the number in the file name.
        limit_offset: offsets from here on cannot be in this segment: the next one's first offset,
            or for the last segment the log end, if known.
        is_last: no later segment exists, so the end may be torn without being damaged.
        is_final: nobody will append any more: a torn or unflushed end is damage, too.
        durable_offset: high watermark or recovery point, the higher; a bad checksum below it is
            damage, above it a write may not have reached the disk.
        anchors: returns the positions that the offset index names as batch starts. They are hints,
            verified before use; called only if there is damage.
        run_breaks: offsets that no run of messages may cross.
        may_have_holes: the cleaner may have removed messages from the middle of a run. If False, a
            run ends at a hole, so that the hole is seen.
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
        """Return the bounds of a search for offsets, which never judges the end of a file.

        Args:
            base_offset: base offset of the segment.
            limit_offset: offsets from here on are not read.
            *run_breaks: offsets that no run of messages may cross.
        """
        return cls(base_offset, limit_offset, is_last=True, durable_offset=0, run_breaks=run_breaks)

    @classmethod
    def of_whole(cls, first_offset: int, next_offset: int) -> Self:
        """Return the bounds of bytes that end with a whole batch, read without neighbours.

        Args:
            first_offset: lowest offset in the bytes.
            next_offset: end of the offsets in the bytes.
        """
        return cls(first_offset, next_offset, is_last=False, durable_offset=0)

    def of_int64(self) -> Self:
        """Return the bounds, limited to int64 offsets if the file's base offset is high."""
        if self.limit_offset <= HIGHEST_OFFSET:
            return self
        return replace(self, limit_offset=HIGHEST_OFFSET)
