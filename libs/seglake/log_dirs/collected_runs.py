"""Collects of a run of batches what a survey wants; `header_walk` does the same of one batch."""

import numpy as np
from numpy.typing import NDArray

from seglake.log_dirs.collected import Collected
from seglake.log_dirs.scan_request import SurveyRequest
from seglake.segment_codec.batch_run import BatchRun


def collect_run(found: Collected, run: BatchRun, request: SurveyRequest) -> None:
    """A run was met. Its batches come behind all that was met before."""
    found.is_cut_open = False
    found.splits.run(run)
    if found.first_offset is None:
        found.first_offset = run.first_offset
    _note_times(found, run, request)
    found.transactions.sound_run(run)
    found.has_compacted_batch |= bool(run.is_sparse.any())
    found.epochs.add_run(run, found.last)
    found.last = run.batch(len(run) - 1)


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
