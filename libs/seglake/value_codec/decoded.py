"""Values that a reader decoded, and the interface of the readers of all forms."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.value_codec.bodies import Bodies

ArrowArray: TypeAlias = "pa.Array[Any]"  # at run time the class takes no type arguments

UNKNOWN_POSITION = -1
"""Position that stands for an unknown byte."""

MOST_BYTES = 1 << 29
"""Most memory for the columns of all bodies that are decoded at once."""


class Decoded(NamedTuple):
    """Values of many bodies, one entry for each body.

    Attributes:
        values: the values, of the reader's type; null where a body was rejected. The value of a
            sound body may be null, too.
        reasons: 0 for a sound body, else the `code` of a RejectReason.
        positions: index, from the start of the body, of the first byte that could not be read;
            UNKNOWN_POSITION if it is not known. 0 for a sound body.
    """

    values: ArrowArray
    reasons: NDArray[np.uint8]
    positions: NDArray[np.int64]


def made(
    arrow: pa.DataType, count: int, buffers: Sequence[Any], children: Sequence[ArrowArray] = ()
) -> ArrowArray:
    """Return an array of buffers, without copying them."""
    found: ArrowArray = pa.Array.from_buffers(arrow, count, [*buffers], children=[*children])
    return found


def validity(are_valid: NDArray[np.bool_] | NDArray[np.uint8]) -> pa.Buffer | None:
    """Return Arrow's validity bitmap: a bit for each entry, 0 for null; None without nulls."""
    if are_valid.all():
        return None
    return pa.py_buffer(np.packbits(are_valid, bitorder="little").data)


class TooManyItemsError(Exception):
    """Error for bodies whose columns need too much memory together; half of them need less."""


class ColumnReader(Protocol):
    """Interface of a reader of the values that one schema wrote."""

    @property
    def type(self) -> pa.DataType:
        """Return the Arrow type of the values."""
        ...

    def read(self, bodies: Bodies) -> Decoded:
        """Decode bodies; a body has no frame.

        Raises:
            TooManyItemsError: several bodies need too much memory together.
        """
        ...
