"""Walks over a segment's batches, and collects the facts for its survey."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from seglake.kafka_log.batch_headers import max_timestamp_ms
from seglake.kafka_log.segment_survey import NO_WINDOW, EndDamage, TimeWindow, damage_joined
from seglake.kafka_log.transactions.transaction_events import TransactionEvents
from seglake.log_dirs.batch_search import is_proved, walk_start
from seglake.log_dirs.scan_request import SurveyRequest
from seglake.log_dirs.segment_side_files import anchors
from seglake.log_dirs.split_points import SplitPoints
from seglake.segment_codec.formats.defects import Defect, Tail
from seglake.segment_codec.formats.message_set import Wrapper
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.formats.side_files.checkpoint_files import EpochStart
from seglake.segment_codec.formats.units import Unit
from seglake.segment_codec.kernels.batch_run import BatchRun
from seglake.segment_codec.walk.offset_order import OffsetOrder
from seglake.segment_codec.walk.offset_places import first_offset_of
from seglake.segment_codec.walk.segment import Item, SegmentWalk
from seglake.segment_codec.walk.segment_bounds import SegmentBounds, limit_after
from seglake.segment_codec.walk.window import Window

_Edge = tuple[int, Unit]  # (first offset, batch)


@dataclass(slots=True)
class EpochRuns:
    """Collector of leader epochs: first and last batch of each sequence with one epoch."""

    starts: list[EpochStart] = field(default_factory=list)
    epoch: int = -1

    def add(self, batch: RecordBatch, last: Unit | None) -> None:
        """Add a batch's leader epoch; `last` is the previous batch."""
        epoch = batch.header.partition_leader_epoch
        if epoch != self.epoch:
            self.end(last)
            self.epoch = epoch
            if epoch >= 0:
                self.starts.append(EpochStart(epoch, batch.first_offset))

    def add_run(self, run: BatchRun, last: Unit | None) -> None:
        """Add consecutive batches; `last` is the batch before the first one."""
        epochs = run.column("partition_leader_epoch")
        breaks = np.flatnonzero(epochs[1:] != epochs[:-1]) + 1
        for index in [0, *breaks.tolist()]:
            self.add(run.batch(index), run.batch(index - 1) if index else last)

    def end(self, last: Unit | None) -> None:
        """Record the current epoch's last batch, unless it is also the epoch's first."""
        if self.epoch < 0 or not isinstance(last, RecordBatch):
            return
        if last.first_offset != self.starts[-1].start_offset:
            self.starts.append(EpochStart(self.epoch, last.first_offset))


@dataclass(slots=True)
class Collected:
    """State of a survey after the batches so far."""

    base_offset: int
    is_proved: bool  # whether all checksums were verified
    order: OffsetOrder
    transactions: TransactionEvents
    splits: SplitPoints
    first_offset: int | None = None
    last: Unit | None = None
    has_compacted_batch: bool = False
    is_faulty: bool = False
    end_damage: EndDamage | None = None
    hole_count: int = 0
    tail: Tail | None = None
    window: TimeWindow = NO_WINDOW
    # the batches at the two ends of the time window
    window_edges: list[Unit] = field(default_factory=list)
    newest_ms: int | None = None
    newest: RecordBatch | None = None  # batch with newest_ms; checksum not yet verified
    epochs: EpochRuns = field(default_factory=EpochRuns)
    unreadable: list[str] = field(default_factory=list)  # why an index could not be read


def walk_segment(request: SurveyRequest, window: Window, *, headers_only: bool) -> Collected:
    """Read a segment and collect what the survey needs; with headers only, stop at damage."""
    file = request.file
    unreadable: list[str] = []
    bounds = SegmentBounds(
        base_offset=file.base_offset,
        limit_offset=limit_after(file.base_offset, request.proved_offset),
        is_last=request.is_last,
        durable_offset=request.durable_offset,
        anchors=anchors(request.storage, file, unreadable),
        run_breaks=request.run_breaks,
        may_have_holes=request.is_cleaned,
        is_final=request.is_final,
    )
    position, base_offset = 0, file.base_offset
    # Batches below walk_offset may be skipped.
    if headers_only and request.walk_offset > base_offset:
        offset = request.walk_offset - 1
        position, base_offset = walk_start(request.storage, file, offset, window, unreadable)
    order = OffsetOrder(base_offset)
    walk = SegmentWalk(window, bounds, order, headers_only=headers_only)
    transactions = TransactionEvents(base_offset, is_in_order=headers_only)
    splits = SplitPoints(request, window, base_offset, is_full=not headers_only)
    found = Collected(
        base_offset, not headers_only, order, transactions, splits, unreadable=unreadable
    )
    for item in walk.runs(position):
        if isinstance(item, BatchRun):
            _collect_run(found, item, request)
            continue
        _collect(found, item, request)
        if headers_only and isinstance(item, Defect):
            break
    found.hole_count = walk.hole_count
    found.transactions.end()
    found.epochs.end(found.last)
    return found


