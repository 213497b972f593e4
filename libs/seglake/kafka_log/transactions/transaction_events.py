"""Collects transactional data, markers and damage from a walk through a segment."""

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from seglake.kafka_log.batch_headers import control_kind, marker_of
from seglake.kafka_log.segment_survey import DamagedSpan, DataSpan, Event
from seglake.kafka_log.transaction_markers import Marker
from seglake.segment_codec.formats.defects import Defect
from seglake.segment_codec.formats.errors import DefectCode
from seglake.segment_codec.formats.record_batch import MOST_MARKER_BYTES, RecordBatch
from seglake.segment_codec.formats.units import Unit
from seglake.segment_codec.kernels.batch_run import MARKER_KINDS, BatchKind, BatchRun

_EVENT_FIELDS = ("base_offset", "producer_id", "max_timestamp_ms")
_MOST_SKIPPED = 1000  # if more ranges than this are skipped, the cleaner has run


class TransactionEvents:
    """Collector of markers and data: added in order of bytes, returned in order of offsets.

    If offsets rise, only the first batch of each transaction is stored.
    """

    def __init__(self, base_offset: int, *, is_in_order: bool) -> None:
        """Start at the segment's base offset.

        Args:
            base_offset: lowest offset that the segment may have.
            is_in_order: whether the segment's batches have rising offsets.
        """
        # first data of each open transaction, by producer
        self.first_batches: dict[int, RecordBatch] = {}
        self._events: list[Event] = []
        self._is_in_order = is_in_order
        self._reached = base_offset
        self._damage: list[DamagedSpan] = []
        self._skipped: list[DamagedSpan] = []
        self._defects: list[Defect] = []  # defects since the last valid batch

    def defect(self, defect: Defect) -> None:
        """Record that damaged bytes follow, which may include a marker."""
        self._defects.append(defect)

    def sound(self, unit: Unit) -> None:
        """Add a valid batch: its marker, or its transactional data."""
        is_batch = isinstance(unit, RecordBatch)
        self._reach(unit.first_offset, unit.last_offset + 1, shows_skips=is_batch)
        if not isinstance(unit, RecordBatch):
            return
        header = unit.header
        if header.is_control:
            marker = marker_of(unit)
            if marker is not None:
                self.first_batches.pop(marker.producer_id, None)
                self._events.append(marker)
            elif control_kind(unit) is None:
                self._add_damage(DamagedSpan(unit.first_offset, unit.last_offset + 1))
        elif header.is_in_transaction and header.producer_id not in self.first_batches:
            if self._is_in_order:
                self.first_batches[header.producer_id] = unit
            self._events.append(
                _data_span(unit.first_offset, header.producer_id, header.max_timestamp_ms)
            )

    def sound_run(self, run: BatchRun) -> None:
        """Add valid batches with offsets above all batches added before."""
        for start, stop in run.stretches():
            self._reach(start, stop, shows_skips=True)
        places = np.flatnonzero(run.is_in_transaction)
        if self._is_in_order:
            places = _telling(run, places)
        events = zip(
            places.tolist(),
            run.kinds[places].tolist(),
            *(run.column(name)[places].tolist() for name in _EVENT_FIELDS),
            strict=True,
        )
        begun: dict[int, int] = {}  # index of each open transaction's first batch
        for place, kind, offset, producer_id, newest_ms in events:
            if kind in MARKER_KINDS:
                begun.pop(producer_id, None)
                self.first_batches.pop(producer_id, None)
                self._events.append(Marker(offset, producer_id, kind == BatchKind.COMMIT))
            elif producer_id not in self.first_batches:
                if self._is_in_order:
                    begun[producer_id] = place
                self._events.append(_data_span(offset, producer_id, newest_ms))
        for producer_id, place in begun.items():
            self.first_batches[producer_id] = run.batch(place)

    def end(self) -> None:
        """End the collection: defects after the last valid batch become damage with an open end."""
        self._end_damage(None)

    def events(self) -> tuple[Event, ...]:
        """Return markers and each producer's first data after a marker, in offset order."""
        if self._is_in_order:
            return tuple(self._events)
        events = sorted(self._events, key=attrgetter("offset"))
        return tuple(_without_repeats(events, self._spans()))

    def damage(self, *, is_cleaned: bool) -> tuple[DamagedSpan, ...]:
        """Return the ranges that may have lost markers.

        Args:
            is_cleaned: whether the log cleaner has run on the segment; since it keeps markers,
                skipped offsets had none.
        """
        if is_cleaned or len(self._skipped) > _MOST_SKIPPED:
            return tuple(self._damage)
        return tuple(self._spans())

    def _spans(self) -> list[DamagedSpan]:
        """Return damaged and skipped ranges, sorted by offset."""
        return sorted([*self._damage, *self._skipped], key=attrgetter("start_offset"))

    def _reach(self, start: int, stop: int, *, shows_skips: bool) -> None:
        """Record valid batches with the offsets [start, stop); skipped offsets become damage."""
        if start == self._reached and not self._defects:
            self._reached = stop
        elif start >= self._reached:
            is_skip = start > self._reached and shows_skips
            if is_skip and not self._defects and len(self._skipped) <= _MOST_SKIPPED:
                self._skipped.append(DamagedSpan(self._reached, start))
            self._end_damage(start)
            self._reached = stop
        else:
            _remove(self._damage, range(start, stop))
            _remove(self._skipped, range(start, stop))

    def _end_damage(self, next_offset: int | None) -> None:
        """Add the range of the defects since the last valid batch, if a defect may be a marker."""
        defects, self._defects = self._defects, []
        if not defects or next_offset == self._reached:
            return
        if any(_may_be_marker(defect) for defect in defects):
            self._add_damage(DamagedSpan(self._reached, next_offset))

    def _add_damage(self, span: DamagedSpan) -> None:
        insort(self._damage, span, key=attrgetter("start_offset"))


