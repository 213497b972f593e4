"""Reads columns of data files, one row group at a time. Effect.

Runs in tasks and on the driver. It avoids pyarrow.dataset, whose import and threads cost more than
most of these files.
"""

from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from seglake.lake.tables import ADDED_TYPES
from seglake.storage.errors import StorageError
from seglake.storage.reader_file import ReaderFile
from seglake.storage.storage import Storage

LOWEST = -(1 << 63)
HIGHEST = (1 << 63) - 1
_BATCH_ROWS = 4096
NULL_NUMBER = -1
"""Stand-in for null in a column of numbers; no offset, position or count is negative."""


class Within(NamedTuple):
    """Condition that a row's number is in [at_least, at_most]."""

    column: str
    at_least: int = LOWEST
    at_most: int = HIGHEST

    def may_hold(self, least: int, greatest: int) -> bool:
        """Return whether a file or row group with such bounds may have a matching row."""
        return least <= self.at_most and greatest >= self.at_least


def read_rows(
    storage: Storage,
    path: str,
    columns: Sequence[str],
    only: Sequence[Within] = (),
    *,
    group: int | None = None,
) -> Iterator[pa.Table]:
    """Yield the matching rows, a row group at a time; texts come as dictionaries.

    Args:
        storage: storage of the file.
        path: path of the file.
        columns: columns to read; columns of `only` must be among them.
        only: conditions that a row must meet, all of them.
        group: index of the only row group to read; None for all.

    Raises:
        StorageError: the file does not exist, is not a Parquet file, or lacks a column that every
            version of the table has.
    """
    with _opened(storage, path) as stream:
        file = pq.ParquetFile(stream)
        schema = file.schema_arrow  # each access builds a new schema
        lacking = [name for name in columns if name not in schema.names]
        if not ADDED_TYPES.keys() >= {*lacking}:
            raise StorageError(action="read", path=path, reason=f"it has no column {lacking[0]}")
        there = [name for name in columns if name not in lacking]
        texts = [name for name in there if pa.types.is_string(schema.field(name).type)]
        if texts:
            file = pq.ParquetFile(stream, metadata=file.metadata, read_dictionary=texts)
        for index in range(file.metadata.num_row_groups) if group is None else (group,):
            if _may_hold(file.metadata.row_group(index), only):
                rows = file.read_row_group(index, there, use_threads=False)
                kept = _kept(with_added(rows, columns) if lacking else rows, only)
                if kept.num_rows:
                    yield kept


def read_batches(storage: Storage, path: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield some thousand rows at a time, whatever the size of the row groups.

    Args:
        storage: storage of the file.
        path: path of the file.
        columns: columns to read if the file has them; `a.b` is a field of a struct.

    Raises:
        StorageError: the file does not exist, or is not a Parquet file.
    """
    with _opened(storage, path) as stream:
        file = pq.ParquetFile(stream)
        yield from file.iter_batches(_BATCH_ROWS, columns=[*columns], use_threads=False)


def row_group_starts(
    storage: Storage, path: str, column: str, only: Sequence[Within] = ()
) -> list[tuple[int, int]]:
    """Return a column's lowest number, and the index, of each row group that may match.

    The number is LOWEST if the statistics lack it.

    Raises:
        StorageError: the file does not exist, or is not a Parquet file.
    """
    with _opened(storage, path) as stream:
        metadata = pq.ParquetFile(stream).metadata
        groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
        return [
            (_bounds(group, {column}).get(column, (LOWEST, HIGHEST))[0], index)
            for index, group in enumerate(groups)
            if _may_hold(group, only)
        ]


@contextmanager
def _opened(storage: Storage, path: str) -> Iterator[pa.PythonFile]:
    """Open a file for Arrow, whose errors become ours."""
    with storage.open_reader(path) as reader, naming_what_is_no_parquet(path):
        yield pa.PythonFile(ReaderFile(reader), mode="r")


@contextmanager
def naming_what_is_no_parquet(path: str) -> Iterator[None]:
    """Turn Arrow's errors about a file into StorageError, which names the file."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        raise StorageError(action="read", path=path, reason=reason) from error


def with_added(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return columns of a file; those that a later version added are null."""
    for name in columns:
        if name not in rows.column_names:
            kind: Any = ADDED_TYPES[name]
            rows = rows.append_column(name, pa.nulls(rows.num_rows, kind))
    return rows.select([*columns])


def _may_hold(group: pq.RowGroupMetaData, only: Sequence[Within]) -> bool:
    """Return whether a row group may have rows that meet all conditions."""
    bounds = _bounds(group, {condition.column for condition in only})
    return all(c.column not in bounds or c.may_hold(*bounds[c.column]) for c in only)


# Any: pyarrow's stubs do not know the values; callers ask only about numbers.
def _bounds(group: pq.RowGroupMetaData, columns: Container[str]) -> dict[str, tuple[Any, Any]]:
    """Return the least and greatest value of columns without nulls, if statistics have them."""
    found: dict[str, tuple[Any, Any]] = {}
    for index in range(group.num_columns):
        column = group.column(index)
        known = column.statistics if column.path_in_schema in columns else None
        if known is not None and known.null_count == 0:
            least, greatest = known.min, known.max
            if least is not None and greatest is not None:
                found[column.path_in_schema] = least, greatest
    return found


def _kept(rows: pa.Table, only: Sequence[Within]) -> pa.Table:
    """Return the rows that meet all conditions."""
    keep = np.ones(rows.num_rows, np.bool_)
    for condition in only:
        found = numbers(rows, condition.column)
        keep &= (found >= condition.at_least) & (found <= condition.at_most)
    return rows if keep.all() else rows.filter(pa.array(keep))


def numbers(rows: pa.Table | pa.RecordBatch, column: str) -> NDArray[np.int64]:
    """Return a column of numbers, NULL_NUMBER for null."""
    # Any: pyarrow's stubs know neither the type of a column nor that of its null.
    values: Any = rows.column(column).cast(pa.int64())
    found: NDArray[np.int64] = values.fill_null(NULL_NUMBER).to_numpy(zero_copy_only=False)
    return found


# Any: columns have values of many types.
def distinct_rows(rows: pa.Table, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Return the distinct combinations of the columns' values."""
    return (
        plain_texts(rows.select([*columns]))
        .group_by([*columns], use_threads=False)
        .aggregate([])
        .to_pylist()
    )


def plain_texts(rows: pa.Table) -> pa.Table:
    """Return the rows with plain texts: Arrow cannot group different dictionaries."""
    fields = [
        field.with_type(pa.string()) if pa.types.is_dictionary(field.type) else field
        for field in rows.schema
    ]
    return rows.cast(pa.schema(fields))
