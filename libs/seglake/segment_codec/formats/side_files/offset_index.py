"""Offset index of a segment (`.index`): positions from which to search for an offset.

Layout of an entry, in bytes from its start, integers big-endian; the file has only entries::

     0  relative_offset  i32  record offset minus the base offset in the file's name
     4  position         i32  first byte of a batch in the segment file

The file has no checksum and is only a hint. The position is always the start of a batch. The offset
depends on Kafka's version: the first or the last offset of an append, or the last of a batch. So
use an entry only if the batch at its position is valid.

Kafka preallocates the file of the active segment and truncates it at a clean stop, so the file of a
live or killed broker ends in zeros. Zeros are never an entry: position 0 is the first batch, and
the first entry is for a later batch.

Source: apache/kafka 1eb7644, OffsetIndex.java, AbstractIndex.java.
"""

import struct
from bisect import bisect_right
from collections.abc import Iterator
from operator import attrgetter
from typing import NamedTuple

from seglake.segment_codec.formats.side_files._index_entries import (
    length_damage,
    without_zero_tail,
)

ENTRY = struct.Struct(">ii")


class OffsetPosition(NamedTuple):
    """An absolute record offset, and the position of a batch in the segment file."""

    offset: int
    position: int


class OffsetIndex(NamedTuple):
    """Entries of an offset index before any damage; offsets and positions both rise.

    Attributes:
        damage: why the entries end early; None if only zeros follow them.
    """

    base_offset: int
    entries: tuple[OffsetPosition, ...]
    damage: str | None

    def lookups(self, offset: int) -> Iterator[OffsetPosition]:
        """Yield the entries at or below an offset, in the order in which a search should try them.

        The highest entry comes first. Each step back is twice the previous one, so a search needs
        few tries even if many entries are wrong.
        """
        place, step = bisect_right(self.entries, offset, key=attrgetter("offset")) - 1, 1
        while place >= 0:
            yield self.entries[place]
            place, step = place - step, 2 * step


def parse(data: bytes | memoryview, base_offset: int) -> OffsetIndex:
    """Parse a whole `.index` file; `base_offset` is the number in its name.

    Damage is part of the result, not raised. The result has no view of `data`.

    >>> parse(bytes.fromhex("00000005 00001000 00000000 00000000"), base_offset=100).entries
    (OffsetPosition(offset=105, position=4096),)
    """
    entries: list[OffsetPosition] = []
    damage = length_damage(len(data), ENTRY.size)
    relative_offset = position = -1
    content = without_zero_tail(data, ENTRY.size)
    for next_offset, next_position in ENTRY.iter_unpack(content):
        if next_offset <= relative_offset or next_position <= position:
            damage = (
                f"entry {len(entries)} (relative offset {next_offset}, position {next_position}) "
                f"does not come after relative offset {relative_offset}, position {position}"
            )
            break
        relative_offset, position = next_offset, next_position
        entries.append(OffsetPosition(base_offset + relative_offset, position))
    return OffsetIndex(base_offset, tuple(entries), damage)
