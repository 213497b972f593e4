"""Collects of a run of batches what a survey wants; `header_walk` does the same of one batch."""

import numpy as np
from numpy.typing import NDArray

from seglake.kafka_log.segment_survey import SplitPoint
from seglake.log_dirs.collected import Collected, is_proved
from seglake.log_dirs.scan_request import SurveyRequest
from seglake.segment_codec.batch_run import BatchRun
from seglake.segment_codec.window import Window


def collect_run(found: Collected, run: BatchRun, request: SurveyRequest, window: Window) -> None:
    """A run was met. Its batches come behind all that was met before."""
    found.is_cut_open = False
    _note_splits(found, run, request, window)
    if found.first_offset is None:
        found.first_offset = run.first_offset
    _note_times(found, run, request)
    found.transactions.sound_run(run)
    is_sparse = run.column("record_count") <= run.column("last_offset_delta")
    found.has_compacted_batch |= bool(is_sparse.any())
    found.epochs.add_run(run, found.last)
    found.last = run.batch(len(run) - 1)


def _note_splits(found: Collected, run: BatchRun, request: SurveyRequest, window: Window) -> None:
    """Begin a split where what is wanted begins, and wherever the last split has its bytes."""
    index = 0
    if not found.splits:
        index = int(np.searchsorted(run.next_offsets, request.start_offset, side="right"))
        if index < len(run):
            _split(found, run, index)
    while found.splits:
        due = found.splits[-1].position + request.split_bytes - run.position
        index = max(index, int(np.searchsorted(run.starts, due)))
        if index >= len(run):
            return
        if is_proved(window, run.batch(index)):
            _split(found, run, index)
        index += 1


def _split(found: Collected, run: BatchRun, index: int) -> None:
    if index:
        expected = int(run.next_offsets[index - 1])
    else:
        expected = found.base_offset if found.last is None else found.last.last_offset + 1
    batch = run.batch(index)
    found.splits.append(SplitPoint(batch.position, expected, batch.first_offset, batch.header.crc))


def _note_times(found: Collected, run: BatchRun, request: SurveyRequest) -> None:
    newest_ms = run.column("max_timestamp_ms")
    index = int(newest_ms.argmax())
    newest = int(newest_ms[index])
    if newest >= 0 and (found.newest_ms is None or newest > found.newest_ms):
        found.newest_ms = newest
        found.newest = None if found.is_proved else run.batch(index)
    if request.from_ms is not None and found.from_offset is None:
        found.from_offset = _first_since(run, newest_ms, request.from_ms)
    if request.to_ms is not None and found.to_offset is None:
        found.to_offset = _first_since(run, newest_ms, request.to_ms)


def _first_since(run: BatchRun, newest_ms: NDArray[np.int64], since_ms: int) -> int | None:
    """The first offset of the first batch with a record at or after a time."""
    since = np.flatnonzero(newest_ms >= since_ms)
    return int(run.column("base_offset")[since[0]]) if len(since) else None
