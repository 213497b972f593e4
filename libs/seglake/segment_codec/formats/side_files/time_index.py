"""Time index of a segment (`.timeindex`): offsets from which to search for a time.

Layout of an entry, in bytes from its start, integers big-endian; the file has only entries::

     0  timestamp_ms     i64  largest timestamp of the segment so far, ms since the epoch
     8  relative_offset  i32  offset of a record with that timestamp, minus the base offset

The file has no checksum and is only a hint. Zeroed files occur, and up to Kafka 3.8 the offset may
be in the middle of a batch. Segments written before 0.10.1 have no time index.

Kafka preallocates the file of the active segment and truncates it at a clean stop, so the file of a
live or killed broker ends in zeros, which are not entries.

Source: apache/kafka 1eb7644, TimeIndex.java, AbstractIndex.java.
"""

import struct
from typing import NamedTuple

from seglake.segment_codec.formats.side_files._index_entries import (
    length_damage,
    without_zero_tail,
)

ENTRY = struct.Struct(">qi")


class TimestampOffset(NamedTuple):
    """The largest timestamp so far, in ms since 1970, and the offset of a record with it."""

    timestamp_ms: int
    offset: int


class TimeIndex(NamedTuple):
    """Entries of a time index up to the first damage; neither timestamps nor offsets ever fall.

    Attributes:
        damage: why the entries end early; None if the file ends after them, or has only zeros.
    """

    entries: tuple[TimestampOffset, ...]
    damage: str | None


def parse(data: bytes | memoryview, base_offset: int) -> TimeIndex:
    """Parse a whole `.timeindex` file; `base_offset` is the number in its name.

    Damage is part of the result, not raised. The result has no view of `data`.
    """
    entries: list[TimestampOffset] = []
    damage = length_damage(len(data), ENTRY.size)
    timestamp_ms = relative_offset = 0
    content = bytes(data)
    # A single entry of zeros is valid: a closed segment whose only record has timestamp 0.
    if len(data) != ENTRY.size:
        content = without_zero_tail(data, ENTRY.size)
    for next_timestamp_ms, next_offset in ENTRY.iter_unpack(content):
        if next_timestamp_ms < timestamp_ms or next_offset < relative_offset:
            damage = (
                f"entry {len(entries)} (timestamp {next_timestamp_ms}, relative offset "
                f"{next_offset}) is below timestamp {timestamp_ms}, relative offset "
                f"{relative_offset}"
            )
            break
        timestamp_ms, relative_offset = next_timestamp_ms, next_offset
        entries.append(TimestampOffset(timestamp_ms, base_offset + relative_offset))
    return TimeIndex(tuple(entries), damage)
