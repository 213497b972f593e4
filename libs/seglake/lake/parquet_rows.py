"""Reads columns of data files, one row group at a time.

Runs in tasks and on the driver. It does not use pyarrow.dataset, whose import and threads take
longer than reading most of these files.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from seglake.lake.tables import ADDED_TYPES, Table
from seglake.storage.errors import StorageError
from seglake.storage.reader_file import ReaderFile
from seglake.storage.storage import Storage

LOWEST = -(1 << 63)
HIGHEST = (1 << 63) - 1
_BATCH_ROWS = 4096
NULL_NUMBER = -1
"""Replacement for null in columns of numbers: offsets, positions and counts are never negative."""


class Within(NamedTuple):
    """Condition that a column's number is in [at_least, at_most]."""

    column: str
    at_least: int = LOWEST
    at_most: int = HIGHEST

    def may_hold(self, least: int, greatest: int) -> bool:
        """Return whether a file or row group with these bounds may have a matching row."""
        return least <= self.at_most and greatest >= self.at_least

    def holds_all(self, least: int, greatest: int) -> bool:
        """Return whether all rows of a row group with these bounds match."""
        return self.at_least <= least and greatest <= self.at_most


def read_rows(
    storage: Storage,
    path: str,
    columns: Sequence[str],
    only: Sequence[Within] = (),
    *,
    group: int | None = None,
    may_lack: Container[str] = (),
) -> Iterator[pa.Table]:
    """Yield the matching rows, one row group at a time; strings are dictionary-encoded.

    Views, which delta-rs writes, come as plain columns, since Arrow cannot filter views.

    Args:
        storage: storage of the file.
        path: path of the file.
        columns: columns to read; columns of `only` must be among them.
        only: conditions that each row must meet.
        group: index of the only row group to read; None reads all.
        may_lack: columns that are omitted if the file lacks them.

    Raises:
        StorageError: the file does not exist, is not a Parquet file, or lacks a column that every
            version of seglake writes.
    """
    with _opened(storage, path) as stream:
        file = pq.ParquetFile(stream)
        schema = file.schema_arrow  # Arrow builds this object anew at each access, so it is stored
        columns = [name for name in columns if name in schema.names or name not in may_lack]
        lacking = [name for name in columns if name not in schema.names]
        if not ADDED_TYPES.keys() >= {*lacking}:
            raise StorageError(action="read", path=path, reason=f"it has no column {lacking[0]}")
        there = [name for name in columns if name not in lacking]
        texts = [name for name in there if pa.types.is_string(schema.field(name).type)]
        if texts:
            file = pq.ParquetFile(stream, metadata=file.metadata, read_dictionary=texts)
        for index in range(file.metadata.num_row_groups) if group is None else (group,):
            if _may_hold(found := file.metadata.row_group(index), only):
                rows = _without_views(file.read_row_group(index, there, use_threads=False))
                kept = _kept(with_added(rows, columns) if lacking else rows, _unsure(found, only))
                if kept.num_rows:
                    yield kept


