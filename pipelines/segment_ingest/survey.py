"""One walk over the headers of a segment, before anything is decoded. Runs in tasks. Effect.

It reads the headers and the markers of transactions, not the bodies; where it meets anything odd it
walks the segment again in full, checksums included. Only what a checksum proves is used to cut the
work: a split point is a batch whose checksum holds.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from lake.errors import StorageError
from lake.storage import Storage
from segment_codec.control_record import ControlType, control_type
from segment_codec.errors import DefectError, SegmentCodecError, TailKind
from segment_codec.message_set import MessageRun, Wrapper
from segment_codec.offset_index import OffsetIndex
from segment_codec.offset_index import parse as parse_offset_index
from segment_codec.offset_order import OffsetOrder, Unit
from segment_codec.record_batch import RecordBatch
from segment_codec.reference_decoder import decode
from segment_codec.segment import (
    MOST_OFFSETS,
    Defect,
    Item,
    SegmentBounds,
    SegmentWalk,
    Tail,
)
from segment_codec.transactions import Marker
from segment_codec.window import Window

_HEADER_READ_BYTES = 4096  # one page: a header, and the next ones where batches are small
_MARKER_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class SurveyRequest:
    """One segment to look at; everything here is known from listings and settings.

    Attributes:
        is_cleaned: the cleaner's checkpoint lies above the segment's base.
        start_offset: nothing below is wanted; the walk may begin behind it.
        run_breaks: offsets at which runs of messages shall end.
        from_ms, to_ms: where a time window begins and ends, None without one.
    """

    storage: Storage
    path: str
    index_path: str | None
    size_bytes: int
    base_offset: int
    is_last: bool
    is_cleaned: bool
    settled_offset: int
    start_offset: int
    run_breaks: tuple[int, ...]
    split_bytes: int
    window_bytes: int
    from_ms: int | None
    to_ms: int | None


class SplitPoint(NamedTuple):
    """A proved batch start; `expected_offset` is the end of what lies before it."""

    position: int
    expected_offset: int
    first_offset: int
    crc: int


class DataSpan(NamedTuple):
    """The first transactional batch of a producer since its last marker in this segment."""

    offset: int
    producer_id: int


class LastBatch(NamedTuple):
    """The header of the last sound batch of a segment."""

    base_offset: int
    crc: int
    leader_epoch: int | None


@dataclass(frozen=True, slots=True)
class SegmentSurvey:
    """What a segment holds; `missing` says why nothing could be read of it.

    Attributes:
        splits: where tasks may begin; the first is the start of what is wanted.
        next_offset: behind the last sound batch, its base offset if it has none.
        highest_offset: behind the highest offset of all; above `next_offset` where a batch has
            lower ones behind it.
        is_plain: nothing odd was met: offsets rise, every byte belongs to a batch or the tail.
        is_cut_open: what follows the last sound batch is damage, not a tail.
        from_offset, to_offset: first offset of the first batch whose newest record is at or after
            the window's begin and end, None when there is none.
    """

    size_bytes: int
    first_offset: int | None
    next_offset: int
    highest_offset: int
    splits: tuple[SplitPoint, ...]
    is_plain: bool
    is_cut_open: bool
    has_compacted_batch: bool
    events: tuple[Marker | DataSpan, ...]
    last_batch: LastBatch | None
    tail: TailKind | None
    from_offset: int | None
    to_offset: int | None
    missing: str | None = None


def survey_segments(requests: tuple[SurveyRequest, ...]) -> list[SegmentSurvey]:
    """Survey several segments, one after the other; the task function of the survey stage."""
    return [survey_segment(request) for request in requests]


def survey_segment(request: SurveyRequest) -> SegmentSurvey:
    """Survey one segment. A file that is gone or cut is an answer, not an error."""
    try:
        with request.storage.open_reader(request.path) as reader:
            if reader.size_bytes != request.size_bytes and not request.is_last:
                return _missing(request, f"{request.path} changed its size after it was listed")
            size_bytes = min(reader.size_bytes, request.size_bytes)
            headers = Window(reader, _HEADER_READ_BYTES, size_bytes)
            found = _walk(request, headers, headers_only=True)
            if not _can_be_believed(found, headers):
                full = Window(reader, request.window_bytes, size_bytes)
                found = _walk(request, full, headers_only=False)
            return _survey(request, size_bytes, found)
    except (StorageError, SegmentCodecError) as error:
        return _missing(request, str(error))


def _missing(request: SurveyRequest, reason: str) -> SegmentSurvey:
    return SegmentSurvey(
        0,
        None,
        request.base_offset,
        request.base_offset,
        (),
        False,
        False,
        False,
        (),
        None,
        None,
        None,
        None,
        reason,
    )


def read_index(storage: Storage, index_path: str | None, base_offset: int) -> OffsetIndex:
    """A segment's offset index; an empty one where there is none to be read."""
    if index_path is None:
        return OffsetIndex(base_offset, (), None)
    try:
        return parse_offset_index(storage.read_bytes(index_path), base_offset)
    except StorageError:
        return OffsetIndex(base_offset, (), None)


