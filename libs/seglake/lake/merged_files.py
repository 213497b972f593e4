"""Writes the rows of several data files of one topic into a new one, in offset order. Effect.

Runs in tasks. Rows in a file are ordered by partition and offset. The merge keeps one row group of
each file in memory and emits rows up to the smallest offset that an unread row group may have.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa

from seglake.lake.errors import RowCountError
from seglake.lake.parquet_files import DataFile, ParquetFile, row_groups
from seglake.lake.parquet_rows import numbers, read_rows
from seglake.lake.tables import BATCHES, RECORDS, Table
from seglake.storage.storage import Storage

_ROW_GROUP_BYTES = 32 << 20  # size in memory
_ORDERED_BY = {RECORDS.name: ("partition", "offset"), BATCHES.name: ("partition", "base_offset")}

_Place = tuple[int, int]  # partition and offset


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeTask:
    """Files of one table to be merged into one.

    Attributes:
        topic: topic of the files in a table partitioned by it, else empty.
        paths: whole paths; a table without offsets keeps the rows in this order.
        row_count: rows of all files, as the log says.
        compression_level: level of zstd.
    """

    storage: Storage
    lake_path: str
    table: Table
    topic: str
    paths: tuple[str, ...]
    row_count: int
    compression_level: int


def merge(task: MergeTask) -> DataFile:
    """Write the new file and return it; the old ones stay.

    Raises:
        RowCountError: the files do not have the rows that the log says.
        StorageError: a file cannot be read.
        OutputError: the new file cannot be written.
    """
    files = [_rows_of(task, path) for path in task.paths]
    order = _ORDERED_BY.get(task.table.name)
    pieces = chain.from_iterable(files) if order is None else _in_order(files, order)
    with ParquetFile(
        task.storage, task.lake_path, task.table, task.topic, task.compression_level
    ) as output:
        for rows in row_groups(pieces, _ROW_GROUP_BYTES):
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
    """Yield the row groups of a file, with the columns and types of the table's files."""
    schema = task.table.file_schema
    for rows in read_rows(task.storage, path, schema.names):
        yield rows.select(schema.names).cast(schema)


class _Ahead:
    """One row group of a file in memory, and the row groups after it."""

    def __init__(self, groups: Iterator[pa.Table], order: tuple[str, str]) -> None:
        """Read the first row group.

        Args:
            groups: row groups of the file, in its order.
            order: columns of partition and offset.
        """
        self._groups = groups
        self._order = order
        self._rows = pa.table({})
        self._places = np.empty((2, 0), np.int64)
        self.first: _Place = (0, 0)
        self.last: _Place = (0, 0)
        self._hold(next(self._groups, self._rows))

    @property
    def is_over(self) -> bool:
        """Return whether all rows were emitted."""
        return self._rows.num_rows == 0

    def pop_up_to(self, place: _Place) -> pa.Table:
        """Return and remove the rows up to a place, inclusive."""
        rows, (partitions, offsets) = self._rows, self._places
        is_due = (partitions < place[0]) | ((partitions == place[0]) & (offsets <= place[1]))
        if is_due.all():
            self._hold(next(self._groups, pa.table({})))
            return rows
        self._hold(rows.filter(pa.array(~is_due)))
        return rows.filter(pa.array(is_due))

    def _hold(self, rows: pa.Table) -> None:
        """Keep these rows in memory, and find their first and last place."""
        self._rows = rows
        if rows.num_rows:
            self._places = np.stack([numbers(rows, name) for name in self._order])
            partitions, offsets = self._places
            order = np.lexsort((offsets, partitions))
            self.first, self.last = (
                (int(partitions[row]), int(offsets[row])) for row in order[[0, -1]]
            )


def _in_order(files: Sequence[Iterator[pa.Table]], order: tuple[str, str]) -> Iterator[pa.Table]:
    """Yield the rows of all files, ordered by partition and offset."""
    ahead = [file for file in (_Ahead(groups, order) for groups in files) if not file.is_over]
    while ahead:
        # Unread rows of each file come after its rows in memory.
        place = min(file.last for file in ahead)
        rows = pa.concat_tables([file.pop_up_to(place) for file in ahead if file.first <= place])
        partitions, offsets = (numbers(rows, name) for name in order)
        yield rows.take(np.lexsort((offsets, partitions)))
        ahead = [file for file in ahead if not file.is_over]
