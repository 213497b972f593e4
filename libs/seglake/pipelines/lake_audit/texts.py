"""Columns of texts as codes: few values, told apart without a Python object per row. Pure."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Codes = NDArray[np.int64]


def text_values(rows: pa.Table, column: str) -> tuple[list[str | None], Codes]:
    """The values of a column of texts, None behind them, and of each row the index of its value."""
    # Any: pyarrow's stubs give the type of a chunk for any column.
    chunk: Any = rows.column(column).combine_chunks()
    if not isinstance(chunk, pa.DictionaryArray):
        chunk = chunk.dictionary_encode()
    values = chunk.dictionary.to_pylist()
    codes = chunk.indices.cast(pa.int64()).fill_null(len(values)).to_numpy()
    return [*values, None], codes
