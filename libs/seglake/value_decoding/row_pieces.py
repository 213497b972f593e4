"""Decoded rows of a table that come piece by piece, each piece from values of one schema."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_MOST_PIECES = 32
"""Most pieces to hold before they are joined.

A piece has an array for each column: of 1,000 schemas and 1,000 columns a million arrays, which
need much more memory than their rows.
"""


class RowPieces:
    """Rows with their columns as structs, put in the order of the records at the end."""

    # Any: pyarrow's stubs make arrays generic.
    def __init__(self, kind: Any) -> None:
        """Store the type of the structs."""
        self._kind = kind
        self._pieces: list[tuple[NDArray[np.int64], Any]] = []
        self._joined: list[tuple[NDArray[np.int64], Any]] = []

    def add(self, rows: NDArray[np.int64], values: Any) -> None:
        """Add the structs of some records, given the records' indexes."""
        self._pieces.append((rows, values))
        if len(self._pieces) == _MOST_PIECES:
            self._joined.append(_whole(self._pieces))
            self._pieces.clear()

    def in_order(self) -> Any:
        """Return the structs of all records, in the order of the records."""
        pieces = [*self._joined, *self._pieces]
        if not pieces:
            return pa.array([], self._kind)
        if len(pieces) == 1 and not self._joined:
            return pieces[0][1]
        rows, values = _whole(pieces)
        return values.take(pa.array(np.argsort(rows, kind="stable")))


def _whole(pieces: list[tuple[NDArray[np.int64], Any]]) -> tuple[NDArray[np.int64], Any]:
    """Return pieces as one."""
    return (
        np.concatenate([rows for rows, _ in pieces]),
        pa.concat_arrays([values for _, values in pieces]),
    )
