"""The arrays that `columns` hands to the compiled loops, grouped in named tuples."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class BatchArrays(NamedTuple):
    """Batches of magic 2; the plain records of batch i are data[starts[i] : stops[i]].

    Records with offsets outside [floors[i], ceilings[i]) are checked, but give no rows. A late
    batch lies in a hole of those before it. Offsets below lows[i] are those of other batches.
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
    """Sets of messages of magic 0 and 1: runs, and the contents of wrappers; as `BatchArrays`.

    `last_offsets` holds the wrappers' offsets. Where `is_append_time`, their messages of magic 1
    have the time in `append_times`.
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
    """What a kernel writes per unit; one that is not kept has no rows.

    The last three are of batches of magic 2. They tell those from the header that have rows though
    their status is not OK: where their records really end, and how many are skipped.
    """

    statuses: NDArray[np.int32]
    row_stops: NDArray[np.int64]
    first_offsets: NDArray[np.int64]
    record_counts: NDArray[np.int64]
    is_kept: NDArray[np.bool_]
    next_offsets: NDArray[np.int64]
    skipped_counts: NDArray[np.int64]

    def part(self, start: int, stop: int) -> "UnitResults":
        """The results of the units [start, stop)."""
        return UnitResults._make(each[start:stop] for each in self)


class RowArrays(NamedTuple):
    """One element per row, in the order of the log; timestamps are -1 in magic 0."""

    offsets: NDArray[np.int64]
    timestamps: NDArray[np.int64]
    key_views: NDArray[np.int32]  # (n, 4)
    has_key: NDArray[np.bool_]
    value_views: NDArray[np.int32]  # (n, 4)
    has_value: NDArray[np.bool_]


class HeaderArrays(NamedTuple):
    """The headers of all rows, one after another; stops are running ends, and begin with a 0."""

    row_stops: NDArray[np.int32]  # (rows + 1,)
    name_stops: NDArray[np.int32]  # (headers + 1,)
    names: NDArray[np.uint8]
    value_stops: NDArray[np.int32]  # (headers + 1,)
    values: NDArray[np.uint8]
    has_value: NDArray[np.bool_]  # (headers,)


class KeptArrays:
    """Arrays that serve one flush after another: fresh memory costs a page fault per page.

    Pages that stay unused cost nothing.
    """

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[Any]] = {}

    def empty(self, name: str, count: int, kind: type[np.generic]) -> NDArray[Any]:
        """An uninitialised array; a name has one user at a time, and always the same kind."""
        kept = self._arrays.get(name)
        if kept is None or len(kept) < count:
            kept = self._arrays[name] = np.empty(count, kind)
        return kept[:count]


def unit_results(count: int) -> UnitResults:
    """Results of so many units, none of them written."""
    return UnitResults(
        statuses=np.zeros(count, np.int32),
        row_stops=np.zeros(count, np.int64),
        first_offsets=np.zeros(count, np.int64),
        record_counts=np.zeros(count, np.int64),
        is_kept=np.zeros(count, np.bool_),
        next_offsets=np.zeros(count, np.int64),
        skipped_counts=np.zeros(count, np.int64),
    )


def row_arrays(kept: KeptArrays, capacity: int) -> RowArrays:
    """Arrays with room for so many rows."""
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
    """Arrays with room for so many rows and headers, and bytes of names and of values."""
    return HeaderArrays(
        row_stops=kept.empty("header_stops", row_capacity + 1, np.int32),
        name_stops=kept.empty("name_stops", header_capacity + 1, np.int32),
        names=kept.empty("names", byte_capacity, np.uint8),
        value_stops=kept.empty("header_value_stops", header_capacity + 1, np.int32),
        values=kept.empty("header_values", byte_capacity, np.uint8),
        has_value=kept.empty("has_header_value", header_capacity, np.bool_),
    )


def no_header_arrays(row_count: int) -> HeaderArrays:
    """Arrays that say that no row has a header."""
    return HeaderArrays(
        row_stops=np.zeros(row_count + 1, np.int32),
        name_stops=np.zeros(1, np.int32),
        names=np.zeros(0, np.uint8),
        value_stops=np.zeros(1, np.int32),
        values=np.zeros(0, np.uint8),
        has_value=np.zeros(0, np.bool_),
    )
