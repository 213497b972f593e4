"""Writes the rows of several data files of one topic into a new one, in offset order. Effect.

Runs in tasks. In a file the rows lie in the order of partition and offset. So that they do in the
new one too, all rows come at once up to a place that no later row group can lie before: of each
file one row group is in memory at a time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa

from seglake.lake.errors import RowCountError
from seglake.lake.parquet_files import DataFile, ParquetFile
from seglake.lake.parquet_rows import numbers, read_rows
from seglake.lake.tables import BATCHES, RECORDS, Table
from seglake.storage.storage import Storage

_ROW_GROUP_BYTES = 32 << 20  # in memory
_ORDERED_BY = {RECORDS.name: ("partition", "offset"), BATCHES.name: ("partition", "base_offset")}

_Place = tuple[int, int]  # partition and offset


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeTask:
    """Files of one table that become one."""

    storage: Storage
    lake_path: str
    table: Table
    topic: str  # of a table partitioned by it, else empty
    paths: tuple[str, ...]  # whole; in the order in which rows come of a table without offsets
    row_count: int  # of all files, as the log says
    compression_level: int


def merge(task: MergeTask) -> DataFile:
    """Write the new file; the old ones stay.

    Raises:
        RowCountError: the files do not have the rows that the log says.
        StorageError, OutputError: a file cannot be read, or written.
    """
    files = [_rows_of(task, path) for path in task.paths]
    order = _ORDERED_BY.get(task.table.name)
    pieces = chain.from_iterable(files) if order is None else _in_order(files, order)
    with ParquetFile(
        task.storage, task.lake_path, task.table, task.topic, task.compression_level
    ) as output:
        for rows in _row_groups(pieces):
            output.write(rows)
        file = output.close() if output.row_count == task.row_count else None
    if file is None:
        raise RowCountError(
            table=task.table.name,
            path=task.paths[0],
            expected=task.row_count,
            found=output.row_count,
        )
    return file


def _rows_of(task: MergeTask, path: str) -> Iterator[pa.Table]:
    """The row groups of a file, its columns in the order and of the types of the table's files."""
    schema = task.table.file_schema
    for rows in read_rows(task.storage, path, schema.names):
        yield rows.select(schema.names).cast(schema)


class _Ahead:
    """The rows of one file that are in memory, and those behind them."""

    def __init__(self, groups: Iterator[pa.Table], order: tuple[str, str]) -> None:
        self._groups = groups
        self._order = order
        self._rows = pa.table({})
        self._places = np.empty((2, 0), np.int64)
        self.first: _Place = (0, 0)
        self.last: _Place = (0, 0)
        self._hold(next(self._groups, self._rows))

    @property
    def is_over(self) -> bool:
        return self._rows.num_rows == 0

    def taken(self, place: _Place) -> pa.Table:
        """Those up to a place, that one included."""
        rows, (partitions, offsets) = self._rows, self._places
        is_due = (partitions < place[0]) | ((partitions == place[0]) & (offsets <= place[1]))
        if is_due.all():
            self._hold(next(self._groups, pa.table({})))
            return rows
        self._hold(rows.filter(pa.array(~is_due)))
        return rows.filter(pa.array(is_due))

    def _hold(self, rows: pa.Table) -> None:
        self._rows = rows
        if rows.num_rows:
            self._places = np.stack([numbers(rows, name) for name in self._order])
            partitions, offsets = self._places
            order = np.lexsort((offsets, partitions))
            self.first, self.last = (
                (int(partitions[row]), int(offsets[row])) for row in order[[0, -1]]
            )


def _in_order(files: Sequence[Iterator[pa.Table]], order: tuple[str, str]) -> Iterator[pa.Table]:
    ahead = [file for file in (_Ahead(groups, order) for groups in files) if not file.is_over]
    while ahead:
        # What is still to come of each file lies behind what is in memory of it.
        place = min(file.last for file in ahead)
        rows = pa.concat_tables([file.taken(place) for file in ahead if file.first <= place])
        partitions, offsets = (numbers(rows, name) for name in order)
        yield rows.take(np.lexsort((offsets, partitions)))
        ahead = [file for file in ahead if not file.is_over]


def _row_groups(pieces: Iterator[pa.Table]) -> Iterator[pa.RecordBatch]:
    """The rows, so many at a time that they make a row group."""
    waiting: list[pa.Table] = []
    size_bytes = 0
    for piece in pieces:
        waiting.append(piece)
        size_bytes += piece.nbytes
        if size_bytes >= _ROW_GROUP_BYTES:
            yield from pa.concat_tables(waiting).combine_chunks().to_batches()
            waiting, size_bytes = [], 0
    if waiting:
        yield from pa.concat_tables(waiting).combine_chunks().to_batches()
