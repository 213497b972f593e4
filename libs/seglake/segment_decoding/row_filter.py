"""Filters decoded rows of `records`, whose payloads may be binary views."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def some_rows(rows: pa.RecordBatch, is_chosen: NDArray[np.bool_]) -> pa.RecordBatch:
    """Filter rows; binary views are cast, since Arrow cannot filter them."""
    chosen = pa.array(is_chosen)

    # Any: the stubs do not know the column's type.
    def some(column: Any) -> Any:
        if not pa.types.is_binary_view(column.type):
            return column.filter(chosen)
        return column.cast(pa.binary()).filter(chosen).cast(column.type)

    return pa.RecordBatch.from_arrays([some(each) for each in rows.columns], rows.schema.names)


def payload_bytes_of(rows: pa.RecordBatch, name: str) -> int:
    """Return the total length in bytes of a column's values."""
    import pyarrow.compute as pc  # imported only when needed, since the import takes 0.05 s

    # Any: the stubs do not know the column's type.
    column: Any = rows.column(name).cast(pa.binary())
    return int(pc.sum(pc.binary_length(column)).as_py() or 0)


def is_valid(rows: pa.RecordBatch, name: str) -> NDArray[np.bool_]:
    """Return for each value of a column whether it is not null."""
    # Any: the stubs do not know the column's type.
    column: Any = rows.column(name)
    found: NDArray[np.bool_] = column.is_valid().to_numpy(zero_copy_only=False)
    return found
