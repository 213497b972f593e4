"""Searches another copy for valid batches in the gaps of a lake. Runs in tasks.

Only batches with a valid checksum are used. Replicas with the same leader epochs have the same
batches. So if a batch is partly in a gap, the lake must already have the rest of this batch. The
driver checks this. If a gap's cause is unproved, damage in the copy is collected too, since it may
explain the gap.
"""

from collections.abc import Iterator, Sequence

from seglake.kafka_log.batch_headers import control_kind, last_batch_of
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import RemoteGap, SegmentFile
from seglake.log_dirs.batch_search import indexed_start
from seglake.log_dirs.segment_files import with_limits
from seglake.log_dirs.segment_reader import open_segment
from seglake.log_dirs.segment_side_files import anchors, read_index
from seglake.segment_codec.formats.aiven_tier.errors import TierObjectError
from seglake.segment_codec.formats.defects import Defect, Tail
from seglake.segment_codec.formats.errors import DefectError, SegmentCodecError
from seglake.segment_codec.formats.message_set import Wrapper
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.formats.reference_decoder import decode
from seglake.segment_codec.formats.side_files.log_dir import OFFSET_MAX
from seglake.segment_codec.formats.units import Unit
from seglake.segment_codec.walk.offset_order import OffsetOrder
from seglake.segment_codec.walk.segment import SegmentWalk
from seglake.segment_codec.walk.segment_bounds import MOST_OFFSETS, SegmentBounds
from seglake.segment_codec.walk.window import Window
from seglake.segment_decoding.gap_search_values import (
    Crossing,
    FoundSpan,
    Refused,
    Searched,
    SearchRequest,
    record_hash,
)
from seglake.storage.errors import NotFoundError, StorageError
from seglake.task_engine.task_progress import CountedReads


def search(request: SearchRequest) -> Searched:
    """Search a copy for batches in gaps; a file that cannot be read contributes nothing."""
    spans: list[FoundSpan] = []
    absent: list[RemoteGap] = []
    unused: list[tuple[int, OffsetRange]] = []
    unread = ""
    # The lake has the batch that follows the last gap, so its offsets are plausible, too.
    last = max((stop for _, stop in request.gaps), default=0)
    proved = min(last + MOST_OFFSETS, OFFSET_MAX)
    for index, (file, limit) in enumerate(with_limits(request.files, proved)):
        gaps = [
            number
            for number, (start, stop) in enumerate(request.gaps)
            if start < limit and file.base_offset < stop
        ]
        if not gaps:
            continue
        count = len(spans)
        try:
            _search_file(request, index, limit, gaps, spans, unused)
        except (TierObjectError, StorageError, SegmentCodecError) as error:
            del spans[count:]  # an unreadable file contributes nothing
            parts = [
                (max(start, file.base_offset), min(stop, limit))
                for start, stop in (request.gaps[number] for number in gaps)
            ]
            unused += zip(gaps, parts, strict=True)
            if isinstance(error, TierObjectError):
                absent += [RemoteGap(*part, str(error)) for part in parts]
            elif not isinstance(error, NotFoundError):  # the log cleaner may have deleted the file
                unread = unread or str(error)
    return Searched(spans, unread, absent, unused)


def _search_file(
    request: SearchRequest,
    file_index: int,
    limit: int,
    gaps: Sequence[int],
    spans: list[FoundSpan],
    unused: list[tuple[int, OffsetRange]],
) -> None:
    """Search one segment for batches in some gaps; add to `spans`, and ignored ones to `unused`."""
    file = request.files[file_index]
    index = read_index(request.storage, file)
    is_last = file_index + 1 == len(request.files)
    position = 0
    with open_segment(request.storage, file) as reader:
        size_bytes = min(file.size_bytes, reader.size_bytes)
        window = Window(CountedReads(reader), request.window_bytes, size_bytes)
        for number in gaps:
            start, stop = request.gaps[number]
            proved, _ = indexed_start(index, start - 1, window)
            position = max(position, proved)
            bounds = SegmentBounds(
                base_offset=file.base_offset,
                limit_offset=limit,
                is_last=is_last,
                durable_offset=stop,
                anchors=anchors(request.storage, file),
                run_breaks=(start, stop),
            )
            collector = _Collector(request, number, file_index, spans, unused)
            for item in _items(window, bounds, position):
                if isinstance(item, Defect):
                    collector.damage(item)
                    continue
                is_after = item.first_offset >= stop
                if not is_after:
                    position = item.position
                # A wrapper's header states only the last offset.
                if not is_after or isinstance(item, Wrapper):
                    collector.sound(item)
                if is_after:
                    break
            collector.settle_damage(stop)


