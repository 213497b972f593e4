"""Decodes rows of an internal topic to rows of its own table.

The input is rows of `records` just before they are written.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.kafka_log.transaction_markers import TransactionState
from seglake.lake.tables import CLUSTER_METADATA
from seglake.log_tables.internal_columns import INTERPRETERS, Interpreted, Value, Values
from seglake.log_tables.record_rows import Origin, timestamps
from seglake.segment_codec.formats.internal_topics.record_forms import UNKNOWN
from seglake.segment_decoding.decoded_rows import DecodedRows
from seglake.segment_decoding.metadata_snapshot import snapshot_below, snapshot_pieces
from seglake.segment_decoding.tasks import DecodeSettings, PartitionSplit
from seglake.storage.storage import FileInfo

_MOST_ROWS = 8192  # rows to convert at a time: each value becomes a Python object
_SETTLED = frozenset({TransactionState.NONE, TransactionState.COMMITTED})
_NO_TIME_MS = -1
_MS = "_ms"


class InternalRows:
    """Decoder of the rows of one split of an internal topic.

    Attributes:
        counts: counts by their names in `Totals`.
    """

    def __init__(self, split: PartitionSplit, origin: Origin, settings: DecodeSettings) -> None:
        """Store the arguments; nothing is read yet.

        Args:
            split: a split of an internal topic that has its own table.
            origin: values that all rows share.
            settings: settings of the run.
        """
        self._table, self._interpret = INTERPRETERS[split.key.topic]
        self._split = split
        self._origin = origin
        self._settings = settings
        self.counts = dict.fromkeys(("unread_internal", "unsettled_internal", "redacted"), 0)

    def of_records(self, rows: pa.RecordBatch) -> tuple[list[DecodedRows], NDArray[np.bool_]]:
        """Decode rows of `records`; also return, for each row, whether it may contain a secret.

        Rows of aborted and open transactions are not decoded.
        """
        may_hold_secret = np.zeros(rows.num_rows, np.bool_)
        interpreted: list[DecodedRows] = []
        for start in range(0, rows.num_rows, _MOST_ROWS):
            piece = rows.slice(start, _MOST_ROWS)
            found = [
                self._interpret(key, value)
                for key, value in zip(_list(piece, "key"), _list(piece, "value"), strict=True)
            ]
            stop = start + len(found)
            may_hold_secret[start:stop] = [row.may_hold_secret for row in found]
            interpreted += self._rows(found, _places(piece))
        return interpreted, may_hold_secret

    def of_snapshot(self) -> Iterator[DecodedRows]:
        """Yield rows for the metadata below the log start, from a snapshot."""
        if self._table is not CLUSTER_METADATA:
            return
        snapshot = snapshot_below(self._split, self._settings.storage)
        if snapshot is None:
            return
        for piece in snapshot_pieces(snapshot.path, self._settings):
            if isinstance(piece, str):
                damaged: Values = {"record_type": UNKNOWN, "unread_reason": piece}
                unread = Interpreted(damaged, True, False, True)
                yield from self._rows([unread], _of_snapshot(snapshot, [None], [None]))
                continue
            for start in range(0, len(piece), _MOST_ROWS):
                records = piece[start : start + _MOST_ROWS]
                found = [self._interpret(record.key, record.value) for record in records]
                offsets = [record.offset for record in records]
                times_ms = [record.timestamp_ms for record in records]
                yield from self._rows(found, _of_snapshot(snapshot, offsets, times_ms))

    def _rows(
        self, found: Sequence[Interpreted], places: Mapping[str, list[Value]]
    ) -> list[DecodedRows]:
        """Return the rows outside transactions or in committed ones; count all rows."""
        settled = [state in _SETTLED for state in places["transaction_state"]]
        kept = [row for row, is_settled in zip(found, settled, strict=True) if is_settled]
        self.counts["unsettled_internal"] += len(found) - len(kept)
        self.counts["unread_internal"] += sum(row.is_unread for row in kept)
        self.counts["redacted"] += sum(row.is_redacted for row in kept)
        kept_places = {
            name: [value for value, is_settled in zip(column, settled, strict=True) if is_settled]
            for name, column in places.items()
        }
        return [DecodedRows(self._table, self._arrow(kept, kept_places))] if kept else []

    def _arrow(
        self, found: Sequence[Interpreted], places: Mapping[str, list[Value]]
    ) -> pa.RecordBatch:
        """Convert values by column to rows of the topic's table."""
        constants: dict[str, Value] = {
            "source_id": self._origin.source_id,
            "record_topic_id": self._origin.key.topic_id,
            "record_partition": self._origin.key.partition,
            "run_id": self._origin.run_id,
            "generation": self._origin.generation,
        }
        known = {**places, **{name: [value] * len(found) for name, value in constants.items()}}

        def column(name: str) -> list[Value]:
            return known[name] if name in known else [row.values.get(name) for row in found]

        arrays = []
        for field in self._table.file_schema:
            if pa.types.is_timestamp(field.type):
                arrays.append(_times(column(field.name + _MS)))
            else:
                arrays.append(pa.array(column(field.name), field.type))
        return pa.RecordBatch.from_arrays(arrays, schema=self._table.file_schema)


def _list(rows: pa.RecordBatch, name: str) -> list[Any]:
    """Return the values of a column as Python objects."""
    values: list[Any] = rows.column(name).to_pylist()
    return values


def _places(rows: pa.RecordBatch) -> dict[str, list[Value]]:
    """Return the columns offset, timestamp and transaction state of rows of `records`."""
    return {
        "record_offset": _list(rows, "offset"),
        "record_timestamp_ms": _list(rows, "timestamp_ms"),
        "transaction_state": _list(rows, "transaction_state"),
    }


def _of_snapshot(
    snapshot: FileInfo, offsets: Sequence[Value], times_ms: Sequence[Value]
) -> dict[str, list[Value]]:
    """Return the columns offset, timestamp, transaction state and snapshot name for its records."""
    return {
        "record_offset": [*offsets],
        "record_timestamp_ms": [*times_ms],
        "transaction_state": [TransactionState.NONE] * len(offsets),
        "snapshot": [snapshot.name] * len(offsets),
    }


def _times(times_ms: Iterable[Value]) -> Any:
    """Return UTC times in microseconds; null if the time is null or outside the years 1 to 9999."""
    known = [time if isinstance(time, int) else _NO_TIME_MS for time in times_ms]
    return timestamps(np.array(known, np.int64))