def can_be_believed(found: Collected, window: Window) -> bool:
    """Return whether the headers alone are enough for a survey.

    They are enough if they show no fault and the decisive batches have valid checksums. The last
    batch and the batches at the ends of the time window are decisive; with transactions also each
    open transaction's first batch and the batch with the newest time. If one of these headers were
    wrong, a run could wait for a transaction in vain, or fail to wait for it.
    """
    if found.is_faulty:
        return False
    first_batches = found.transactions.first_batches.values()
    decisive = [found.last, *found.window_edges, *first_batches]
    if found.transactions.events():
        decisive.append(found.newest)
    return all(unit is None or is_proved(window, unit) for unit in decisive)


def _collect(found: Collected, item: Item, request: SurveyRequest) -> None:
    """Add the next item: a batch, damaged bytes, or the bytes after the last batch."""
    match item:
        case Tail():
            found.tail = item
            return
        case Defect():
            found.is_faulty = True
            found.end_damage = damage_joined(found.end_damage, item)
            found.transactions.defect(item)
            found.splits.defect(item)
            return
    if found.last is not None and item.first_offset <= found.last.last_offset:
        # the batch is valid but out of order: it fills an earlier hole
        found.is_faulty = True
    found.end_damage = None
    found.splits.unit(item)
    if found.first_offset is None:
        first_offset = first_offset_of(item)
        found.first_offset = item.first_offset if first_offset is None else first_offset
    _note_time(found, item, request)
    found.transactions.sound(item)
    if isinstance(item, RecordBatch):
        found.has_compacted_batch |= item.is_sparse
        found.epochs.add(item, found.last)
    found.last = item


def _first_possible_offset(found: Collected, unit: Unit) -> int:
    """Return a batch's first offset; the previous batch's end if the header has no first offset."""
    if isinstance(unit, Wrapper):
        return found.base_offset if found.last is None else found.last.last_offset + 1
    return unit.first_offset


def _note_time(found: Collected, unit: Unit, request: SurveyRequest) -> None:
    """Update the newest time and the time window from a batch."""
    newest_ms = max_timestamp_ms(unit)
    if newest_ms is None:
        return
    if newest_ms >= 0 and (found.newest_ms is None or newest_ms > found.newest_ms):
        found.newest_ms = newest_ms
        found.newest = unit if isinstance(unit, RecordBatch) and not found.is_proved else None

    def first_since(since_ms: int) -> _Edge | None:
        return (_first_possible_offset(found, unit), unit) if newest_ms >= since_ms else None

    _note_window(found, request, first_since)


def _collect_run(found: Collected, run: BatchRun, request: SurveyRequest) -> None:
    """Add consecutive batches, whose offsets are above all earlier ones."""
    found.end_damage = None
    found.splits.run(run)
    if found.first_offset is None:
        found.first_offset = run.first_offset
    _note_times(found, run, request)
    found.transactions.sound_run(run)
    found.has_compacted_batch |= bool(run.is_sparse.any())
    found.epochs.add_run(run, found.last)
    found.last = run.batch(len(run) - 1)


def _note_times(found: Collected, run: BatchRun, request: SurveyRequest) -> None:
    """Update the newest time and the time window from consecutive batches."""
    newest_ms = run.column("max_timestamp_ms")
    index = int(newest_ms.argmax())
    newest = int(newest_ms[index])
    if newest >= 0 and (found.newest_ms is None or newest > found.newest_ms):
        found.newest_ms = newest
        found.newest = None if found.is_proved else run.batch(index)
    _note_window(found, request, lambda since_ms: _first_since(run, newest_ms, since_ms))


def _note_window(
    found: Collected, request: SurveyRequest, first_since: Callable[[int], _Edge | None]
) -> None:
    """Find the ends of the time window in new batches, if they are still unknown.

    `first_since` returns the first of the new batches that has a record at or after a time.
    """
    if request.from_ms is None and request.to_ms is None:
        return

    def edge_at(known: int | None, since_ms: int | None) -> int | None:
        """Return the offset of one end of the window; search new batches if it is unknown."""
        edge = first_since(since_ms) if known is None and since_ms is not None else None
        if edge is None:
            return known
        offset, unit = edge
        found.window_edges.append(unit)
        return offset

    start, stop = found.window
    found.window = TimeWindow(edge_at(start, request.from_ms), edge_at(stop, request.to_ms))


def _first_since(run: BatchRun, newest_ms: NDArray[np.int64], since_ms: int) -> _Edge | None:
    """Return the first of consecutive batches that has a record at or after a time."""
    since = np.flatnonzero(newest_ms >= since_ms)
    if not len(since):
        return None
    batch = run.batch(int(since[0]))
    return batch.first_offset, batch
