"""Keys or values of many records as ranges of one array of bytes."""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Bodies(NamedTuple):
    """Keys or values, with or without their frames.

    Attributes:
        data: bytes of all bodies.
        starts: index of each body's first byte.
        ends: index after each body's last byte.
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def of(self, rows: NDArray[np.int64]) -> "Bodies":
        """Return the bodies with these indexes; nothing is copied if these are all."""
        if len(rows) == len(self.starts) and (rows == np.arange(len(rows))).all():
            return self
        return Bodies(self.data, self.starts[rows], self.ends[rows])


def bodies_of_bytes(found: Collection[bytes]) -> Bodies:
    """Return texts of bytes as bodies, one after another in one array."""
    edges = np.cumsum([0, *map(len, found)], dtype=np.int64)
    return Bodies(np.frombuffer(b"".join(found), np.uint8), edges[:-1], edges[1:])


def without(count: int, indexes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indexes below a count, except some of them.

    >>> without(4, np.array([2])).tolist()
    [0, 1, 3]
    """
    is_left = np.ones(count, np.bool_)
    is_left[indexes] = False
    return np.flatnonzero(is_left)