def _index(request: SurveyRequest) -> OffsetIndex:
    return read_index(request.storage, request.index_path, request.base_offset)


def anchors_of(index: OffsetIndex) -> tuple[int, ...]:
    """The positions that an offset index names as batch starts."""
    return tuple(entry.position for entry in index.entries)


@dataclass(slots=True)
class _Collected:
    """What a walk has met so far."""

    base_offset: int
    first_offset: int | None = None
    last: Unit | None = None
    splits: list[SplitPoint] = field(default_factory=list)
    events: list[Marker | DataSpan] = field(default_factory=list)
    open_producers: set[int] = field(default_factory=set)
    has_compacted_batch: bool = False
    highest_offset: int = 0
    is_faulty: bool = False
    is_cut_open: bool = False
    tail: Tail | None = None
    from_offset: int | None = None
    to_offset: int | None = None


def _walk(request: SurveyRequest, window: Window, *, headers_only: bool) -> _Collected:
    """Walk the segment; by its headers only up to the first fault."""
    bounds = SegmentBounds(
        request.base_offset,
        request.base_offset + MOST_OFFSETS,
        request.is_last,
        request.settled_offset,
        lambda: anchors_of(_index(request)),
        request.run_breaks,
        may_have_holes=request.is_cleaned,
    )
    start = _known_start(request, window) if headers_only else None
    position, base_offset = start or (0, request.base_offset)
    order = OffsetOrder(base_offset)
    walk = SegmentWalk(window, bounds, order, headers_only=headers_only)
    found = _Collected(base_offset)
    for item in walk.items(position):
        _collect(found, item, request, window)
        if headers_only and isinstance(item, Defect):
            break
    found.highest_offset = order.next_offset
    return found


def _can_be_believed(found: _Collected, window: Window) -> bool:
    """Whether headers were enough: nothing odd was met, and the last checksum holds."""
    if found.is_faulty:
        return False
    return found.last is None or _is_proved(window, found.last)


def _known_start(request: SurveyRequest, window: Window) -> tuple[int, int] | None:
    """Where the walk may begin instead of at 0: a proved batch at or below what is wanted."""
    if request.start_offset <= request.base_offset:
        return None
    entry = _index(request).lookup(request.start_offset - 1)
    if entry is None or entry.position >= window.size_bytes:
        return None
    bounds = SegmentBounds(request.base_offset, request.start_offset, False, 0)
    order = OffsetOrder(request.base_offset)
    unit = next(SegmentWalk(window, bounds, order).items(entry.position))
    if isinstance(unit, Defect | Tail):
        return None
    return entry.position, unit.first_offset


def _collect(found: _Collected, item: Item, request: SurveyRequest, window: Window) -> None:
    match item:
        case Tail():
            found.tail = item
            return
        case Defect():
            found.is_faulty = found.is_cut_open = True
            return
    if found.last is not None and item.first_offset <= found.last.last_offset:
        found.is_faulty = True  # in a hole of what came before: sound, but out of order
    found.is_cut_open = False
    _note_split(found, item, request, window)
    if found.first_offset is None:
        found.first_offset = item.first_offset
    _note_time(found, item, request)
    if isinstance(item, RecordBatch):
        _note_transaction(found, item)
        header = item.header
        found.has_compacted_batch |= header.record_count <= header.last_offset_delta
    found.last = item


