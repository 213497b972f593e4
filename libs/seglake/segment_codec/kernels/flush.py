"""Decodes collected batches together: prepares the kernels' input, runs them, reads their output.

Row i has `offsets[i]`, `timestamps_ms[i]`, key and value as binary views into `data`, and the
headers with indexes [header_stops[i], header_stops[i + 1]).
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seglake.segment_codec.formats.defects import Defect
from seglake.segment_codec.formats.errors import DefectError
from seglake.segment_codec.formats.message_set import PREFIX_BYTES, Wrapper
from seglake.segment_codec.formats.record_batch import (
    LOG_APPEND_TIME,
    SMALLEST_RECORD_BYTES,
    RecordBatch,
)
from seglake.segment_codec.formats.units import Unit
from seglake.segment_codec.kernels.arrays import (
    BatchArrays,
    HeaderArrays,
    KeptArrays,
    MessageSetArrays,
    RowArrays,
    UnitResults,
    header_arrays,
    no_header_arrays,
    row_arrays,
    unit_results,
)
from seglake.segment_codec.kernels.batch_run import BatchRun
from seglake.segment_codec.kernels.damaged_wrapper import InnerPart, InnerPiece, pieces_of
from seglake.segment_codec.kernels.outcomes import (
    Outcome,
    PiecesOutcome,
    RunOutcome,
    UnitOutcome,
    unit_outcome,
)

RECORD_BATCHES = (RecordBatch, BatchRun)

# The smallest message has no key and no value, only their two lengths of 4 bytes (-1 for null).
_SMALLEST_MESSAGE_BYTES = PREFIX_BYTES + 8


class Columns(NamedTuple):
    """Decoded records as arrays: n rows and h headers; the next `add` overwrites them."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]  # (n,)
    timestamps_ms: NDArray[np.int64]  # (n,) -1 in magic 0
    key_views: NDArray[np.int32]  # (n, 4)
    has_key: NDArray[np.bool_]  # (n,)
    value_views: NDArray[np.int32]  # (n, 4)
    has_value: NDArray[np.bool_]  # (n,)
    header_stops: NDArray[np.int32]  # (n + 1,)
    name_stops: NDArray[np.int32]  # (h + 1,)
    names: NDArray[np.uint8]
    header_value_stops: NDArray[np.int32]  # (h + 1,)
    header_values: NDArray[np.uint8]
    has_header_value: NDArray[np.bool_]  # (h,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flush:
    """Units of a flush, and the arrays that the kernels read and write for them.

    All arrays except `data` and `reach` have one element per batch.

    Attributes:
        units: units, all of magic 2 or all of older formats.
        data: decompressed bytes of all batches.
        starts: start of a batch's bytes in `data`.
        stops: end of a batch's bytes in `data`.
        floors: offset below which records get no rows.
        ceilings: offset at or above which records get no rows.
        is_late: whether the batch is out of order: it fills a hole between earlier batches.
        lows: for each batch, the exclusive end of earlier batches that are not in this flush.
        kept: arrays to reuse.
        reach: state of `decode_records` between flushes; the kernel updates it.
        results: results of the kernels.
    """

    units: list[Unit | BatchRun]
    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    floors: NDArray[np.int64]
    ceilings: NDArray[np.int64]
    is_late: NDArray[np.bool_]
    lows: NDArray[np.int64]
    kept: KeptArrays
    reach: NDArray[np.int64]
    results: UnitResults

    def columns(self, rows: RowArrays, headers: HeaderArrays) -> Columns:
        """Return views of the parts of the arrays that the kernel has filled."""
        n = int(self.results.row_stops[-1]) if self.units else 0
        h = int(headers.row_stops[n])
        return Columns(
            data=self.data,
            offsets=rows.offsets[:n],
            timestamps_ms=rows.timestamps[:n],
            key_views=rows.key_views[:n],
            has_key=rows.has_key[:n],
            value_views=rows.value_views[:n],
            has_value=rows.has_value[:n],
            header_stops=headers.row_stops[: n + 1],
            name_stops=headers.name_stops[: h + 1],
            names=headers.names[: headers.name_stops[h]],
            header_value_stops=headers.value_stops[: h + 1],
            header_values=headers.values[: headers.value_stops[h]],
            has_header_value=headers.has_value[:h],
        )

    def in_parts(self, pieces: Mapping[int, list[InnerPiece]]) -> "Flush":
        """Return a flush in which damaged wrappers are replaced by their parts.

        Args:
            pieces: parts and defects of damaged wrappers, by the wrapper's index in `units`.
        """
        units: list[Unit | BatchRun] = []
        places: list[int] = []
        starts: list[int] = []
        stops: list[int] = []
        for index, unit in enumerate(self.units):
            start = int(self.starts[index])
            parts = [piece for piece in pieces.get(index, ()) if isinstance(piece, InnerPart)]
            places_inside = [part.place for part in parts] or [(0, int(self.stops[index]) - start)]
            units += [part.wrapper for part in parts] or [unit]
            for begin, end in places_inside:
                places.append(index)
                starts.append(start + begin)
                stops.append(start + end)
        return replace(
            self,
            units=units,
            starts=np.array(starts, np.int64),
            stops=np.array(stops, np.int64),
            floors=self.floors[places],
            ceilings=self.ceilings[places],
            results=unit_results(len(units)),
        )

    def outcomes(self) -> list[Outcome]:
        """Return an outcome for each batch of magic 2, or for each run of batches."""
        found: list[Outcome] = []
        start = 0
        for unit in self.units:
            stop = start + (len(unit) if isinstance(unit, BatchRun) else 1)
            first_row = int(self.results.row_stops[start - 1]) if start else 0
            if isinstance(unit, BatchRun):
                found.append(self._of_run(unit, start, stop, first_row))
            else:
                found.append(self._of_unit(unit, start))
            start = stop
        return found

    def message_outcomes(
        self, units: Sequence[Unit | BatchRun], pieces: Mapping[int, list[InnerPiece]]
    ) -> Iterator[Outcome]:
        """Yield an outcome for each added unit of the old formats.

        Args:
            units: the units as they were added, before wrappers were replaced by parts.
            pieces: parts and defects of damaged wrappers, by the wrapper's index in `units`.
        """
        decoded = (
            self._of_unit(unit, index)
            for index, unit in enumerate(self.units)
            if not isinstance(unit, BatchRun)
        )
        for index, unit in enumerate(units):
            if index not in pieces:
                yield next(decoded)
            elif isinstance(unit, Wrapper):
                of_each = (p if isinstance(p, Defect) else next(decoded) for p in pieces[index])
                yield PiecesOutcome(unit, tuple(of_each))

    def _of_run(self, run: BatchRun, start: int, stop: int, first_row: int) -> RunOutcome:
        """Return the outcome of a run whose batches are at [start, stop) in the arrays."""
        return RunOutcome(
            run=run,
            first_row=first_row,
            plain_bytes=self.stops[start:stop] - self.starts[start:stop],
            results=self.results.part(start, stop),
        )

    def _of_unit(self, unit: Unit, index: int) -> UnitOutcome:
        """Return the outcome of a unit, which is at `index` in the arrays."""
        plain_bytes = int(self.stops[index] - self.starts[index])
        return unit_outcome(unit, self.results, index, plain_bytes)


