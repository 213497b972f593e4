"""Producer snapshot of a partition (`.snapshot`): the state of each producer at an offset.

The number in the file's name is the offset after the last included record; it need not be a
segment's base offset. Layout of the header, in bytes from the start of the file, integers
big-endian::

     0  version  i16  1
     2  crc      u32  CRC-32C of bytes [6, end of file)
     6  count    i32  entries that follow; the file is 10 + 46 * count bytes long

Layout of an entry, in bytes from its start::

     0  producer_id               i64
     8  producer_epoch            i16
    10  last_sequence             i32  -1 if the producer's last batch is unknown
    14  last_offset               i64  last record of the last batch; -1 if unknown
    22  offset_delta              i32  last_offset minus the offset of that batch's first record
    26  timestamp_ms              i64  of the last batch, ms since the epoch
    34  coordinator_epoch         i32  of the last marker; -1 if there was none
    38  current_txn_first_offset  i64  -1 if no transaction is open

The checksum covers the entries; their fields are not checked otherwise.

Source: apache/kafka 1eb7644, ProducerStateManager.java.
"""

import struct
from typing import NamedTuple

from seglake.segment_codec.formats.checksum import crc32c

HEADER = struct.Struct(">hIi")
ENTRY = struct.Struct(">qhiqiqiq")
CHECKSUM_START = struct.calcsize(">hI")  # offset 6: the checksum covers all bytes from here on
EMPTY_SNAPSHOT_BYTES = HEADER.size
VERSION = 1


class ProducerState(NamedTuple):
    """State of one producer; offsets that the file states as -1 are None."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int | None
    offset_delta: int
    timestamp_ms: int
    coordinator_epoch: int
    current_txn_first_offset: int | None


class ProducerSnapshot(NamedTuple):
    """Content of a `.snapshot` file; it has no entries if the file is damaged.

    Attributes:
        version: version in the header; None if the file is too short.
        damage: why the entries are unusable; None if they are usable.
    """

    version: int | None
    crc_is_valid: bool
    entries: tuple[ProducerState, ...]
    damage: str | None


def parse(data: bytes | memoryview) -> ProducerSnapshot:
    """Parse a whole `.snapshot` file.

    Damage is part of the result, not raised. The result has no view of `data`.
    """
    if len(data) < HEADER.size:
        too_short = f"{len(data)} bytes, shorter than the header of {HEADER.size}"
        return ProducerSnapshot(None, crc_is_valid=False, entries=(), damage=too_short)
    version, stored_crc, count = HEADER.unpack_from(data)
    computed_crc = crc32c(data[CHECKSUM_START:])
    crc_is_valid = stored_crc == computed_crc
    expected_bytes = HEADER.size + ENTRY.size * count
    entries: tuple[ProducerState, ...] = ()
    damage: str | None = None
    if version != VERSION:
        damage = f"version {version}, expected {VERSION}"
    elif not crc_is_valid:
        damage = f"checksum {computed_crc:08x}, the header states {stored_crc:08x}"
    elif len(data) != expected_bytes:
        damage = f"{len(data)} bytes, but {count} entries need {expected_bytes}"
    else:
        entries = tuple(map(_producer_state, ENTRY.iter_unpack(bytes(data[HEADER.size :]))))
    return ProducerSnapshot(version, crc_is_valid, entries, damage)


def _producer_state(fields: tuple[int, ...]) -> ProducerState:
    """Make the state of a producer from the numbers of its entry."""
    state = ProducerState._make(fields)
    last_offset, current_txn_first_offset = fields[3], fields[7]
    return state._replace(
        last_offset=None if last_offset < 0 else last_offset,
        current_txn_first_offset=(
            None if current_txn_first_offset < 0 else current_txn_first_offset
        ),
    )