class _Collector:
    """Collector of one segment's byte spans that may fill one gap, in the order of bytes."""

    def __init__(
        self,
        request: SearchRequest,
        gap: int,
        file_index: int,
        spans: list[FoundSpan],
        unused: list[tuple[int, OffsetRange]],
    ) -> None:
        """Start at the first batch or damage in the gap.

        Args:
            request: the search.
            gap: index of the gap.
            file_index: index of the segment.
            spans: receives the spans.
            unused: receives the offsets of the gap in ignored batches.
        """
        self._request = request
        self._gap = gap
        self._file_index = file_index
        self._spans = spans
        self._unused = unused
        self._sound_next = request.files[file_index].base_offset  # end of the last valid batch
        self._is_ignoring = False  # whether the next ignored batch extends the newest of `unused`
        self._damage: list[Defect] = []  # damage since the last valid batch
        self._is_open = False  # whether the next batch or damage extends the newest span

    def damage(self, defect: Defect) -> None:
        """Add damage that follows in the segment."""
        self._damage.append(defect)

    def sound(self, unit: Unit) -> None:
        """Add a valid batch that follows in the segment."""
        request, file = self._request, self._request.files[self._file_index]
        first_offset = _first_offset(unit, request)
        self.settle_damage(unit.first_offset if first_offset is None else first_offset)
        begun, self._sound_next = self._sound_next, unit.last_offset + 1
        if first_offset is None or not _is_offered(unit, first_offset, request, self._gap, file):
            self._is_open = False
            self._ignore(begun if first_offset is None else first_offset, unit.last_offset + 1)
            return
        self._is_ignoring = False
        start, stop = request.gaps[self._gap]
        beside = [start - 1] if first_offset < start else []
        beside += [stop] if unit.last_offset >= stop else []
        crossings = _crossings(unit, beside, request) if beside else []
        offsets = max(first_offset, start), min(unit.last_offset + 1, stop)
        if crossings:
            self._is_open = False
        self._open(unit.position, offsets[0]).add(unit, first_offset, offsets)
        self._spans[-1].crossings = tuple(crossings)
        self._is_open = not crossings

    def settle_damage(self, next_offset: int) -> None:
        """Add the damage before a valid offset to the spans, if the gap may be in it."""
        start, stop = self._request.gaps[self._gap]
        for defect, (first, following) in zip(
            self._damage, _regions(self._damage, next_offset), strict=True
        ):
            is_inside = first < stop and start < following
            if is_inside and self._request.weak[self._gap]:
                offset = max(start, defect.expected_offset)
                self._open(defect.position, offset).add_damage(defect)
                self._is_open = True
            else:
                self._is_open = False
        self._damage.clear()

    def _open(self, position: int, offset: int) -> FoundSpan:
        """Return the newest span if the next batch extends it, else a new one."""
        if not self._is_open:
            place = self._gap, self._file_index
            self._spans.append(FoundSpan(*place, position, position, offset, offset))
        return self._spans[-1]

    def _ignore(self, first_offset: int, next_offset: int) -> None:
        """Record an ignored batch: it may have records of the gap, which the copy cannot prove."""
        start, stop = self._request.gaps[self._gap]
        inside = max(first_offset, start), min(next_offset, stop)
        if inside[0] >= inside[1]:
            return
        if self._is_ignoring:
            inside = self._unused.pop()[1][0], inside[1]
        self._unused.append((self._gap, inside))
        self._is_ignoring = True


def _regions(damage: Sequence[Defect], next_offset: int) -> list[OffsetRange]:
    """Return the possible offsets of each defect: up to the next defect with a higher offset."""
    regions: list[OffsetRange] = []
    for first in reversed([_claimed(defect, next_offset) for defect in damage]):
        stop = next_offset
        if regions:
            stop = regions[-1][0] if regions[-1][0] > first else regions[-1][1]
        regions.append((first, stop))
    return regions[::-1]


def _claimed(defect: Defect, next_offset: int) -> int:
    """Return the lowest possible offset of damaged bytes, from their header if plausible."""
    claimed = defect.base_offset
    is_possible = claimed is not None and defect.expected_offset <= claimed < next_offset
    return claimed if claimed is not None and is_possible else defect.expected_offset


def _items(window: Window, bounds: SegmentBounds, position: int) -> Iterator[Unit | Defect]:
    """Yield the batches and defects of a segment, but not undamaged bytes after the last batch."""
    walk = SegmentWalk(window, bounds, OffsetOrder(bounds.base_offset))
    for item in walk.items(position):
        if not isinstance(item, Tail):
            yield item


def _first_offset(unit: Unit, request: SearchRequest) -> int | None:
    """Return the first offset of a batch; decode compressed old messages; None if that fails."""
    if not isinstance(unit, Wrapper):
        return unit.first_offset
    try:
        return decode(unit, request.most_decoded_bytes)[0].offset
    except DefectError:
        return None


def _crossings(unit: Unit, offsets: Sequence[int], request: SearchRequest) -> list[Crossing]:
    """Return the batch's offsets next to the gap, with the batch's checksum or record hashes."""
    crc = last_batch_of(unit).crc
    hashes: dict[int, bytes] = {}
    if isinstance(unit, Wrapper):
        for record in decode(unit, request.most_decoded_bytes):
            if record.offset in offsets:
                hashes[record.offset] = record_hash(record.key, record.value)
    return [Crossing(offset, crc, hashes.get(offset)) for offset in offsets]


def _is_offered(
    unit: Unit, first_offset: int, request: SearchRequest, gap: int, file: SegmentFile
) -> bool:
    """Return whether a batch may fill a gap, completely or in part."""
    start, stop = request.gaps[gap]
    is_apart = unit.last_offset < start or first_offset >= stop
    if is_apart or unit.last_offset >= request.stop_offset:
        return False
    known = Refused(file.name, file.origin_position + unit.position, unit.last_offset)
    if known in request.misplaced:
        return False
    if known in request.faulty and not (request.is_replay and _decodes(unit, request)):
        return False
    if not isinstance(unit, RecordBatch) or unit.header.partition_leader_epoch < 0:
        return True
    epoch = request.leader_epochs.epoch_at(unit.first_offset)
    return epoch is None or epoch == unit.header.partition_leader_epoch


def _decodes(unit: Unit, request: SearchRequest) -> bool:
    """Return whether a batch can be decoded to its end, and its control record read."""
    if isinstance(unit, RecordBatch) and unit.header.is_control:
        return control_kind(unit) is not None
    try:
        decode(unit, request.most_decoded_bytes)
    except DefectError:
        return False
    return True
