"""Named tuples of the arrays that `columns` passes to the compiled loops."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class BatchArrays(NamedTuple):
    """Arrays of magic 2 batches; batch i has the uncompressed records data[starts[i] : stops[i]].

    Attributes:
        floors: records of batch i with offsets below floors[i] are checked, but get no rows.
        ceilings: records of batch i with offsets at or above ceilings[i] are checked, but get no
            rows.
        next_offsets: exclusive end of each batch's offsets, from its header.
        counts: record count in each header, limited by the size of the payload.
        is_late: whether the batch is out of order: it fills a hole between earlier batches.
        lows: exclusive end of earlier batches that are not in these arrays; records below it were
            already read.
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
    """Sets of messages of magic 0 and 1: runs, and the decompressed messages of wrappers.

    For the first four arrays see `BatchArrays`.

    Attributes:
        last_offsets: offset in the wrapper's header.
        is_append_time: whether `append_times` has the timestamp of all messages of magic 1 in the
            set.
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
    """Results of a compiled loop: arrays with one element per batch or set of messages.

    Attributes:
        statuses: status of the unit, see `faults`.
        row_stops: number of rows up to the end of the unit.
        is_kept: whether the unit has rows; in magic 2 this is possible with a status other than OK.
        next_offsets: exclusive end of a kept batch of magic 2.
        skipped_counts: number of records in the range without a row, in a batch of magic 2.
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
    """Rows of records as arrays, in the order of the log; a timestamp is -1 in magic 0."""

    offsets: NDArray[np.int64]
    timestamps: NDArray[np.int64]
    key_views: NDArray[np.int32]  # (n, 4)
    has_key: NDArray[np.bool_]
    value_views: NDArray[np.int32]  # (n, 4)
    has_value: NDArray[np.bool_]


class HeaderArrays(NamedTuple):
    """Headers of all rows, concatenated; `stops` are cumulative ends that start with 0."""

    row_stops: NDArray[np.int32]  # (rows + 1,)
    name_stops: NDArray[np.int32]  # (headers + 1,)
    names: NDArray[np.uint8]
    value_stops: NDArray[np.int32]  # (headers + 1,)
    values: NDArray[np.uint8]
    has_value: NDArray[np.bool_]  # (headers,)


class KeptArrays:
    """Arrays that are reused, since each page of new memory costs a page fault.

    Pages that are never touched cost nothing.
    """

    def __init__(self) -> None:
        """Start with no arrays; each is made when it is first used."""
        self._arrays: dict[str, NDArray[Any]] = {}

    def empty(self, name: str, count: int, kind: type[np.generic]) -> NDArray[Any]:
        """Return an uninitialised array: the kept array of this name if it is large enough.

        Args:
            name: name of the array; it must have one user at a time, and always the same type.
            count: number of elements.
            kind: type of an element.
        """
        kept = self._arrays.get(name)
        if kept is None or len(kept) < count:
            kept = self._arrays[name] = np.empty(count, kind)
        return kept[:count]


def unit_results(count: int) -> UnitResults:
    """Return arrays of zeros for the results of `count` units."""
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
    """Return arrays with room for `capacity` rows, which belong to `kept`."""
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
    """Return arrays with room for headers of rows, which belong to `kept`.

    Args:
        kept: arrays to reuse.
        row_capacity: highest number of rows.
        header_capacity: highest number of headers in all rows.
        byte_capacity: highest total size of all names, and of all values, in bytes.
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
    """Return header arrays for `row_count` rows that have no headers."""
    arrays = header_arrays(KeptArrays(), row_capacity=row_count, header_capacity=0, byte_capacity=0)
    for array in arrays:
        array.fill(0)
    return arrays