def _telling(run: BatchRun, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indexes of markers, and of each producer's first data after a marker."""
    producers, is_marker = run.column("producer_id")[places], run.is_marker[places]
    by_producer = np.argsort(producers, kind="stable")
    producers, is_marker = producers[by_producer], is_marker[by_producer]
    is_telling = np.ones(len(places), np.bool_)
    is_telling[1:] = (producers[1:] != producers[:-1]) | is_marker[1:] | is_marker[:-1]
    return places[np.sort(by_producer[is_telling])]


def _data_span(offset: int, producer_id: int, newest_ms: int) -> DataSpan:
    """Return a transactional batch as a value; a negative timestamp becomes None."""
    return DataSpan(offset, producer_id, newest_ms if newest_ms >= 0 else None)


def _remove(spans: list[DamagedSpan], late: range) -> None:
    """Remove the offsets of an out-of-order batch from the sorted spans of damage."""
    first = bisect_right(spans, late.start, key=attrgetter("start_offset")) - 1
    start = stop = max(0, first)
    while stop < len(spans) and spans[stop].start_offset < late.stop:
        stop += 1
    spans[start:stop] = _without(spans[start:stop], late)


def _without(spans: Iterable[DamagedSpan], late: range) -> Iterator[DamagedSpan]:
    """Yield the spans of damage without the offsets of an out-of-order batch."""
    for span in spans:
        stop = late.stop if span.next_offset is None else span.next_offset
        if late.stop <= span.start_offset or stop <= late.start:
            yield span
            continue
        if span.start_offset < late.start:
            yield DamagedSpan(span.start_offset, late.start)
        if late.stop < stop:
            yield DamagedSpan(late.stop, stop)


def _may_be_marker(defect: Defect) -> bool:
    """Return whether a defect may be a damaged marker: it is short, or its length is unknown."""
    return defect.code is not DefectCode.CRC_MISMATCH or defect.size_bytes <= MOST_MARKER_BYTES


def _without_repeats(events: Iterable[Event], damage: list[DamagedSpan]) -> Iterator[Event]:
    """Yield the markers, and each producer's first data after a marker or after damage."""
    edges = iter([*(span.start_offset for span in damage), None])
    edge = next(edges)
    open_producers: set[int] = set()
    for event in events:
        while edge is not None and edge <= event.offset:
            open_producers.clear()
            edge = next(edges)
        if isinstance(event, Marker):
            open_producers.discard(event.producer_id)
        elif event.producer_id in open_producers:
            continue
        else:
            open_producers.add(event.producer_id)
        yield event
