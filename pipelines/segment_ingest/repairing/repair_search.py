"""Looks in a copy of a partition for sound batches where the lake has gaps. Runs in tasks. Effect.

Only what a checksum proves is offered, and only batches that lie in a gap whole: in one lineage the
copies have the same batches, so that one which does not fit in belongs to another state of the log.
Damage is evidence where the lake has none: a gap of weak cause is looked at with its damage.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lake.errors import StorageError
from lake.storage import Storage
from pipelines.segment_ingest.planning.coverage import OffsetRange
from pipelines.segment_ingest.same_logs.batch_search import walk_start
from pipelines.segment_ingest.same_logs.lineage import Lineage
from pipelines.segment_ingest.sources.partition_log import SegmentFile
from pipelines.segment_ingest.sources.side_files import anchors_of, read_index
from pipelines.segment_ingest.surveying.survey_values import DataSpan
from pipelines.segment_ingest.surveying.unit_facts import marker_of
from segment_codec.errors import DefectError, SegmentCodecError
from segment_codec.message_set import Wrapper
from segment_codec.offset_order import OffsetOrder, Unit
from segment_codec.record_batch import RecordBatch
from segment_codec.reference_decoder import decode
from segment_codec.segment import MOST_OFFSETS, Defect, SegmentBounds, SegmentWalk, Tail
from segment_codec.transactions import Marker
from segment_codec.window import Window


class Refused(NamedTuple):
    """A batch whose checksum holds and which was quarantined all the same, by where it stands."""

    segment: str
    position: int
    last_offset: int


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One copy of a partition, and the gaps to look for in it.

    Attributes:
        files: the copy's segments in order; offsets of the next one are not in a segment.
        gaps: offset ranges, rising, apart from each other.
        weak: of each gap, whether damage found in it tells more than the lake knows.
        lineage: of the log that the lake has; batches of another epoch are not of that log.
        misplaced: batches whose offsets are not believed.
        faulty: batches that are damaged inside.
        is_replay: offer of these what decodes now.
        most_decoded_bytes: of one batch.
    """

    storage: Storage
    files: tuple[SegmentFile, ...]
    gaps: tuple[OffsetRange, ...]
    weak: tuple[bool, ...]
    lineage: Lineage
    misplaced: frozenset[Refused]
    faulty: frozenset[Refused]
    is_replay: bool
    most_decoded_bytes: int
    window_bytes: int

    @property
    def read_bytes(self) -> int:
        """About what a search reads: the share of each segment that the gaps have in it."""
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


