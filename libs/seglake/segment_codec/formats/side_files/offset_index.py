"""Offset index of a segment (`.index`): positions in the segment file to search an offset from.

Layout of an entry, in bytes from its start, integers big-endian; the file has only entries::

     0  relative_offset  i32  record offset, less the base offset in the file's name
     4  position         i32  first byte of a batch in the segment file

The file has no checksum and is only a hint. Every version of Kafka stores a batch start as the
position. But the offset beside it is the first of an append, its last, or the last of one batch,
depending on the version: trust an entry only if the batch at its position is valid.

Kafka preallocates the file of the active segment and truncates it at a clean stop, so the file of a
live or killed broker ends in zeros, which are not entries. An entry of zeros is never written:
position 0 is the first batch, and Kafka indexes no batch before it has appended some bytes.

Source: apache/kafka 1eb7644, OffsetIndex.java, AbstractIndex.java.
"""

import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from seglake.segment_codec.formats.side_files._index_entries import (
    length_damage,
    without_zero_tail,
)

ENTRY = struct.Struct(">ii")


class OffsetPosition(NamedTuple):
    """A record offset (absolute) and the position of a batch in the segment file."""

    offset: int
    position: int


@dataclass(frozen=True, slots=True)
class OffsetIndex:
    """Entries before any damage; offsets and positions both rise.

    Attributes:
        damage: reason why the entries end early; None if they end at the end of the file, or at
            zeros that reach to it.
    """

    base_offset: int
    entries: tuple[OffsetPosition, ...]
    damage: str | None

    def lookups(self, offset: int) -> Iterator[OffsetPosition]:
        """Yield entries at or below the offset, the highest first: if one is wrong, try the next.

        Each is twice as many entries back as the one before, so many wrong entries cost few tries.
        """
        place, step = bisect_right(self.entries, offset, key=attrgetter("offset")) - 1, 1
        while place >= 0:
            yield self.entries[place]
            place, step = place - step, 2 * step


def parse(data: bytes | memoryview, base_offset: int) -> OffsetIndex:
    """Return the entries of a whole `.index` file; `base_offset` is the number in its name.

    Never raises: damage is part of the result, which keeps no view of `data`.

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
