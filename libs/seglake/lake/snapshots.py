"""The data files of a version of a table, with what its log tells of each.

Runs on the driver. Memory grows with the number of files.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa

from seglake.lake.delta_tables import Handle, LakeTables
from seglake.lake.parquet_files import RemovedFile
from seglake.lake.parquet_rows import Within
from seglake.lake.tables import Table

Bounds = Mapping[str, tuple[int, int]]


class StoredFile(NamedTuple):
    """A data file of a snapshot.

    Attributes:
        path: absolute path.
        log_path: path in the log, relative to the table's folder and URL-encoded.
        topic: topic of the file; None if the table is not partitioned.
        written_at_ms: when the file's newest rows were written, in ms since 1970.
        row_count: number of rows; None if the table's log does not have it.
        bounds: least and greatest value of integer columns with statistics.
        time_bounds_us: least and greatest value of timestamp columns with statistics, in
            microseconds since 1970.
        columns_with_nulls: columns with statistics in which some rows are null, or may be.
    """

    path: str
    log_path: str
    topic: str | None
    size_bytes: int
    written_at_ms: int
    row_count: int | None
    bounds: Bounds
    time_bounds_us: Bounds
    columns_with_nulls: frozenset[str] = frozenset()

    @property
    def removed(self) -> RemovedFile:
        """Return the file as one that a commit removes."""
        return RemovedFile(self.topic, self.log_path, self.size_bytes)

    def may_hold(self, conditions: Iterable[Within]) -> bool:
        """Return whether a row may meet all conditions; unknown bounds exclude nothing."""
        known = self.bounds
        return all(c.column not in known or c.may_hold(*known[c.column]) for c in conditions)


def by_time(file: StoredFile) -> tuple[int, str]:
    """Return a sort key for the order in which files were added to a table."""
    return file.written_at_ms, file.path


def stored_files(tables: LakeTables, table: Table, handle: Handle) -> Iterator[StoredFile]:
    """Yield the data files in a handle's version of a table."""
    actions = _with_integers(pa.table(handle.get_add_actions(flatten=True)))
    kinds = {name: table.schema.field(name).type for name in table.statistics_columns}
    times = [name for name, kind in kinds.items() if pa.types.is_timestamp(kind)]
    numbers = [name for name, kind in kinds.items() if pa.types.is_integer(kind)]
    for row in actions.to_pylist():
        yield StoredFile(
            path=tables.storage.join(tables.path(table), unquote(row["path"])),
            log_path=row["path"],
            topic=row.get("partition.topic"),
            size_bytes=row["size_bytes"],
            written_at_ms=row["modification_time"],
            row_count=row.get("num_records"),
            bounds=_bounds(row, numbers),
            time_bounds_us=_bounds(row, times),
            columns_with_nulls=frozenset(
                name for name in kinds if row.get(f"null_count.{name}") != 0
            ),
        )


# Any: columns have values of many types.
def _bounds(row: Mapping[str, Any], columns: Iterable[str]) -> Bounds:
    """Return the least and greatest value of each column that has both."""
    return {
        name: (row[f"min.{name}"], row[f"max.{name}"])
        for name in columns
        if row.get(f"min.{name}") is not None and row.get(f"max.{name}") is not None
    }


def _with_integers(actions: pa.Table) -> pa.Table:
    """Return add actions with timestamps as microseconds, since Python has no year 10000."""
    for index, field in enumerate(actions.schema):
        if pa.types.is_timestamp(field.type):
            # `view` is used because `cast` imports pyarrow.compute, which takes 0.05 s
            numbers = [chunk.view(pa.int64()) for chunk in actions.column(index).chunks]
            actions = actions.set_column(
                index, field.name, pa.chunked_array(numbers, type=pa.int64())
            )
    return actions
