"""Rows of the tables for people, beside the raw rows of an internal topic. Effect: reads, writes.

Works on rows of `records` as they are about to be written, so it sees what a consumer would.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lake.storage import FileInfo
from lake.tables import CLUSTER_METADATA
from pipelines.segment_ingest.decoding.internal_columns import (
    INTERPRETERS,
    Interpreted,
    Value,
    Values,
)
from pipelines.segment_ingest.decoding.metadata_snapshot import snapshot_below, snapshot_pieces
from pipelines.segment_ingest.decoding.record_rows import Origin, timestamps
from pipelines.segment_ingest.decoding.row_target import RowTarget
from pipelines.segment_ingest.decoding.tasks import DecodeSettings, Stretch
from segment_codec.metadata_records import UNKNOWN
from segment_codec.record import Record
from segment_codec.transactions import TransactionState

_MOST_ROWS = 8192  # a Python object for each of their columns is in memory
_SETTLED = frozenset({TransactionState.NONE, TransactionState.COMMITTED})
_NO_TIME_MS = -1
_MS = "_ms"


class InternalRows:
    """Writes the rows of one stretch; end it with `finish`."""

    def __init__(
        self, stretch: Stretch, origin: Origin, settings: DecodeSettings, files: RowTarget
    ) -> None:
        self._table, self._interpret = INTERPRETERS[stretch.key.topic]
        self._stretch = stretch
        self._origin = origin
        self._settings = settings
        self._files = files
        self._counts = dict.fromkeys(("unread_internal", "unsettled_internal", "redacted"), 0)

    def take(self, rows: pa.RecordBatch) -> NDArray[np.bool_]:
        """Write what the rows of `records` mean; True for each that may hold a secret.

        Rows of transactions that were aborted, or have not ended, mean nothing yet and are left
        out.
        """
        may_hold_secret = np.zeros(rows.num_rows, np.bool_)
        for start in range(0, rows.num_rows, _MOST_ROWS):
            piece = rows.slice(start, _MOST_ROWS)
            found = [
                self._interpret(key, value)
                for key, value in zip(_list(piece, "key"), _list(piece, "value"), strict=True)
            ]
            stop = start + len(found)
            may_hold_secret[start:stop] = [each.may_hold_secret for each in found]
            self._write(found, _places(piece))
        return may_hold_secret

    def finish(self) -> dict[str, int]:
        """Write what is left; the counts that `Totals` has under the same names."""
        if self._table is CLUSTER_METADATA:
            self._take_snapshot()
        return self._counts

    def _take_snapshot(self) -> None:
        """Write the metadata from below the log start; offsets count from the snapshot's start."""
        settings = self._settings
        snapshot = snapshot_below(self._stretch, settings.storage)
        if snapshot is None:
            return
        for piece in snapshot_pieces(
            settings.storage,
            snapshot.path,
            settings.window_bytes,
            settings.max_decompressed_batch_bytes,
        ):
            if piece.damage is not None:
                damaged: Values = {"record_type": UNKNOWN, "unread_reason": piece.damage}
                unread = Interpreted(damaged, True, False, True)
                self._write([unread], _of_snapshot(snapshot, [None]))
            for start in range(0, len(piece.records), _MOST_ROWS):
                records = piece.records[start : start + _MOST_ROWS]
                found = [self._interpret(record.key, record.value) for record in records]
                self._write(found, _of_snapshot(snapshot, records))

    def _write(self, found: Sequence[Interpreted], places: Mapping[str, list[Value]]) -> None:
        settled = [state in _SETTLED for state in places["transaction_state"]]
        kept = [each for each, is_settled in zip(found, settled, strict=True) if is_settled]
        self._counts["unsettled_internal"] += len(found) - len(kept)
        self._counts["unread_internal"] += sum(each.is_unread for each in kept)
        self._counts["redacted"] += sum(each.is_redacted for each in kept)
        own = {
            name: [value for value, is_settled in zip(column, settled, strict=True) if is_settled]
            for name, column in places.items()
        }
        if kept:
            self._files.interpreted(self._table, self._rows(kept, own))

    def _rows(
        self, found: Sequence[Interpreted], places: Mapping[str, list[Value]]
    ) -> pa.RecordBatch:
        constants = {
            "source_id": self._origin.source_id,
            "record_topic_id": self._origin.topic_id,
            "record_partition": self._origin.partition,
            "run_id": self._origin.run_id,
        }

        def column(name: str) -> list[Value]:
            if name in constants:
                return [constants[name]] * len(found)
            return places[name] if name in places else [each.values.get(name) for each in found]

        arrays = []
        for field in self._table.file_schema:
            if pa.types.is_timestamp(field.type):
                arrays.append(_times(column(field.name + _MS)))
            else:
                arrays.append(pa.array(column(field.name), field.type))
        return pa.RecordBatch.from_arrays(arrays, schema=self._table.file_schema)


def internal_rows(
    stretch: Stretch, origin: Origin, settings: DecodeSettings, files: RowTarget
) -> InternalRows | None:
    """What writes the table for people of the stretch's topic; None when it has none."""
    if stretch.key.topic not in INTERPRETERS:
        return None
    return InternalRows(stretch, origin, settings, files)


def _list(rows: pa.RecordBatch, name: str) -> list[Any]:
    values: list[Any] = rows.column(name).to_pylist()
    return values


def _places(rows: pa.RecordBatch) -> dict[str, list[Value]]:
    return {
        "record_offset": _list(rows, "offset"),
        "record_timestamp_ms": _list(rows, "timestamp_ms"),
        "transaction_state": _list(rows, "transaction_state"),
    }


def _of_snapshot(snapshot: FileInfo, records: Sequence[Record | None]) -> dict[str, list[Value]]:
    return {
        "record_offset": [None if record is None else record.offset for record in records],
        "record_timestamp_ms": [
            None if record is None else record.timestamp_ms for record in records
        ],
        "transaction_state": [TransactionState.NONE] * len(records),
        "snapshot": [snapshot.name] * len(records),
    }


def _times(times_ms: Iterable[Value]) -> Any:
    """UTC with microseconds; null where the milliseconds are null, or no time that Arrow prints."""
    known = [time if isinstance(time, int) else _NO_TIME_MS for time in times_ms]
    return timestamps(np.array(known, np.int64))
