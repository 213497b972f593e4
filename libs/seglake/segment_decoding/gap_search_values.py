"""Requests and results of searching a copy for missing offsets."""

import hashlib
from dataclasses import dataclass, field
from typing import NamedTuple

from seglake.kafka_log.batch_headers import marker_of
from seglake.kafka_log.leader_epochs import LeaderEpochs
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import RemoteGap, SegmentFile
from seglake.kafka_log.segment_survey import DataSpan
from seglake.kafka_log.transaction_markers import Marker
from seglake.segment_codec.formats.defects import Defect
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.formats.units import Unit
from seglake.storage.storage import Storage


class Refused(NamedTuple):
    """Position of a quarantined batch whose checksum is valid."""

    segment: str
    position: int
    last_offset: int


class SearchRequest(NamedTuple):
    """A copy of a partition, and the gaps to search in it.

    Attributes:
        files: the copy's segments in order; a segment ends where the next one begins.
        gaps: sorted, disjoint offset ranges.
        weak: for each gap, whether its cause is unproved: damage in the copy may then explain it.
        stop_offset: batches that end at or above this offset are ignored.
        leader_epochs: epochs of the ingested log; batches with another epoch are ignored.
        misplaced: quarantined batches with implausible offsets.
        faulty: quarantined batches that could not be decoded.
        is_replay: whether to accept faulty batches that can be decoded now.
        most_decoded_bytes: highest accepted size of an uncompressed batch.
        window_bytes: size of a read.
    """

    storage: Storage
    files: tuple[SegmentFile, ...]
    gaps: tuple[OffsetRange, ...]
    weak: tuple[bool, ...]
    stop_offset: int
    leader_epochs: LeaderEpochs
    misplaced: frozenset[Refused]
    faulty: frozenset[Refused]
    is_replay: bool
    most_decoded_bytes: int
    window_bytes: int

    @property
    def read_bytes(self) -> int:
        """Estimate the bytes to read: each segment's size times its share of offsets in gaps."""
        total = 0
        for index, file in enumerate(self.files):
            stop = self.files[index + 1].base_offset if index + 1 < len(self.files) else None
            for start, following in self.gaps:
                low = max(start, file.base_offset)
                high = following if stop is None else min(following, stop)
                if low < high:
                    span = high - low if stop is None else stop - file.base_offset
                    total += file.size_bytes * (high - low) // max(span, 1)
        return total


class Crossing(NamedTuple):
    """Offset next to a gap, in a batch that is partly in the gap.

    Attributes:
        crc: checksum of the batch.
        record_hash: hash of the record at the offset, if the batch is a compressed message of the
            old formats and has a record at the offset; else None.
    """

    offset: int
    crc: int
    record_hash: bytes | None = None


def record_hash(key: bytes | None, value: bytes | None) -> bytes:
    """Return a hash of the record's key and value."""
    return hashlib.sha256(repr((key, value)).encode()).digest()


@dataclass(slots=True)
class FoundSpan:
    """Bytes [start, stop) of a copy's segment: consecutive batches that may fill one gap.

    Attributes:
        first_offset: first offset of the valid batches within the gap; without a valid batch, first
            offset of the damage.
        next_offset: exclusive end of the valid batches within the gap.
        sound_offsets: number of the gap's offsets within the valid batches.
        record_count: number of records at the gap's offsets.
        is_whole: whether the span has no damage.
        base_offset: first offset of the first valid batch, which may be below the gap.
        crossings: offsets next to the gap, if the batch is partly outside it; such a batch is a
            span by itself.
        events: transaction markers, and each producer's first transactional batch after a marker.
    """

    gap_index: int
    file_index: int
    start: int
    stop: int
    first_offset: int
    next_offset: int
    sound_offsets: int = 0
    record_count: int = 0
    is_whole: bool = True
    base_offset: int | None = None
    crossings: tuple[Crossing, ...] = ()
    events: list[Marker | DataSpan] = field(default_factory=list)

    @property
    def offsets(self) -> OffsetRange:
        """Return the range of the valid batches' offsets within the gap."""
        return self.first_offset, self.next_offset

    def add_damage(self, defect: Defect) -> None:
        """Extend the span by the damage after it."""
        self.stop = defect.position + defect.size_bytes
        self.is_whole = False

    def add(self, unit: Unit, first_offset: int, offsets: OffsetRange) -> None:
        """Extend the span by the batch after it.

        Args:
            unit: the batch.
            first_offset: first offset of the batch.
            offsets: offsets of the batch within the gap.
        """
        self.stop = unit.position + unit.size_bytes
        start, self.next_offset = offsets
        if not self.sound_offsets:
            self.first_offset, self.base_offset = start, first_offset
        span = self.next_offset - start
        self.sound_offsets += span
        if isinstance(unit, RecordBatch):
            self.record_count += min(unit.header.record_count, span)
            _note_transaction(self.events, unit)
        else:
            self.record_count += span


def _note_transaction(events: list[Marker | DataSpan], batch: RecordBatch) -> None:
    """Add a batch to the events if it is a marker or begins a transaction."""
    header = batch.header
    marker = marker_of(batch)
    if marker is not None:
        events.append(marker)
    elif header.is_in_transaction and not header.is_control:
        last = next((e for e in reversed(events) if e.producer_id == header.producer_id), None)
        if not isinstance(last, DataSpan):
            events.append(DataSpan(batch.first_offset, header.producer_id))


class Searched(NamedTuple):
    """Result of a search.

    Attributes:
        spans: byte spans that may fill the gaps.
        unread: why a file could not be read; empty if all were read.
        absent: parts of the gaps that are in unreadable objects of a remote tier.
        unused: offsets in ignored batches and in unreadable files, each with the index of its gap.
    """

    spans: list[FoundSpan]
    unread: str
    absent: list[RemoteGap]
    unused: list[tuple[int, OffsetRange]]