@dataclass(slots=True)
class FoundSpan:
    """What a copy has in a row inside one gap and one segment: bytes [start, stop).

    Attributes:
        sound_offsets, record_count: what its sound batches span and hold.
        is_whole: there is nothing in it but sound batches.
        first_offset, next_offset: of the sound batches, or where damage without one stands.
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
    events: list[Marker | DataSpan] = field(default_factory=list)

    def take(self, item: Unit | Defect, first_offset: int) -> None:
        """Add what lies behind."""
        self.stop = item.position + item.size_bytes
        if isinstance(item, Defect):
            self.is_whole = False
            return
        if not self.sound_offsets:
            self.first_offset = first_offset
        span = item.last_offset + 1 - first_offset
        self.sound_offsets += span
        self.next_offset = item.last_offset + 1
        if isinstance(item, RecordBatch):
            self.record_count += item.header.record_count
            _note_transaction(self.events, item)
        else:
            self.record_count += span


def search(requests: tuple[SearchRequest, ...]) -> list[list[FoundSpan]]:
    """Search several copies, one after the other; a copy that cannot be read offers nothing."""
    return [_search(request) for request in requests]


def _search(request: SearchRequest) -> list[FoundSpan]:
    spans: list[FoundSpan] = []
    for index, file in enumerate(request.files):
        following = request.files[index + 1] if index + 1 < len(request.files) else None
        limit = file.base_offset + MOST_OFFSETS if following is None else following.base_offset
        gaps = [
            number
            for number, (start, stop) in enumerate(request.gaps)
            if start < limit and file.base_offset < stop
        ]
        if not gaps:
            continue
        try:
            spans += _search_file(request, index, limit, gaps)
        except (StorageError, SegmentCodecError):
            continue  # this time there is nothing to be had from it
    return spans


def _search_file(
    request: SearchRequest, file_index: int, limit: int, gaps: Sequence[int]
) -> list[FoundSpan]:
    file = request.files[file_index]
    index = read_index(request.storage, file.index_path, file.base_offset)
    is_last = file_index + 1 == len(request.files)
    spans: list[FoundSpan] = []
    position = 0
    with request.storage.open_reader(file.path) as reader:
        window = Window(reader, request.window_bytes, min(file.size_bytes, reader.size_bytes))
        for number in gaps:
            start, stop = request.gaps[number]
            proved, _ = walk_start(request.storage, file, start - 1, window)
            position = max(position, proved)
            bounds = SegmentBounds(
                file.base_offset, limit, is_last, stop, lambda: anchors_of(index), (start, stop)
            )
            collector = _Collector(request, number, file_index, spans)
            for item in _items(window, bounds, position):
                if isinstance(item, Defect):
                    collector.damage(item)
                else:
                    position = item.position
                    if item.first_offset >= stop:
                        break
                    collector.sound(item)
            collector.settle_damage(stop)
    return spans


class _Collector:
    """Puts what lies in one gap and one segment into spans, in the order of the bytes."""

    def __init__(
        self, request: SearchRequest, gap: int, file_index: int, spans: list[FoundSpan]
    ) -> None:
        self._request = request
        self._gap = gap
        self._file_index = file_index
        self._spans = spans
        self._damage: list[Defect] = []  # until the next sound offset is known
        self._is_open = False  # what was before is in the newest span, so what follows joins it

    def damage(self, defect: Defect) -> None:
        """Damage was met."""
        self._damage.append(defect)

    def sound(self, unit: Unit) -> None:
        """A batch was met whose checksum holds."""
        self.settle_damage(unit.first_offset)
        file = self._request.files[self._file_index]
        first_offset = _first_offset(unit, self._request)
        if first_offset is None:
            self._add(unit, unit.first_offset, is_inside=False)
            return
        is_offered = _is_offered(unit, first_offset, self._request, self._gap, file)
        self._add(unit, first_offset, is_inside=is_offered)

    def settle_damage(self, next_offset: int) -> None:
        """Tell of which damage the offsets may be in the gap: those before the next sound one."""
        start, stop = self._request.gaps[self._gap]
        for defect in self._damage:
            claimed = defect.base_offset
            if claimed is not None and defect.expected_offset <= claimed < next_offset:
                is_inside = start <= claimed < stop
            else:
                is_inside = defect.expected_offset < stop and start < next_offset
            offset = max(start, defect.expected_offset)
            is_told = is_inside and self._request.weak[self._gap]
            self._add(defect, offset, is_inside=is_told)
        self._damage.clear()

    def _add(self, item: Unit | Defect, offset: int, *, is_inside: bool) -> None:
        if is_inside and not self._is_open:
            place = item.position
            self._spans.append(FoundSpan(self._gap, self._file_index, place, place, offset, offset))
        if is_inside:
            self._spans[-1].take(item, offset)
        self._is_open = is_inside


def _items(window: Window, bounds: SegmentBounds, position: int) -> Iterator[Unit | Defect]:
    walk = SegmentWalk(window, bounds, OffsetOrder(bounds.base_offset))
    for item in walk.items(position):
        if not isinstance(item, Tail):
            yield item


def _first_offset(unit: Unit, request: SearchRequest) -> int | None:
    """Where a batch begins; an old wrapper has to be decoded for it, None where that fails."""
    if not isinstance(unit, Wrapper):
        return unit.first_offset
    try:
        return decode(unit, request.most_decoded_bytes)[0].offset
    except DefectError:
        return None


def _is_offered(
    unit: Unit, first_offset: int, request: SearchRequest, gap: int, file: SegmentFile
) -> bool:
    start, stop = request.gaps[gap]
    if first_offset < start or unit.last_offset >= stop:
        return False
    known = Refused(file.name, file.origin_position + unit.position, unit.last_offset)
    if known in request.misplaced:
        return False
    if known in request.faulty and not (request.is_replay and _decodes(unit, request)):
        return False
    if not isinstance(unit, RecordBatch) or unit.header.partition_leader_epoch < 0:
        return True
    epoch = request.lineage.epoch_at(unit.first_offset)
    return epoch is None or epoch == unit.header.partition_leader_epoch


def _decodes(unit: Unit, request: SearchRequest) -> bool:
    try:
        decode(unit, request.most_decoded_bytes)
    except DefectError:
        return False
    return True


def _note_transaction(events: list[Marker | DataSpan], batch: RecordBatch) -> None:
    header = batch.header
    marker = marker_of(batch)
    if marker is not None:
        events.append(marker)
    elif header.is_transactional and not header.is_control:
        last = next((e for e in reversed(events) if e.producer_id == header.producer_id), None)
        if not isinstance(last, DataSpan):
            events.append(DataSpan(batch.first_offset, header.producer_id))
