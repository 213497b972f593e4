"""Transaction index of a segment (`.txnindex`): transactions whose abort marker is in the segment.

Layout of an entry, in bytes from its start, integers big-endian; the file has only entries::

     0  version             i16  0
     2  producer_id         i64
    10  first_offset        i64  first record of the transaction; may be in an earlier segment
    18  last_offset         i64  the abort marker itself
    26  last_stable_offset  i64  first record of the oldest transaction still open after the marker,
                                 else the offset after the marker

The file is created with its first entry and grows by whole entries. So without a file no
transaction was aborted, and zeros are damage. The file has no checksum; the markers in the log
override it.

Source: apache/kafka 1eb7644, TransactionIndex.java, AbortedTxn.java.
"""

import struct
from typing import NamedTuple

from seglake.segment_codec.formats.side_files._index_entries import length_damage

ENTRY = struct.Struct(">hqqqq")
VERSION = 0


class AbortedTransaction(NamedTuple):
    """One aborted transaction; both offsets are inclusive, and `last_offset` is the marker's."""

    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex(NamedTuple):
    """Entries before any damage, in the order of their markers.

    Attributes:
        damage: why the entries end early; None if they end at the end of the file.
    """

    entries: tuple[AbortedTransaction, ...]
    damage: str | None


def parse(data: bytes | memoryview) -> TransactionIndex:
    """Parse a whole `.txnindex` file.

    Damage is part of the result, not raised. The result has no view of `data`.
    """
    entries: list[AbortedTransaction] = []
    damage = length_damage(len(data), ENTRY.size)
    last_offset = -1
    for fields in ENTRY.iter_unpack(bytes(data[: len(data) - len(data) % ENTRY.size])):
        entry = AbortedTransaction._make(fields)
        fault = _fault(entry, last_offset)
        if fault:
            damage = f"entry {len(entries)}: {fault}"
            break
        last_offset = entry.last_offset
        entries.append(entry)
    return TransactionIndex(tuple(entries), damage)


def _fault(entry: AbortedTransaction, last_offset: int) -> str | None:
    """Return why an entry of the index is invalid; None if it is valid."""
    if entry.version != VERSION:
        return f"version {entry.version}, expected {VERSION}"
    if entry.producer_id < 0:
        return f"producer id {entry.producer_id} is negative"
    if not 0 <= entry.first_offset < entry.last_offset:
        return f"a transaction from offset {entry.first_offset} to marker {entry.last_offset}"
    if not 0 <= entry.last_stable_offset <= entry.last_offset + 1:
        return f"last stable offset {entry.last_stable_offset} after marker {entry.last_offset}"
    if entry.last_offset <= last_offset:
        return f"marker {entry.last_offset} is not above marker {last_offset}"
    return None
