"""Defines the table of erasure rules.

The table takes no part in topics' commits. The first erasure creates it, so most lakes lack it.
"""

import pyarrow as pa

from seglake.lake.tables import Table

_TEXT, _BYTES, _NUMBER = pa.string(), pa.binary(), pa.int64()
_COLUMNS: tuple[tuple[str, pa.DataType], ...] = (
    ("topic", _TEXT),
    ("kind", _TEXT),
    ("partition", pa.int32()),
    ("offset", _NUMBER),
    ("salt", _BYTES),
    ("hash", _BYTES),
    ("reason", _TEXT),
    ("run_id", _TEXT),
    ("erased_at", pa.timestamp("us", tz="UTC")),
)

ERASURES = Table(
    name="erasures",
    schema=pa.schema(_COLUMNS),
    partition_by=(),
    statistics_columns=("partition", "offset", "erased_at"),
    topics=frozenset(),
)
