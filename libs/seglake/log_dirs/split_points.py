"""Finds positions in a segment at which tasks may begin, during a survey."""

from typing import NamedTuple

import numpy as np

from seglake.kafka_log.segment_survey import SplitPoint
from seglake.log_dirs.batch_search import is_proved
from seglake.log_dirs.scan_request import SurveyRequest
from seglake.segment_codec.formats.defects import Defect
from seglake.segment_codec.formats.errors import DefectCode
from seglake.segment_codec.formats.message_set import Wrapper
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.formats.units import Unit
from seglake.segment_codec.kernels.batch_run import BatchRun
from seglake.segment_codec.walk.window import Window

_MISPLACED = (
    DefectCode.OFFSET_CONTRADICTED,
    DefectCode.OFFSET_OUT_OF_ORDER,
    DefectCode.OFFSET_OUT_OF_SEGMENT,
)
_UNEXPLAINED = (DefectCode.OFFSET_OUT_OF_ORDER, DefectCode.OFFSET_OUT_OF_SEGMENT)
_FEWEST_BEFORE = 3  # the next two batches show whether a batch is in order


class _Point(NamedTuple):
    """Position at which a task may begin; later batches may rule it out.

    Attributes:
        has_learned: whether the judgement of batches after this point depends on batches before it.
    """

    split: SplitPoint
    has_learned: bool


class SplitPoints:
    """Collector of split points; it gets a segment's batches and defects in the order of bytes.

    In a segment without damage and with rising offsets, any batch with a valid checksum can be a
    split point. In other segments, a task that begins at a split point must judge batches exactly
    as if it had begun at the segment's start. So a point must have several batches in order before
    it, no missing offset directly before it, and no lower offsets after it.
    """

    def __init__(
        self, request: SurveyRequest, window: Window, base_offset: int, *, is_full: bool
    ) -> None:
        """Start before the first batch.

        Args:
            request: the survey's request.
            window: bytes of the segment.
            base_offset: offset at which the survey begins.
            is_full: whether the segment is read in full with all checksums, because it has a fault.
        """
        self._request = request
        self._window = window
        self._is_full = is_full
        start = _Point(SplitPoint(0, base_offset, base_offset, -1), has_learned=False)
        self._points = [start] if is_full else []
        self._reached = base_offset
        self._in_order = 0  # valid batches since the last fault
        self._is_explained = False  # whether damage precedes the next batch
        self._has_learned = False  # whether a hole has been found
        self._records_end = base_offset  # exclusive end of the records so far

    def splits(self) -> tuple[SplitPoint, ...]:
        """Return the split points at which reading can begin without the earlier batches."""
        found: list[SplitPoint] = []
        is_plain = True
        for split, has_learned in reversed(self._points):
            is_plain &= split.is_plain
            if is_plain or not has_learned:
                found.append(split._replace(is_plain=is_plain))
                is_plain = True
        return tuple(reversed(found))

    def defect(self, defect: Defect) -> None:
        """Record that damaged or misplaced bytes follow."""
        if defect.code in _MISPLACED and defect.base_offset is not None:
            self._drop_above(defect.base_offset)
        self._is_explained |= defect.code not in _UNEXPLAINED
        self._odd()

    def unit(self, unit: Unit) -> None:
        """Add a valid batch or message run, the next one in the order of bytes."""
        first = self._first_offset_of(unit)
        if first < self._reached:
            self._drop_above(first)
            self._odd()
            return
        if self._is_due(unit, first):
            self._add(SplitPoint(unit.position, self._reached, first, unit.crc), self._has_learned)
        self._learn(unit, first)

    def _first_offset_of(self, unit: Unit) -> int:
        """Return the lowest offset that a unit may have."""
        if not isinstance(unit, Wrapper):
            return unit.first_offset
        # A wrapper's header has only its last offset, so its first offset is unknown.
        if unit.last_offset < self._reached and self._points:
            return self._points[0].split.expected_offset
        return self._reached

    def _is_due(self, unit: Unit, first: int) -> bool:
        """Return whether a task may begin at a unit, and the part before it is large enough."""
        if not self._points:
            return unit.last_offset >= self._request.start_offset
        due = self._points[-1].split.position + self._request.split_bytes
        if unit.position < due or first < self._records_end:
            return False
        if self._is_full:
            is_next = isinstance(unit, RecordBatch) and first == self._reached
            return is_next and self._in_order >= _FEWEST_BEFORE
        return is_proved(self._window, unit)

    def _learn(self, unit: Unit, first: int) -> None:
        """Note what a unit tells about those after it."""
        if isinstance(unit, RecordBatch):
            if unit.is_corrected:
                self._odd()
            has_hole = first > self._reached and not self._is_explained
            self._has_learned |= has_hole or unit.is_sparse
            self._in_order += 1
            # A batch may have more records than its header's offsets.
            self._records_end = max(self._records_end, first + unit.header.record_count)
        else:
            self._has_learned = True
            self._in_order = 0
        self._is_explained = False
        self._reached = unit.last_offset + 1
        if isinstance(unit, Wrapper) and unit.is_resolved:
            self._odd()  # the wrapper's header had a wrong last offset

    def run(self, run: BatchRun) -> None:
        """Add a run of valid batches with offsets above all earlier ones."""
        first = run.column("base_offset")
        ends_before = np.concatenate(([self._reached], run.next_offsets[:-1]))
        has_hole = first > ends_before
        has_hole[0] &= not self._is_explained
        is_new = has_hole | run.is_sparse
        is_new_before = np.logical_or.accumulate(np.concatenate(([False], is_new[:-1])))
        is_safe = first == ends_before
        is_safe[: max(_FEWEST_BEFORE - self._in_order, 0)] = False
        is_apart = first >= self._records_end
        places = np.flatnonzero(is_apart & is_safe if self._is_full else is_apart)

        def add(index: int) -> None:
            batch = run.batch(index)
            expected = int(ends_before[index])
            split = SplitPoint(batch.position, expected, batch.first_offset, batch.crc)
            self._add(split, self._has_learned or bool(is_new_before[index]))

        if not self._points:
            begin = np.searchsorted(run.next_offsets, self._request.start_offset, side="right")
            if begin < len(run):
                add(int(begin))
        while self._points:
            due = self._points[-1].split.position + self._request.split_bytes - run.position
            places = places[np.searchsorted(run.starts[places], due) :]
            if not len(places):
                break
            if self._is_full or is_proved(self._window, run.batch(int(places[0]))):
                add(int(places[0]))
            places = places[1:]
        self._has_learned |= bool(is_new.any())
        self._is_explained = False
        self._in_order += len(run)
        self._reached = run.last_offset + 1

    def _add(self, split: SplitPoint, has_learned: bool) -> None:
        """Add a position at which a task may begin."""
        # In a segment that the cleaner has rewritten, missing offsets are normal.
        self._points.append(_Point(split, has_learned and not self._request.is_cleaned))

    def _drop_above(self, offset: int) -> None:
        """Remove the points above the offset of an out-of-order batch."""
        while len(self._points) > 1 and self._points[-1].split.expected_offset > offset:
            self._points.pop()

    def _odd(self) -> None:
        """Record a fault in the part of the segment after the newest split point."""
        self._in_order = 0
        if self._points:
            split, has_learned = self._points[-1]
            self._points[-1] = _Point(split._replace(is_plain=False), has_learned)