def _note_split(found: _Collected, unit: Unit, request: SurveyRequest, window: Window) -> None:
    """Begin a split here when what is wanted begins, or the last split has its bytes."""
    if unit.last_offset < request.start_offset:
        return
    expected = found.base_offset if found.last is None else found.last.last_offset + 1
    is_due = not found.splits or (
        unit.position - found.splits[-1].position >= request.split_bytes
        and _is_proved(window, unit)
    )
    if is_due:
        first = _first_possible_offset(found, unit)
        crc = unit.header.crc if isinstance(unit, RecordBatch) else unit.crc
        found.splits.append(SplitPoint(unit.position, expected, first, crc))


def _first_possible_offset(found: _Collected, unit: Unit) -> int:
    """Where a batch begins; an old wrapper's header does not tell, so: behind the one before."""
    if isinstance(unit, Wrapper):
        return found.base_offset if found.last is None else found.last.last_offset + 1
    return unit.first_offset


def _note_time(found: _Collected, unit: Unit, request: SurveyRequest) -> None:
    newest_ms = max_timestamp_ms(unit)
    if newest_ms is None:
        return
    first = _first_possible_offset(found, unit)
    if request.from_ms is not None and found.from_offset is None and newest_ms >= request.from_ms:
        found.from_offset = first
    if request.to_ms is not None and found.to_offset is None and newest_ms >= request.to_ms:
        found.to_offset = first


def max_timestamp_ms(unit: Unit) -> int | None:
    """The newest time in a batch, as its header tells; None in magic 0."""
    match unit:
        case RecordBatch():
            return unit.header.max_timestamp_ms
        case Wrapper():
            return unit.timestamp_ms
        case MessageRun():
            return unit.max_timestamp_ms


def _note_transaction(found: _Collected, batch: RecordBatch) -> None:
    marker = marker_of(batch)
    producer_id = batch.header.producer_id
    if marker is not None:
        found.open_producers.discard(producer_id)
        found.events.append(marker)
    elif (
        batch.header.is_transactional
        and not batch.header.is_control
        and producer_id not in found.open_producers
    ):
        found.open_producers.add(producer_id)
        found.events.append(DataSpan(batch.first_offset, producer_id))


def marker_of(batch: RecordBatch) -> Marker | None:
    """The marker that a control batch is, None for any other batch or an unreadable one."""
    if not batch.header.is_control:
        return None
    try:
        kind = control_type(decode(batch, _MARKER_BYTES))
    except DefectError:
        return None
    if kind not in (ControlType.COMMIT, ControlType.ABORT):
        return None
    return Marker(batch.first_offset, batch.header.producer_id, kind is ControlType.COMMIT)


def _is_proved(window: Window, unit: Unit) -> bool:
    """Whether a unit's checksum holds, when it was met by its header alone."""
    if isinstance(unit, MessageRun):
        return True
    bounds = SegmentBounds(unit.first_offset, unit.last_offset + 1, False, 0)
    order = OffsetOrder(unit.first_offset)
    stop = unit.position + unit.size_bytes
    item = next(SegmentWalk(window, bounds, order, stop=stop).items(unit.position))
    return not isinstance(item, Defect | Tail)


def _survey(request: SurveyRequest, size_bytes: int, found: _Collected) -> SegmentSurvey:
    last = found.last
    splits = tuple(found.splits)
    if found.is_faulty:
        # Cutting at a place whose neighbours are in doubt could lose a batch: one piece, whole.
        splits = (SplitPoint(0, request.base_offset, request.base_offset, -1),)
    return SegmentSurvey(
        size_bytes,
        found.first_offset,
        request.base_offset if last is None else last.last_offset + 1,
        request.base_offset if last is None else found.highest_offset,
        splits,
        not found.is_faulty,
        found.is_cut_open,
        found.has_compacted_batch,
        tuple(found.events),
        None if last is None else last_batch_of(last),
        None if found.tail is None else found.tail.kind,
        found.from_offset,
        found.to_offset,
    )


def last_batch_of(unit: Unit) -> LastBatch:
    """What the ledger keeps of the last batch of a range."""
    if isinstance(unit, RecordBatch):
        epoch = unit.header.partition_leader_epoch
        return LastBatch(unit.first_offset, unit.header.crc, None if epoch < 0 else epoch)
    return LastBatch(unit.first_offset, unit.crc, None)