def decoded(flush: Flush) -> tuple[Columns, list[Outcome]]:
    """Decode a flush; return its columns, and an outcome per unit or run."""
    if flush.units and isinstance(flush.units[0], RECORD_BATCHES):
        rows, headers = _decode_records(flush)
        return flush.columns(rows, headers), flush.outcomes()
    rows, headers = _decode_messages(flush)
    units, pieces = flush.units, _pieces_of_damaged(flush)
    if pieces:
        flush = flush.in_parts(pieces)
        rows, headers = _decode_messages(flush)
    return flush.columns(rows, headers), list(flush.message_outcomes(units, pieces))


def _decode_records(flush: Flush) -> tuple[RowArrays, HeaderArrays]:
    """Decode batches of magic 2; repeat with more memory for headers until they fit."""
    from seglake.segment_codec.kernels.record_kernel import decode_records  # numba takes 0.2 s

    base_offsets = _of_headers(flush.units, "base_offset")
    # Allow one record more than the payload can have: it proves that a header's count is wrong.
    most_records = (flush.stops - flush.starts) // SMALLEST_RECORD_BYTES + 1
    batches = BatchArrays(
        starts=flush.starts,
        stops=flush.stops,
        floors=flush.floors,
        ceilings=flush.ceilings,
        base_offsets=base_offsets,
        base_timestamps=_of_headers(flush.units, "base_timestamp_ms"),
        next_offsets=base_offsets
        + np.maximum(_of_headers(flush.units, "last_offset_delta"), 0)
        + 1,
        counts=np.minimum(_of_headers(flush.units, "record_count"), most_records),
        is_late=flush.is_late,
        lows=flush.lows,
    )
    row_capacity = int(batches.counts.sum())
    header_capacity = 2 * row_capacity + 16
    rows = row_arrays(flush.kept, row_capacity)
    while True:
        record_headers = header_arrays(
            flush.kept,
            row_capacity=row_capacity,
            header_capacity=header_capacity,
            byte_capacity=len(flush.data),
        )
        reach = flush.reach.copy()
        if decode_records(flush.data, batches, flush.results, rows, record_headers, reach):
            flush.reach[:] = reach
            _stamp_records(flush, rows.timestamps)
            return rows, record_headers
        header_capacity *= 4


