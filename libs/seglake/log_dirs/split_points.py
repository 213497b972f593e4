"""Where tasks may begin in a segment, found by a survey's walk. A value that grows."""

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
_FEWEST_BEFORE = 3  # what judges a batch looks at two others behind it


class _Point(NamedTuple):
    split: SplitPoint
    has_learned: bool  # what was met before it changes how batches behind it are judged


class SplitPoints:
    """Told what a walk meets, in the order of the bytes.

    Where all is in order, any batch will do whose checksum holds. Elsewhere a walk that begins
    there must judge as one that came from the start of the segment: several batches in order lie
    before it, the last of them ends where it begins, and nothing lower comes behind it.

    Args:
        window: of the walk; borrowed.
        base_offset: where the walk begins.
        is_full: the walk verifies all checksums, since something is odd.
    """

    def __init__(
        self, request: SurveyRequest, window: Window, base_offset: int, *, is_full: bool
    ) -> None:
        self._request = request
        self._window = window
        self._is_full = is_full
        start = _Point(SplitPoint(0, base_offset, base_offset, -1), has_learned=False)
        self._points = [start] if is_full else []
        self._reached = base_offset
        self._in_order = 0  # sound batches since anything odd
        self._is_explained = False  # damage is why the next offsets are missing
        self._has_learned = False  # of holes
        self._told_offset = base_offset  # records of the batches so far reach up to here

    def splits(self) -> tuple[SplitPoint, ...]:
        """What was found; what must not be parted is one piece."""
        found: list[SplitPoint] = []
        is_plain = True
        for split, has_learned in reversed(self._points):
            is_plain &= split.is_plain
            if is_plain or not has_learned:
                found.append(split._replace(is_plain=is_plain))
                is_plain = True
        return tuple(reversed(found))

    def defect(self, defect: Defect) -> None:
        if defect.code in _MISPLACED and defect.base_offset is not None:
            self._drop_above(defect.base_offset)
        self._is_explained |= defect.code not in _UNEXPLAINED
        self._odd()

    def unit(self, unit: Unit) -> None:
        # Of an old wrapper only the last offset is known, so a hole may lie before it.
        first = self._reached if isinstance(unit, Wrapper) else unit.first_offset
        if unit.last_offset < self._reached and isinstance(unit, Wrapper):
            first = self._points[0].split.expected_offset if self._points else first
        if first < self._reached:
            self._drop_above(first)
            self._odd()
            return
        is_safe = isinstance(unit, RecordBatch) and first == self._reached
        is_safe = is_safe and self._in_order >= _FEWEST_BEFORE
        is_begin = not self._points
        if is_begin:
            is_due = unit.last_offset >= self._request.start_offset
        else:
            due = self._points[-1].split.position + self._request.split_bytes
            is_due = unit.position >= due and (is_safe or not self._is_full)
            is_due = is_due and first >= self._told_offset
            is_due = is_due and (self._is_full or is_proved(self._window, unit))
        if is_due:
            self._add(SplitPoint(unit.position, self._reached, first, unit.crc), self._has_learned)
        has_hole = first > self._reached and not self._is_explained
        if isinstance(unit, RecordBatch) and unit.is_corrected:
            self._odd()
        self._has_learned |= has_hole or not isinstance(unit, RecordBatch) or unit.is_sparse
        self._is_explained = False
        self._in_order = self._in_order + 1 if isinstance(unit, RecordBatch) else 0
        if isinstance(unit, RecordBatch):  # more records than its header has offsets for
            self._told_offset = max(self._told_offset, first + unit.header.record_count)
        self._reached = unit.last_offset + 1
        if isinstance(unit, Wrapper) and unit.is_resolved:
            self._odd()  # only a walk that compares knows its offsets

    def run(self, run: BatchRun) -> None:
        """Sound batches were met that begin where all before them ended, or later."""
        first = run.column("base_offset")
        ends_before = np.concatenate(([self._reached], run.next_offsets[:-1]))
        has_hole = first > ends_before
        has_hole[0] &= not self._is_explained
        is_new = has_hole | run.is_sparse
        is_new_before = np.logical_or.accumulate(np.concatenate(([False], is_new[:-1])))
        is_safe = first == ends_before
        is_safe[: max(_FEWEST_BEFORE - self._in_order, 0)] = False
        is_apart = first >= self._told_offset
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
        # Of a segment below the cleaner's offset it is known anyway that it may have holes.
        self._points.append(_Point(split, has_learned and not self._request.is_cleaned))

    def _drop_above(self, offset: int) -> None:
        """Offsets come that lie below where some points begin."""
        while len(self._points) > 1 and self._points[-1].split.expected_offset > offset:
            self._points.pop()

    def _odd(self) -> None:
        """What lies behind the last point is not in order."""
        self._in_order = 0
        if self._points:
            split, has_learned = self._points[-1]
            self._points[-1] = _Point(split._replace(is_plain=False), has_learned)
