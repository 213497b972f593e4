"""Writes segments: a .log and the files beside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from support.encoder.record import EncodedBatch
from support.encoder.side_files import (
    Aborted,
    OffsetEntry,
    ProducerEntry,
    TimeEntry,
    index_entries,
    offset_index,
    producer_snapshot,
    time_index,
    transaction_index,
)

DEFAULT_INDEX_INTERVAL_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment to write.

    `tail` follows the last batch in the .log: zeros, garbage, the start of a batch. A snapshot is
    written at the segment's base offset, as it is when the segment before it is rolled.
    """

    base_offset: int
    batches: Sequence[EncodedBatch]
    tail: bytes = b""
    aborted: Sequence[Aborted] = ()
    snapshot: Sequence[ProducerEntry] | None = None
    has_indexes: bool = True
    index_interval_bytes: int = DEFAULT_INDEX_INTERVAL_BYTES
    index_zero_entries: int = 0

    @property
    def next_offset(self) -> int:
        """The offset after the last batch; the base offset when there is none."""
        return self.batches[-1].next_offset if self.batches else self.base_offset


class WrittenSegment(NamedTuple):
    """Path of a written segment, and the entries of its indexes (empty without indexes)."""

    path: Path
    size_bytes: int
    next_offset: int
    positions: tuple[int, ...]
    offset_entries: tuple[OffsetEntry, ...]
    time_entries: tuple[TimeEntry, ...]


def write_segment(folder: Path, segment: Segment) -> WrittenSegment:
    """Write the files of one segment into an existing folder.

    `positions` of the answer are those of the batches, in order.
    """
    stem = f"{segment.base_offset:020d}"
    path = folder / f"{stem}.log"
    content = b"".join([*(batch.data for batch in segment.batches), segment.tail])
    path.write_bytes(content)
    offsets: list[OffsetEntry] = []
    times: list[TimeEntry] = []
    if segment.has_indexes:
        base_offset, zeros = segment.base_offset, segment.index_zero_entries
        offsets, times = index_entries(base_offset, segment.batches, segment.index_interval_bytes)
        (folder / f"{stem}.index").write_bytes(offset_index(base_offset, offsets, zeros))
        (folder / f"{stem}.timeindex").write_bytes(time_index(base_offset, times, zeros))
    if segment.aborted:
        (folder / f"{stem}.txnindex").write_bytes(transaction_index(segment.aborted))
    if segment.snapshot is not None:
        (folder / f"{stem}.snapshot").write_bytes(producer_snapshot(segment.snapshot))
    return WrittenSegment(
        path=path,
        size_bytes=len(content),
        next_offset=segment.next_offset,
        positions=tuple(positions_of(segment.batches)),
        offset_entries=tuple(offsets),
        time_entries=tuple(times),
    )


def positions_of(batches: Sequence[EncodedBatch]) -> list[int]:
    """Return the position of each batch if they are written one after the other."""
    positions = []
    position = 0
    for batch in batches:
        positions.append(position)
        position += len(batch.data)
    return positions
