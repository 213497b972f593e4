"""Results of decoding: rows of one table after another, in the order of a log's bytes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from seglake.lake.tables import Table

Row = tuple[Any, ...]
"""Values in the order of a table's columns."""


class DecodedRows(NamedTuple):
    """Rows of one table and topic.

    Attributes:
        rows: an Arrow batch for `records`, `batches` and the decoded tables of internal topics,
            without the column `topic`; binary views and dictionaries may occur. Else tuples.
    """

    table: Table
    rows: pa.RecordBatch | list[Row]


def joined_rows(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Return several batches of rows, at least one, one after the other."""
    joined: pa.RecordBatch = pa.concat_batches(parts)  # type: ignore[attr-defined]  # stubs lag
    return joined