def read_batches(storage: Storage, path: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows in batches of at most 4,096, regardless of the row groups' size.

    Args:
        storage: storage of the file.
        path: path of the file.
        columns: columns to read, if the file has them; `a.b` is a field of a struct.

    Raises:
        StorageError: the file does not exist, or is not a Parquet file.
    """
    with _opened(storage, path) as stream:
        file = pq.ParquetFile(stream)
        yield from file.iter_batches(_BATCH_ROWS, columns=[*columns], use_threads=False)


def columns_of(storage: Storage, path: str) -> pa.Schema:
    """Return the columns that a Parquet file has; views, which delta-rs writes, as plain columns.

    Raises:
        StorageError: the file does not exist, or is not a Parquet file.
    """
    with _opened(storage, path) as stream:
        schema = pq.ParquetFile(stream).schema_arrow.remove_metadata()
    return pa.schema([field.with_type(_plain_type(field.type)) for field in schema])


def _without_views(rows: pa.Table) -> pa.Table:
    """Return rows with plain Arrow types instead of view types."""
    plain = pa.schema([field.with_type(_plain_type(field.type)) for field in rows.schema])
    # A conversion is slow: convert only if types differ.
    return rows if plain.equals(rows.schema) else rows.cast(plain)


# Any: pyarrow's types have parameters that do not matter here.
def _plain_type(kind: Any) -> Any:
    """Return a type without views, also in its lists and structs."""
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_list(kind):
        element = kind.value_field
        return pa.list_(element.with_type(_plain_type(element.type)))
    if pa.types.is_struct(kind):
        return pa.struct([each.with_type(_plain_type(each.type)) for each in kind])
    return kind


def row_group_starts(
    storage: Storage, path: str, column: str, only: Sequence[Within] = ()
) -> list[tuple[int, int]]:
    """Return, for each row group that may match, the column's lowest number and the group's index.

    The number is LOWEST if the statistics do not have it.

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
    """Open a file for Arrow, and turn Arrow's errors into seglake's."""
    with storage.open_reader(path) as reader, naming_what_is_no_parquet(path):
        yield pa.PythonFile(ReaderFile(reader), mode="r")


@contextmanager
def naming_what_is_no_parquet(path: str) -> Iterator[None]:
    """Turn Arrow's errors about a file into StorageError with the file's path."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        raise StorageError(action="read", path=path, reason=reason) from error


def read_files(
    storage: Storage, table: Table, paths: Iterable[str], columns: Iterable[str]
) -> pa.Table:
    """Return columns of small data files of a table, in the order of the paths."""
    schema = pa.schema([table.schema.field(name) for name in columns])
    files = (_read_whole(storage, path, schema) for path in paths)
    return pa.concat_tables([schema.empty_table(), *files])


def _read_whole(storage: Storage, path: str, schema: pa.Schema) -> pa.Table:
    """Read a small file in one request, and return columns with the types of the schema."""
    content = storage.read_bytes(path)
    with naming_what_is_no_parquet(path):
        rows = pq.ParquetFile(pa.BufferReader(content)).read(schema.names, use_threads=False)
    complete = with_added(rows, schema.names)
    # A conversion is slow: convert only if types differ.
    return complete if complete.schema.equals(schema) else complete.cast(schema)


def with_added(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return columns of a file's rows; missing columns become null."""
    for name in columns:
        if name not in rows.column_names:
            kind: Any = ADDED_TYPES[name]
            rows = rows.append_column(name, pa.nulls(rows.num_rows, kind))
    return rows.select([*columns])


def _may_hold(group: pq.RowGroupMetaData, only: Sequence[Within]) -> bool:
    """Return whether a row group may have rows that meet all conditions."""
    bounds = _bounds(group, {condition.column for condition in only})
    return all(c.column not in bounds or c.may_hold(*bounds[c.column]) for c in only)


def _unsure(group: pq.RowGroupMetaData, only: Sequence[Within]) -> list[Within]:
    """Return the conditions that some rows of a row group may not meet."""
    bounds = _bounds(group, {condition.column for condition in only})
    return [c for c in only if c.column not in bounds or not c.holds_all(*bounds[c.column])]


# Any: pyarrow's stubs do not know the values; callers request only columns of numbers.
def _bounds(group: pq.RowGroupMetaData, columns: Container[str]) -> dict[str, tuple[Any, Any]]:
    """Return the least and greatest value of each column that has no nulls, from the statistics."""
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
    """Return the rows of a table that meet all conditions."""
    keep = np.ones(rows.num_rows, np.bool_)
    for condition in only:
        found = numbers(rows, condition.column)
        keep &= (found >= condition.at_least) & (found <= condition.at_most)
    return rows if keep.all() else rows.filter(pa.array(keep))


def numbers(rows: pa.Table | pa.RecordBatch, column: str) -> NDArray[np.int64]:
    """Return a column of numbers as an array, with NULL_NUMBER for null."""
    # Any: pyarrow's stubs do not know the column's type.
    values: Any = rows.column(column).cast(pa.int64())
    found: NDArray[np.int64] = values.fill_null(NULL_NUMBER).to_numpy(zero_copy_only=False)
    return found


# Any: columns have values of many types.
def is_one_of(rows: pa.Table, column: str, values: Iterable[str | None]) -> NDArray[np.bool_]:
    """Return which rows have one of these texts in a column; None stands for null."""
    import pyarrow.compute as pc  # imported only when needed, since the import takes 0.05 s

    texts = rows.column(column).cast(pa.string())
    found = pc.is_in(texts, value_set=pa.array([*values], pa.string()))
    mask: NDArray[np.bool_] = found.to_numpy(zero_copy_only=False)
    return mask


def whole_column(column: Any) -> Any:
    """Return a column as one array; nothing is copied if it has one chunk."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


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
    """Return rows with decoded dictionaries, since Arrow cannot group by different dictionaries."""
    fields = [
        field.with_type(pa.string()) if pa.types.is_dictionary(field.type) else field
        for field in rows.schema
    ]
    return rows.cast(pa.schema(fields))
