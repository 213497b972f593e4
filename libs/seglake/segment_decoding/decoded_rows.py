"""What decoding gives: rows of one table after another, in the order of a log's bytes. Values."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from seglake.lake.tables import Table

Row = tuple[Any, ...]
"""Values in the order of a table's columns."""


class DecodedRows(NamedTuple):
    """Rows of one table and topic.

    Attributes:
        rows: of `records` and of the tables that interpret internal topics, Arrow without the
            topic; binary views and dictionaries among them. Of the others, rows.
    """

    table: Table
    rows: pa.RecordBatch | list[Row]


def joined_rows(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Several, one after the other; at least one."""
    joined: pa.RecordBatch = pa.concat_batches(parts)  # type: ignore[attr-defined]  # stubs lag
    return joined
