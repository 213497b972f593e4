"""Writes the rows of several data files of one topic into a new one, in offset order. Effect.

Runs in tasks. In a file the rows of a partition lie in the order of their offsets. So that the
new file has them so too, its rows are taken from whichever file has the least next; of each file
one row group is in memory at a time.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
    """Files of one table that become one.

    Attributes:
        topic: of a table partitioned by it, else empty.
        paths: of the data files, whole; in the order in which rows come of a table without offsets.
        row_count: of all of them, as the log says.
    """

    storage: Storage
    lake_path: str
    table: Table
    topic: str
    paths: tuple[str, ...]
    row_count: int
    compression_level: int


def merge(task: MergeTask) -> DataFile:
    """Write the new file; the old ones stay.

    Raises:
        RowCountError: the files do not have the rows that the log says.
        StorageError, OutputError: a file cannot be read, or written.
    """
    with ParquetFile(
        task.storage, task.lake_path, task.table, task.topic, task.compression_level
    ) as output:
        for rows in _of_a_row_group(_in_order(task)):
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


class _Rows:
    """The rows of one file that are still to come."""

    def __init__(self, groups: Iterator[pa.Table], table: Table) -> None:
        self._groups = groups
        self._columns = _ORDERED_BY.get(table.name)
        self._rows: pa.Table | None = None
        self._partitions = self._offsets = np.zeros(0, np.int64)
        self._load()

    @property
    def is_over(self) -> bool:
        return self._rows is None

    def first(self) -> _Place:
        """Where the next row belongs."""
        return int(self._partitions[0]), int(self._offsets[0])

    def taken(self, limit: _Place | None) -> pa.Table:
        """The next rows up to a place, that one included; all of the row group without a limit."""
        if self._rows is None:
            raise ValueError
        count = self._rows.num_rows
        if limit is not None:
            partition, offset = limit
            is_behind = (self._partitions > partition) | (
                (self._partitions == partition) & (self._offsets > offset)
            )
            count = int(np.argmax(is_behind)) if is_behind.any() else count
        rows = self._rows.slice(0, count)
        if count == self._rows.num_rows:
            self._load()
        else:
            self._rows = self._rows.slice(count)
            self._partitions, self._offsets = self._partitions[count:], self._offsets[count:]
        return rows

    def _load(self) -> None:
        self._rows = next(self._groups, None)
        if self._rows is None:
            return
        if self._columns is None:
            self._partitions = self._offsets = np.zeros(self._rows.num_rows, np.int64)
        else:
            partition, offset = self._columns
            self._partitions = numbers(self._rows, partition)
            self._offsets = numbers(self._rows, offset)


def _in_order(task: MergeTask) -> Iterator[pa.Table]:
    schema = task.table.file_schema
    files = [_Rows(read_rows(task.storage, p, schema.names), task.table) for p in task.paths]
    ahead = [(file.first(), index) for index, file in enumerate(files) if not file.is_over]
    heapq.heapify(ahead)
    while ahead:
        _, index = heapq.heappop(ahead)
        yield files[index].taken(ahead[0][0] if ahead else None).cast(schema)
        if not files[index].is_over:
            heapq.heappush(ahead, (files[index].first(), index))


def _of_a_row_group(pieces: Iterator[pa.Table]) -> Iterator[pa.RecordBatch]:
    """The rows, so many at a time that they make a row group."""
    waiting: list[pa.Table] = []
    size_bytes = 0
    for piece in pieces:
        waiting.append(piece)
        size_bytes += piece.nbytes
        if size_bytes >= _ROW_GROUP_BYTES:
            yield _joined(waiting)
            waiting, size_bytes = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(pieces: Sequence[pa.Table]) -> pa.RecordBatch:
    [batch] = pa.concat_tables(pieces).combine_chunks().to_batches()
    return batch
