"""The files beside a .log: offset, time and transaction index, producer snapshot.

Entries, integers big-endian::

    .index      relative offset i32, position i32
    .timeindex  timestamp i64, relative offset i32
    .txnindex   version i16 0, producer i64, first offset i64, last offset i64, last stable i64
    .snapshot   version i16 1, crc u32 (CRC-32C of what follows it), count i32, then per producer:
                id i64, epoch i16, last sequence i32, last offset i64, offset delta i32,
                timestamp i64, coordinator epoch i32, first offset of the open transaction i64
"""

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import crc32c

from support.encoder.record import EncodedBatch

_OFFSET_ENTRY = struct.Struct(">ii")
_TIME_ENTRY = struct.Struct(">qi")
_ABORTED = struct.Struct(">hqqqq")
_SNAPSHOT_START = struct.Struct(">hI")
_PRODUCER = struct.Struct(">qhiqiqiq")


class OffsetEntry(NamedTuple):
    """An entry of an offset index, with the absolute offset."""

    offset: int
    position: int


class TimeEntry(NamedTuple):
    """An entry of a time index, with the absolute offset."""

    timestamp_ms: int
    offset: int


class Aborted(NamedTuple):
    """An aborted transaction; `last_offset` is its marker's."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class ProducerEntry(NamedTuple):
    """The state of one producer; -1 where there is none."""

    producer_id: int
    epoch: int = 0
    last_sequence: int = -1
    last_offset: int = -1
    offset_delta: int = 0
    timestamp_ms: int = -1
    coordinator_epoch: int = -1
    open_transaction_first_offset: int = -1


def offset_index(base_offset: int, entries: Iterable[OffsetEntry], zero_entries: int = 0) -> bytes:
    """An .index file; `zero_entries` makes the tail of one that was preallocated."""
    packed = [_OFFSET_ENTRY.pack(offset - base_offset, position) for offset, position in entries]
    return b"".join(packed) + bytes(_OFFSET_ENTRY.size * zero_entries)


def time_index(base_offset: int, entries: Iterable[TimeEntry], zero_entries: int = 0) -> bytes:
    """A .timeindex file."""
    packed = [_TIME_ENTRY.pack(timestamp, offset - base_offset) for timestamp, offset in entries]
    return b"".join(packed) + bytes(_TIME_ENTRY.size * zero_entries)


def transaction_index(entries: Iterable[Aborted]) -> bytes:
    """A .txnindex file."""
    return b"".join([_ABORTED.pack(0, *entry) for entry in entries])


def producer_snapshot(entries: Sequence[ProducerEntry]) -> bytes:
    """A .snapshot file."""
    body = struct.pack(">i", len(entries)) + b"".join([_PRODUCER.pack(*e) for e in entries])
    return _SNAPSHOT_START.pack(1, crc32c.crc32c(body)) + body


def index_entries(
    base_offset: int, batches: Iterable[EncodedBatch], interval_bytes: int
) -> tuple[list[OffsetEntry], list[TimeEntry]]:
    """The entries a broker of today makes when it appends the batches one by one.

    A batch gets an entry, with its last offset, when more than `interval_bytes` were appended since
    the last entry. The time index then gets the highest timestamp so far, if it grew; and once
    more when the segment is closed.
    """
    offsets: list[OffsetEntry] = []
    times: list[TimeEntry] = []
    highest = TimeEntry(-1, base_offset)
    position = 0
    since_last_entry_bytes = 0
    for batch in batches:
        if batch.max_timestamp_ms > highest.timestamp_ms:
            highest = TimeEntry(batch.max_timestamp_ms, batch.last_offset)
        if since_last_entry_bytes > interval_bytes:
            offsets.append(OffsetEntry(batch.last_offset, position))
            _append_if_later(times, highest)
            since_last_entry_bytes = 0
        position += len(batch.data)
        since_last_entry_bytes += len(batch.data)
    _append_if_later(times, highest)
    return offsets, times


def _append_if_later(times: list[TimeEntry], entry: TimeEntry) -> None:
    if entry.timestamp_ms > (times[-1].timestamp_ms if times else -1):
        times.append(entry)
