"""Computes the statistics of a data file while its rows are written.

Readers skip a file if its statistics exclude a match, so a wrong bound hides rows, while a missing
bound only costs time. Delta stores timestamps in milliseconds, so the lower bound is rounded down
and the upper bound up.

Format: "Per-file Statistics" in the Delta transaction log protocol.
"""

import json
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import pyarrow as pa

from seglake.lake.errors import TimestampRangeError
from seglake.lake.tables import Table

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_US = timedelta(microseconds=1)
_LEAST_US = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _US
_GREATEST_US = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _US


class Statistics:
    """Row count of a file, and bounds and null counts of the columns with statistics.

    Bounds are integers; bounds of timestamps are in microseconds since 1970.
    """

    def __init__(self, table: Table) -> None:
        """Start with no rows."""
        self._table = table
        self.row_count = 0
        self._null_counts = dict.fromkeys(table.statistics_columns, 0)
        self._least: dict[str, int] = {}
        self._greatest: dict[str, int] = {}

    def add(self, rows: pa.RecordBatch) -> None:
        """Add the rows of one batch.

        Raises:
            TimestampRangeError: a timestamp is outside the years 0001 to 9999.
        """
        # imported only for runs with new rows, since the import takes 0.05 s
        import pyarrow.compute as pc

        for name in self._table.statistics_columns:
            column = _integers(rows.column(name))
            self._null_counts[name] += column.null_count
            if column.null_count == rows.num_rows:
                continue
            low: int = pc.min(column).as_py()
            high: int = pc.max(column).as_py()
            if pa.types.is_timestamp(self._table.schema.field(name).type):
                self._check_years(name, low)
                self._check_years(name, high)
            self._least[name] = min(low, self._least.get(name, low))
            self._greatest[name] = max(high, self._greatest.get(name, high))
        self.row_count += rows.num_rows

    def to_json(self) -> str:
        """Return the JSON for `stats` in Delta's add action."""
        least: dict[str, int | str] = {}
        greatest: dict[str, int | str] = {}
        for name, low in self._least.items():
            high = self._greatest[name]
            if not pa.types.is_timestamp(self._table.schema.field(name).type):
                least[name], greatest[name] = low, high
                continue
            least[name] = _iso_ms(low // 1000)
            ceiling_ms = -(-high // 1000)
            if ceiling_ms * 1000 <= _GREATEST_US:
                greatest[name] = _iso_ms(ceiling_ms)
        statistics = {
            "numRecords": self.row_count,
            "minValues": least,
            "maxValues": greatest,
            "nullCount": self._null_counts,
        }
        return json.dumps(statistics, separators=(",", ":"))

    def _check_years(self, name: str, timestamp_us: int) -> None:
        """Raise TimestampRangeError for a timestamp outside the years 0001 to 9999."""
        if not _LEAST_US <= timestamp_us <= _GREATEST_US:
            raise TimestampRangeError(
                table=self._table.name, column=name, timestamp_us=timestamp_us
            )


# The stubs make arrays generic in their type; this is an array of any type.
_Array: TypeAlias = "pa.Array[Any]"


def _integers(column: _Array) -> _Array:
    """Return a column of numbers or timestamps as integers."""
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return column


def _iso_ms(timestamp_ms: int) -> str:
    """Return a time in the format of Delta's statistics, with milliseconds."""
    moment = _EPOCH + timedelta(milliseconds=timestamp_ms)
    return f"{moment:%Y}".zfill(4) + f"{moment:-%m-%dT%H:%M:%S}.{timestamp_ms % 1000:03d}Z"