def _decode_messages(flush: Flush) -> tuple[RowArrays, HeaderArrays]:
    """Decode sets of messages of magic 0 and 1 to rows."""
    from seglake.segment_codec.kernels.message_kernels import decode_messages  # numba takes 0.2 s

    units = [unit for unit in flush.units if not isinstance(unit, BatchRun)]
    append_times = [unit.append_time_ms if isinstance(unit, Wrapper) else None for unit in units]
    sets = MessageSetArrays(
        starts=flush.starts,
        stops=flush.stops,
        floors=flush.floors,
        ceilings=flush.ceilings,
        magics=_int64s(units, "magic"),
        is_wrapper=np.array([isinstance(unit, Wrapper) for unit in units], np.bool_),
        last_offsets=_int64s(units, "last_offset"),
        is_append_time=np.array([time is not None for time in append_times], np.bool_),
        append_times=np.array([time or 0 for time in append_times], np.int64),
    )
    row_capacity = int(((flush.stops - flush.starts) // _SMALLEST_MESSAGE_BYTES + 1).sum())
    rows = row_arrays(flush.kept, row_capacity)
    decode_messages(flush.data, sets, flush.results, rows)
    return rows, no_header_arrays(row_capacity)


def _pieces_of_damaged(flush: Flush) -> dict[int, list[InnerPiece]]:
    """Return the parts and defects of wrappers with some valid messages, by index in `units`."""
    found: dict[int, list[InnerPiece]] = {}
    for index in np.flatnonzero(flush.results.statuses).tolist():
        unit = flush.units[index]
        if isinstance(unit, Wrapper):
            content = flush.data[flush.starts[index] : flush.stops[index]]
            # Without a valid message, the outcome keeps the wrapper's fault.
            with suppress(DefectError):
                found[index] = pieces_of(unit, content)
    return found


def _int64s(values: Sequence[object], attribute: str) -> NDArray[np.int64]:
    """Return one attribute of all units as an array of int64."""
    return np.fromiter(map(attrgetter(attribute), values), np.int64, len(values))


def _of_headers(units: Sequence[Unit | BatchRun], field: str) -> NDArray[np.int64]:
    """Return one header field of all batches of magic 2, as an array."""
    parts = [np.zeros(0, np.int64)]
    for kind, group in groupby(units, type):
        if kind is BatchRun:
            parts += [run.column(field) for run in group if isinstance(run, BatchRun)]
        else:
            headers = [unit.header for unit in group if isinstance(unit, RecordBatch)]
            parts.append(_int64s(headers, field))
    return np.concatenate(parts)


def _stamp_records(flush: Flush, timestamps: NDArray[np.int64]) -> None:
    """Give the records of batches with log append time the batch's append time as timestamp."""
    is_append_time = _of_headers(flush.units, "attributes") & LOG_APPEND_TIME != 0
    if not is_append_time.any():
        return
    counts = np.diff(flush.results.row_stops, prepend=0)
    is_stale = np.repeat(is_append_time, counts)
    times = np.repeat(_of_headers(flush.units, "max_timestamp_ms"), counts)
    timestamps[: len(times)][is_stale] = times[is_stale]
