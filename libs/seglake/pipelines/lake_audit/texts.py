"""Columns of texts as codes: few values, told apart without a Python object per row. Pure."""

from collections.abc import Container
from typing import Any

import numpy as np
import pyarrow as pa

from seglake.pipelines.lake_audit.ledger import Flags, Offsets


def text_values(rows: pa.Table, column: str) -> tuple[list[str | None], Offsets]:
    """The values of a column of texts, None behind them, and of each row the index of its value."""
    # Any: pyarrow's stubs give the type of a chunk for any column.
    chunk: Any = rows.column(column).combine_chunks()
    if not isinstance(chunk, pa.DictionaryArray):
        chunk = chunk.dictionary_encode()
    values = chunk.dictionary.to_pylist()
    codes = chunk.indices.cast(pa.int64()).fill_null(len(values)).to_numpy()
    return [*values, None], codes


def is_one_of(rows: pa.Table, column: str, wanted: Container[str | None]) -> Flags:
    """Which rows have one of some texts."""
    values, codes = text_values(rows, column)
    result: Flags = np.array([value in wanted for value in values], np.bool_)[codes]
    return result
