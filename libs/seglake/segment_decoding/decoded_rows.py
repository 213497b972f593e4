"""Rows of one table, as a decoder yields them in the order of a log's bytes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from seglake.lake.tables import Table

Row = tuple[Any, ...]
"""Values of a row in the order of the table's columns."""


class DecodedRows(NamedTuple):
    """Rows of one table and topic, which a decoder yields.

    Attributes:
        rows: for `records`, `batches` and the tables of internal topics an Arrow batch without the
            column `topic`, which may use binary views and dictionaries; for other tables tuples.
    """

    table: Table
    rows: pa.RecordBatch | list[Row]


def joined_rows(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Concatenate one or more Arrow batches."""
    joined: pa.RecordBatch = pa.concat_batches(parts)  # type: ignore[attr-defined]  # stubs lag
    return joined
