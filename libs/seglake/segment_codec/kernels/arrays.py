"""Arrays that `columns` passes to the compiled loops, grouped in named tuples."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class BatchArrays(NamedTuple):
    """Batches of magic 2; the plain records of batch i are data[starts[i] : stops[i]].

    Attributes:
        floors: records of batch i below floors[i] are checked, but give no rows.
        ceilings: records of batch i from ceilings[i] on are checked, but give no rows.
        next_offsets: end of the offsets of each batch, by its header.
        counts: record count of each header, bounded by the payload.
        is_late: the batch lies in a hole of the batches before it.
        lows: end of the batches before that are not in these arrays; lower offsets are theirs.
    """

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    floors: NDArray[np.int64]
    ceilings: NDArray[np.int64]
    base_offsets: NDArray[np.int64]
    base_timestamps: NDArray[np.int64]
    next_offsets: NDArray[np.int64]
    counts: NDArray[np.int64]
    is_late: NDArray[np.bool_]
    lows: NDArray[np.int64]


class MessageSetArrays(NamedTuple):
    """Sets of messages of magic 0 and 1: runs, and the contents of wrappers.

    The first four arrays have the meaning that they have in `BatchArrays`.

    Attributes:
        last_offsets: for wrappers, the offset in the header.
        is_append_time: messages of magic 1 in this set have the time in `append_times`.
    """

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    floors: NDArray[np.int64]
    ceilings: NDArray[np.int64]
    magics: NDArray[np.int64]
    is_wrapper: NDArray[np.bool_]
    last_offsets: NDArray[np.int64]
    is_append_time: NDArray[np.bool_]
    append_times: NDArray[np.int64]


class UnitResults(NamedTuple):
    """Results that a kernel writes per unit.

    Attributes:
        statuses: a status of `faults`.
        row_stops: number of rows written up to the end of the unit.
        is_kept: the batch has rows; for batches of magic 2, also if its status is not OK.
        next_offsets: for kept batches of magic 2, the end of their offsets.
        skipped_counts: for batches of magic 2, the number of records without a row though in range.
    """

    statuses: NDArray[np.int32]
    row_stops: NDArray[np.int64]
    first_offsets: NDArray[np.int64]
    record_counts: NDArray[np.int64]
    is_kept: NDArray[np.bool_]
    next_offsets: NDArray[np.int64]
    skipped_counts: NDArray[np.int64]

    def part(self, start: int, stop: int) -> "UnitResults":
        """Return the results of the units [start, stop), as views."""
        return UnitResults._make(each[start:stop] for each in self)


class RowArrays(NamedTuple):
    """Rows as arrays, in the order of the log; timestamps are -1 in magic 0."""

    offsets: NDArray[np.int64]
    timestamps: NDArray[np.int64]
    key_views: NDArray[np.int32]  # (n, 4)
    has_key: NDArray[np.bool_]
    value_views: NDArray[np.int32]  # (n, 4)
    has_value: NDArray[np.bool_]


class HeaderArrays(NamedTuple):
    """Headers of all rows, one after another; stops are running ends, and begin with a 0."""

    row_stops: NDArray[np.int32]  # (rows + 1,)
    name_stops: NDArray[np.int32]  # (headers + 1,)
    names: NDArray[np.uint8]
    value_stops: NDArray[np.int32]  # (headers + 1,)
    values: NDArray[np.uint8]
    has_value: NDArray[np.bool_]  # (headers,)


class KeptArrays:
    """Arrays that are reused by one flush after another: fresh memory costs a page fault per page.

    Pages that stay unused cost nothing.
    """

    def __init__(self) -> None:
        """Start without arrays; each is made on first use."""
        self._arrays: dict[str, NDArray[Any]] = {}

    def empty(self, name: str, count: int, kind: type[np.generic]) -> NDArray[Any]:
        """Return an uninitialised array, reused if the kept one is large enough.

        Args:
            name: name of the array; it has one user at a time, and always the same kind.
            count: number of elements.
            kind: type of an element.
        """
        kept = self._arrays.get(name)
        if kept is None or len(kept) < count:
            kept = self._arrays[name] = np.empty(count, kind)
        return kept[:count]


def unit_results(count: int) -> UnitResults:
    """Return zeroed results for `count` units."""
    kinds: dict[str, type[np.generic]] = {"statuses": np.int32, "is_kept": np.bool_}
    arrays = (np.zeros(count, kinds.get(name, np.int64)) for name in UnitResults._fields)
    return UnitResults(*arrays)


def row_arrays(kept: KeptArrays, capacity: int) -> RowArrays:
    """Return arrays with room for `capacity` rows, borrowed from the kept ones."""
    return RowArrays(
        offsets=kept.empty("offsets", capacity, np.int64),
        timestamps=kept.empty("timestamps", capacity, np.int64),
        key_views=kept.empty("key_views", 4 * capacity, np.int32).reshape(-1, 4),
        has_key=kept.empty("has_key", capacity, np.bool_),
        value_views=kept.empty("value_views", 4 * capacity, np.int32).reshape(-1, 4),
        has_value=kept.empty("has_value", capacity, np.bool_),
    )


def header_arrays(
    kept: KeptArrays, *, row_capacity: int, header_capacity: int, byte_capacity: int
) -> HeaderArrays:
    """Return arrays with room for rows and headers, borrowed from the kept ones.

    Args:
        kept: arrays to reuse.
        row_capacity: most rows.
        header_capacity: most headers of all rows.
        byte_capacity: most bytes of all names, and of all values.
    """
    return HeaderArrays(
        row_stops=kept.empty("header_stops", row_capacity + 1, np.int32),
        name_stops=kept.empty("name_stops", header_capacity + 1, np.int32),
        names=kept.empty("names", byte_capacity, np.uint8),
        value_stops=kept.empty("header_value_stops", header_capacity + 1, np.int32),
        values=kept.empty("header_values", byte_capacity, np.uint8),
        has_value=kept.empty("has_header_value", header_capacity, np.bool_),
    )


def no_header_arrays(row_count: int) -> HeaderArrays:
    """Return arrays for rows without headers."""
    arrays = header_arrays(KeptArrays(), row_capacity=row_count, header_capacity=0, byte_capacity=0)
    for array in arrays:
        array.fill(0)
    return arrays
