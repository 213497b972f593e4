"""Merges several data files of one topic into a new file, in order of offsets.

Runs in tasks. The rows of each file are ordered by partition and offset. The merge keeps one row
group of each file in memory. It writes rows up to the smallest offset that an unread row group may
have.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa

from seglake.lake.arranged import rows_arranged
from seglake.lake.errors import RowCountError
from seglake.lake.parquet_files import DataFile, ParquetFile, row_groups
from seglake.lake.parquet_rows import numbers, read_rows
from seglake.lake.tables import BATCHES, RECORDS, Table
from seglake.lake.typed_tables import is_typed
from seglake.storage.storage import Storage

_ROW_GROUP_BYTES = 32 << 20  # uncompressed size of each new row group
_ORDERED_BY = {RECORDS.name: ("partition", "offset"), BATCHES.name: ("partition", "base_offset")}
_TYPED_ORDER = ("_partition", "_offset")

_Place = tuple[int, int]  # partition and offset


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeTask:
    """Files of one table to be merged into one.

    Attributes:
        topic: topic of the files; empty if the table is not partitioned.
        paths: absolute paths; rows without offsets are written in this order.
        row_count: total number of rows of the files, according to Delta's log.
        compression_level: zstd level.
    """

    storage: Storage
    lake_path: str
    table: Table
    topic: str
    paths: tuple[str, ...]
    row_count: int
    compression_level: int


def merge(task: MergeTask) -> DataFile:
    """Write the merged file and return it, without deleting the old files.

    Raises:
        RowCountError: the files have another number of rows than `row_count`.
        StorageError: a file cannot be read.
        OutputError: the new file cannot be written.
    """
    files = [_rows_of(task, path) for path in task.paths]
    order = _TYPED_ORDER if is_typed(task.table) else _ORDERED_BY.get(task.table.name)
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
    table, schema = task.table, task.table.file_schema
    grows = is_typed(table)
    for rows in read_rows(task.storage, path, schema.names, may_lack=table.added if grows else ()):
        yield rows_arranged(rows, schema) if grows else rows.select(schema.names).cast(schema)


class _Ahead:
    """A file's current row group in memory, and an iterator over the next row groups."""

    def __init__(self, groups: Iterator[pa.Table], order: tuple[str, str]) -> None:
        """Read the first row group.

        Args:
            groups: row groups of the file, in the file's order.
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
        """Remove and return the rows up to a partition and offset, inclusive."""
        rows, (partitions, offsets) = self._rows, self._places
        is_due = (partitions < place[0]) | ((partitions == place[0]) & (offsets <= place[1]))
        if is_due.all():
            self._hold(next(self._groups, pa.table({})))
            return rows
        self._hold(rows.filter(pa.array(~is_due)))
        return rows.filter(pa.array(is_due))

    def _hold(self, rows: pa.Table) -> None:
        """Store rows as the current ones, with their first and last partition and offset."""
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
        # Unread rows of a file come after its rows in memory.
        place = min(file.last for file in ahead)
        rows = pa.concat_tables([file.pop_up_to(place) for file in ahead if file.first <= place])
        partitions, offsets = (numbers(rows, name) for name in order)
        yield rows.take(np.lexsort((offsets, partitions)))
        ahead = [file for file in ahead if not file.is_over]
