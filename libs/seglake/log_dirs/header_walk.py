"""The walk of a survey: what is collected of a segment, batch by batch. Effect: reads."""

from dataclasses import dataclass, field

from seglake.kafka_log.batch_headers import max_timestamp_ms
from seglake.kafka_log.segment_survey import SplitPoint
from seglake.kafka_log.transactions.transaction_events import TransactionEvents
from seglake.log_dirs.scan_request import SurveyRequest
from seglake.log_dirs.segment_side_files import anchors_of, read_index
from seglake.segment_codec.checkpoint_files import EpochStart
from seglake.segment_codec.message_set import MessageRun, Wrapper
from seglake.segment_codec.offset_index import OffsetIndex
from seglake.segment_codec.offset_order import OffsetOrder, Unit
from seglake.segment_codec.record_batch import RecordBatch
from seglake.segment_codec.segment import (
    MOST_OFFSETS,
    Defect,
    Item,
    SegmentBounds,
    SegmentWalk,
    Tail,
)
from seglake.segment_codec.window import Window


def _index(request: SurveyRequest) -> OffsetIndex:
    return read_index(request.storage, request.index_path, request.base_offset)


@dataclass(slots=True)
class Collected:
    """What a walk has met so far."""

    base_offset: int
    is_proved: bool  # every batch by its checksum
    transactions: TransactionEvents
    first_offset: int | None = None
    last: Unit | None = None
    splits: list[SplitPoint] = field(default_factory=list)
    has_compacted_batch: bool = False
    highest_offset: int = 0
    proved_offset: int = 0
    is_faulty: bool = False
    is_cut_open: bool = False
    tail: Tail | None = None
    from_offset: int | None = None
    to_offset: int | None = None
    newest_ms: int | None = None
    newest: RecordBatch | None = None  # until it is proved
    epochs: list[EpochStart] = field(default_factory=list)
    epoch: int = -1


def walk_segment(request: SurveyRequest, window: Window, *, headers_only: bool) -> Collected:
    """Walk the segment; by its headers only up to the first fault."""
    bounds = SegmentBounds(
        base_offset=request.base_offset,
        limit_offset=request.base_offset + MOST_OFFSETS,
        is_last=request.is_last,
        settled_offset=request.settled_offset,
        anchors=lambda: anchors_of(_index(request)),
        run_breaks=request.run_breaks,
        may_have_holes=request.is_cleaned,
    )
    start = _known_start(request, window) if headers_only else None
    position, base_offset = start or (0, request.base_offset)
    order = OffsetOrder(base_offset)
    walk = SegmentWalk(window, bounds, order, headers_only=headers_only)
    transactions = TransactionEvents(base_offset, is_in_order=headers_only)
    found = Collected(base_offset, not headers_only, transactions)
    for item in walk.items(position):
        _collect(found, item, request, window)
        if headers_only and isinstance(item, Defect):
            break
    found.transactions.end()
    _end_epoch(found)
    found.highest_offset, found.proved_offset = order.next_offset, order.proved_offset
    return found


def can_be_believed(found: Collected, window: Window) -> bool:
    """Whether headers were enough: nothing odd was met, and the checksums hold that matter.

    They are those of the last batch and, where there are transactions, of the first batch of each
    open one and of the newest batch: false ones could hold a log back, or let it pass one by.
    """
    if found.is_faulty:
        return False
    decisive = [found.last, *found.transactions.first_batches.values()]
    if found.transactions.events():
        decisive.append(found.newest)
    return all(unit is None or _is_proved(window, unit) for unit in decisive)


def _known_start(request: SurveyRequest, window: Window) -> tuple[int, int] | None:
    """Where the walk may begin instead of at 0: a proved batch at or below what is wanted."""
    if request.walk_offset <= request.base_offset:
        return None
    entry = _index(request).lookup(request.walk_offset - 1)
    if entry is None or entry.position >= window.size_bytes:
        return None
    bounds = SegmentBounds(request.base_offset, request.walk_offset, False, 0)
    order = OffsetOrder(request.base_offset)
    unit = next(SegmentWalk(window, bounds, order).items(entry.position))
    if isinstance(unit, Defect | Tail):
        return None
    return entry.position, unit.first_offset


