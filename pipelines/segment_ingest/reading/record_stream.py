"""Decodes a task and gives its records as they come, in the columns that a query reads. Effect.

The decoder pushes rows and a query pulls them: a thread decodes a few batches ahead, no more.
"""

import threading
from collections.abc import Iterator
from contextlib import closing
from queue import Full, Queue

import pyarrow as pa

from lake.tables import GAPS, QUARANTINE, RECORDS, Table, plain_type
from pipelines.segment_ingest.decoding.quarantine_rows import GapCause
from pipelines.segment_ingest.decoding.row_target import Row
from pipelines.segment_ingest.decoding.stretch_decoder import StretchDecoder
from pipelines.segment_ingest.decoding.tasks import DecodeTask, Stretch, StretchReport
from pipelines.segment_ingest.errors import DataLossError
from segment_codec.errors import DefectCode
from segment_codec.transactions import Markers

_OF_A_LAKE = ("batch_base_offset", "run_id")
SCHEMA: pa.Schema = pa.schema([each for each in RECORDS.schema if each.name not in _OF_A_LAKE])
"""The columns of `records` without those that lead to rows of other tables."""

_AHEAD = 2
_POLL_SECONDS = 0.2
_NO_EVIDENCE = frozenset({GapCause.QUARANTINED, GapCause.MISSING})
_CAUSE = GAPS.schema.names.index("cause")
_GAP_START = GAPS.schema.names.index("start_offset")
_GAP_NEXT = GAPS.schema.names.index("next_offset")
_DEFECT = [
    QUARANTINE.schema.names.index(name)
    for name in ("defect_code", "segment", "position", "defect_detail")
]

_Item = pa.RecordBatch | BaseException | None


def records_of(task: DecodeTask, *, fails_on_loss: bool) -> Iterator[pa.RecordBatch]:
    """Yield the records of a task, in offset order within each of its stretches.

    Raises:
        DataLossError: bytes are damaged or offsets are missing; only if `fails_on_loss`.
        SourceVanishedError, StorageError, SegmentCodecError: a segment is not what it was.
    """
    with closing(_Decoding(task, fails_on_loss)) as decoding:
        yield from decoding.batches()


class _Stopped(Exception):
    """Nobody wants more rows."""


class _Decoding:
    """One task in a thread of its own; ends when it is closed."""

    def __init__(self, task: DecodeTask, fails_on_loss: bool) -> None:
        self._task = task
        self._fails_on_loss = fails_on_loss
        self._queue: Queue[_Item] = Queue(_AHEAD)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def batches(self) -> Iterator[pa.RecordBatch]:
        while (item := self._queue.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item

    def close(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        end: _Item = None
        try:
            for stretch in self._task.stretches:
                target = _Target(stretch, self)
                markers = Markers(stretch.markers)
                report = StretchDecoder(stretch, markers, self._task.settings, target).run()
                target.begun(report)
        except _Stopped:
            return
        except BaseException as error:  # noqa: BLE001  (it goes to the thread that asked)
            end = error
        try:
            self.put(end)
        except _Stopped:
            return

    def put(self, item: _Item) -> None:
        while not self._stop.is_set():
            try:
                self._queue.put(item, timeout=_POLL_SECONDS)
            except Full:
                continue
            return
        raise _Stopped

    def lose(self, stretch: Stretch, what: str) -> None:
        if self._fails_on_loss:
            raise DataLossError(f"{stretch.key}: {what}")


class _Target:
    """Keeps the records of one stretch, and minds what is lost."""

    def __init__(self, stretch: Stretch, decoding: _Decoding) -> None:
        self._stretch = stretch
        self._decoding = decoding

    def records(self, rows: pa.RecordBatch) -> None:
        self._decoding.put(_in_query_columns(rows, self._stretch.key.topic))

    def interpreted(self, table: Table, rows: pa.RecordBatch) -> None:
        """A query reads records as they are."""

    def batch(self, row: Row) -> None:
        """A query reads no batches."""

    def quarantine(self, row: Row) -> None:
        code, segment, position, detail = (row[index] for index in _DEFECT)
        if code != DefectCode.OFFSET_OUT_OF_ORDER:  # these offsets were met before
            self._decoding.lose(
                self._stretch, f"{code} in {segment} at position {position}: {detail}"
            )

    def gap(self, row: Row) -> None:
        if row[_CAUSE] in _NO_EVIDENCE:
            self._lose(row[_GAP_START], row[_GAP_NEXT])

    def begun(self, report: StretchReport) -> None:
        """Mind what is missing in front of the first batch, of which there is no row."""
        stretch, piece = self._stretch, self._stretch.slices[0]
        start = max(stretch.floor_offset, piece.expected_offset)
        if report.first_offset is None:
            if report.has_leading_defect:
                self._lose(start, stretch.range_next)
        elif start < report.first_offset:
            is_cleaned = piece.is_cleaned or report.is_compacted_at_start
            if report.has_leading_defect or not is_cleaned:
                self._lose(start, report.first_offset)

    def _lose(self, start: int, stop: int) -> None:
        self._decoding.lose(self._stretch, f"the offsets [{start}, {stop}) are missing")


def _in_query_columns(rows: pa.RecordBatch, topic: str) -> pa.RecordBatch:
    """The rows with their topic, in types that every reader of Arrow's stream knows."""
    found = dict(zip(rows.schema.names, rows.columns, strict=True))
    found["topic"] = pa.repeat(topic, rows.num_rows)
    arrays = [
        found[field.name]
        if found[field.name].type == field.type
        else found[field.name].cast(plain_type(found[field.name].type)).cast(field.type)
        for field in SCHEMA
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
