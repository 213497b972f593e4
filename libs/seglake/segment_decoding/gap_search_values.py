"""Requests and results of a search for missing offsets in a copy. Pure."""

import hashlib
from dataclasses import dataclass, field
from typing import NamedTuple

from seglake.kafka_log.batch_headers import marker_of
from seglake.kafka_log.leader_epochs import LeaderEpochs
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import SegmentFile
from seglake.kafka_log.segment_survey import DataSpan
from seglake.kafka_log.transaction_markers import Marker
from seglake.segment_codec.formats.defects import Defect
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.formats.units import Unit
from seglake.storage.storage import Storage


class Refused(NamedTuple):
    """Place of a batch that was quarantined although its checksum is right."""

    segment: str
    position: int
    last_offset: int


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A copy of a partition, and the gaps to search in it.

    Attributes:
        files: the copy's segments in order; a segment's offsets end where the next one begins.
        gaps: offset ranges, rising and disjoint.
        weak: for each gap, whether damage found in it is more evidence than the lake has.
        stop_offset: batches that end at or above it do not count.
        leader_epochs: epochs of the ingested log; batches of another epoch are not of that log.
        misplaced: batches whose offsets are not believed.
        faulty: batches that are damaged inside.
        is_replay: offer faulty batches that decode now.
        most_decoded_bytes: most plain bytes of one batch.
        window_bytes: bytes of one read.
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
        """Return an estimate of the bytes to read: the gaps' share of each segment."""
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
    """An offset beside a gap, in a batch that reaches out of the gap.

    Attributes:
        crc: checksum of the batch.
        record_hash: hash of the record at the offset; None unless the batch is an old wrapper with
            a record there.
    """

    offset: int
    crc: int
    record_hash: bytes | None = None


def record_hash(key: bytes | None, value: bytes | None) -> bytes:
    """Return a hash that identifies a record of an old format."""
    return hashlib.sha256(repr((key, value)).encode()).digest()


@dataclass(slots=True)
class FoundSpan:
    """Consecutive batches of a copy inside one gap and one segment: bytes [start, stop).

    Attributes:
        sound_offsets: number of offsets in the gap that its sound batches span.
        record_count: number of records there.
        is_whole: the span has only sound batches.
        first_offset: first offset of its sound batches in the gap; without one, that of its damage.
        next_offset: end of the offsets of its sound batches in the gap.
        base_offset: first offset of its first sound batch, in the gap or before it.
        crossings: offsets beside the gap that its batch has; such a batch is alone in its span.
        proof_stop: from here on the copy proves nothing about the gap, because a batch there does
            not count; None without one.
        events: markers, and the first transactional batch of a producer since its last marker.
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
    proof_stop: int | None = None
    events: list[Marker | DataSpan] = field(default_factory=list)

    def add_damage(self, defect: Defect) -> None:
        """Extend the span by damage that follows it."""
        self.stop = defect.position + defect.size_bytes
        self.is_whole = False

    def add(self, unit: Unit, first_offset: int, offsets: OffsetRange) -> None:
        """Extend the span by a batch that follows it.

        Args:
            unit: the batch.
            first_offset: its first offset.
            offsets: its offsets that are in the gap.
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
    """Add the event of a batch: a marker, or a transaction's first data."""
    header = batch.header
    marker = marker_of(batch)
    if marker is not None:
        events.append(marker)
    elif header.is_transactional and not header.is_control:
        last = next((e for e in reversed(events) if e.producer_id == header.producer_id), None)
        if not isinstance(last, DataSpan):
            events.append(DataSpan(batch.first_offset, header.producer_id))


class Searched(NamedTuple):
    """Result of a search, with reasons for unread parts of the copy; empty if all was read."""

    spans: list[FoundSpan]
    unread: str