def _collect(found: Collected, item: Item, request: SurveyRequest, window: Window) -> None:
    match item:
        case Tail():
            found.tail = item
            return
        case Defect():
            found.is_faulty = found.is_cut_open = True
            found.transactions.defect(item)
            return
    if found.last is not None and item.first_offset <= found.last.last_offset:
        found.is_faulty = True  # in a hole of what came before: sound, but out of order
    found.is_cut_open = False
    _note_split(found, item, request, window)
    if found.first_offset is None:
        found.first_offset = item.first_offset
    _note_time(found, item, request)
    found.transactions.sound(item)
    if isinstance(item, RecordBatch):
        header = item.header
        found.has_compacted_batch |= header.record_count <= header.last_offset_delta
        _note_epoch(found, header.partition_leader_epoch, header.base_offset)
    found.last = item


def _note_split(found: Collected, unit: Unit, request: SurveyRequest, window: Window) -> None:
    """Begin a split here when what is wanted begins, or the last split has its bytes."""
    if found.splits:
        is_due = unit.position - found.splits[-1].position >= request.split_bytes
        is_due = is_due and _is_proved(window, unit)
    else:
        is_due = unit.last_offset >= request.start_offset
    if is_due:
        expected = found.base_offset if found.last is None else found.last.last_offset + 1
        first = _first_possible_offset(found, unit)
        crc = unit.header.crc if isinstance(unit, RecordBatch) else unit.crc
        found.splits.append(SplitPoint(unit.position, expected, first, crc))


def _first_possible_offset(found: Collected, unit: Unit) -> int:
    """Where a batch begins; an old wrapper's header does not tell, so: behind the one before."""
    if isinstance(unit, Wrapper):
        return found.base_offset if found.last is None else found.last.last_offset + 1
    return unit.first_offset


def _note_time(found: Collected, unit: Unit, request: SurveyRequest) -> None:
    newest_ms = max_timestamp_ms(unit)
    if newest_ms is None:
        return
    if newest_ms >= 0 and (found.newest_ms is None or newest_ms > found.newest_ms):
        found.newest_ms = newest_ms
        found.newest = unit if isinstance(unit, RecordBatch) and not found.is_proved else None
    if request.from_ms is None and request.to_ms is None:
        return
    first = _first_possible_offset(found, unit)
    if request.from_ms is not None and found.from_offset is None and newest_ms >= request.from_ms:
        found.from_offset = first
    if request.to_ms is not None and found.to_offset is None and newest_ms >= request.to_ms:
        found.to_offset = first


def _note_epoch(found: Collected, epoch: int, first_offset: int) -> None:
    if epoch != found.epoch:
        _end_epoch(found)
        found.epoch = epoch
        if epoch >= 0:
            found.epochs.append(EpochStart(epoch, first_offset))


def _end_epoch(found: Collected) -> None:
    """Name the last batch of those in a row, unless it is the first."""
    last = found.last
    if found.epoch < 0 or not isinstance(last, RecordBatch):
        return
    if last.first_offset != found.epochs[-1].start_offset:
        found.epochs.append(EpochStart(found.epoch, last.first_offset))


def _is_proved(window: Window, unit: Unit) -> bool:
    """Whether a unit's checksum holds, when it was met by its header alone."""
    if isinstance(unit, MessageRun):
        return True
    bounds = SegmentBounds(unit.first_offset, unit.last_offset + 1, False, 0)
    order = OffsetOrder(unit.first_offset)
    stop = unit.position + unit.size_bytes
    item = next(SegmentWalk(window, bounds, order, stop=stop).items(unit.position))
    return not isinstance(item, Defect | Tail)
