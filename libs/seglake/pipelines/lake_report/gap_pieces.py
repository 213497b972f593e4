"""The rows of `gaps`, by partition, as arrays: compaction leaves a gap beside every other batch.

Effect: reads files. Memory: some 16 bytes a gap.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.lake.parquet_rows import numbers, read_rows
from seglake.lake.snapshots import StoredFile
from seglake.pipelines.lake_report.ledger import Ledger, LogName, Row
from seglake.storage.storage import Storage

_PLACE = ("source_id", "topic_id", "topic", "partition", "cause", "attempt_id")
_COLUMNS = (*_PLACE, "start_offset", "next_offset")


class GapPiece(NamedTuple):
    """Gaps of one cause that one attempt recorded in one partition, in no order."""

    cause: str
    attempt_id: str
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]

    @property
    def offset_count(self) -> int:
        return int((self.stops - self.starts).sum())


def gap_pieces(
    storage: Storage, files: Iterable[StoredFile], ledger: Ledger
) -> dict[LogName, list[GapPiece]]:
    """The gaps of every partition, without those whose commit the ledger does not have yet."""
    found: dict[LogName, list[GapPiece]] = {}
    for file in files:
        for rows in read_rows(storage, file.path, _COLUMNS):
            for place, starts, stops in _grouped(rows):
                if ledger.run_of(place["attempt_id"]) is None:
                    continue
                piece = GapPiece(place["cause"], place["attempt_id"], starts, stops)
                log = ledger.name_of(place["source_id"], place)
                found.setdefault(log, []).append(piece)
    return found


def standing(log: LogName, pieces: Iterable[GapPiece], ledger: Ledger) -> list[GapPiece]:
    """What no later repair stated anew, and no election took away."""
    rows, ends = ledger.of(log), ledger.gap_ends(log)
    result = []
    for piece in pieces:
        keep = np.ones(len(piece.starts), np.bool_)
        may_end = np.zeros(len(piece.starts), np.bool_)
        for start, stop in ends:
            may_end |= (piece.starts >= start) & (piece.starts < stop)
        for index in np.flatnonzero(may_end).tolist():
            start = int(piece.starts[index])
            keep[index] = rows.is_current_gap(start, piece.attempt_id)
        if keep.any():
            result.append(piece._replace(starts=piece.starts[keep], stops=piece.stops[keep]))
    return result


def _grouped(rows: pa.Table) -> Iterator[tuple[Row, NDArray[np.int64], NDArray[np.int64]]]:
    """The rows of each place, with their starts and stops."""
    rows = rows.unify_dictionaries()
    codes = [_codes(rows, name) for name in _PLACE]
    order = np.lexsort(codes)
    columns = np.stack([column[order] for column in codes])
    edges = np.flatnonzero((np.diff(columns, axis=1) != 0).any(axis=0)) + 1
    starts, stops = numbers(rows, "start_offset")[order], numbers(rows, "next_offset")[order]
    for group in np.split(np.arange(len(order)), edges):
        row = rows.slice(int(order[group[0]]), 1).select(_PLACE).to_pylist()[0]
        yield row, starts[group], stops[group]


def _codes(rows: pa.Table, name: str) -> NDArray[np.int64]:
    """A column as numbers that are equal where its values are."""
    # Any: the stubs know no type of a column.
    column: Any = rows.column(name).combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.indices
    filled: NDArray[np.int64] = column.cast(pa.int64()).fill_null(-1).to_numpy()
    return filled
