"""Rewrites data files without some rows, or without the rows' bytes.

The order of rows and the columns stay the same.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.ingest_steps.run_context import RunContext
from seglake.lake.parquet_files import DataFile
from seglake.lake.parquet_rows import columns_of, read_rows
from seglake.lake.rewritten_files import OldFile, write_again
from seglake.lake.snapshots import StoredFile
from seglake.lake.tables import Table
from seglake.storage.storage import Storage

Positions = NDArray[np.int64]
"""Rising positions of rows in a data file."""


def positions_in(
    storage: Storage,
    path: str,
    columns: Sequence[str],
    mask_of: Callable[[pa.Table], NDArray[np.bool_]],
) -> Positions:
    """Return the positions of the rows of a file that a function chooses, given some columns."""
    masks = [mask_of(rows) for rows in read_rows(storage, path, columns)]
    return np.flatnonzero(np.concatenate([np.zeros(0, np.bool_), *masks]))


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteTask:
    """Data file to be rewritten.

    Attributes:
        rows: positions of the chosen rows, rising.
        keeps_rows: whether the chosen rows stay, without their bytes: the column `raw` becomes
            null, and `raw_is_complete` false.
    """

    old: OldFile
    rows: Positions
    keeps_rows: bool


def rewritten(
    context: RunContext,
    table: Table,
    found: Iterable[tuple[StoredFile, Positions]],
    *,
    keeps_rows: bool = False,
) -> list[DataFile | None]:
    """Rewrite files of a table, and return the new files; None for a file without rows.

    Args:
        context: the run.
        table: the table.
        found: the files, with the positions of the chosen rows in each.
        keeps_rows: whether the chosen rows stay, without their bytes.
    """
    level = context.settings.write.compression_level
    tasks = [
        RewriteTask(
            old=OldFile.of(context.tables, table, file, level), rows=rows, keeps_rows=keeps_rows
        )
        for file, rows in found
    ]
    return context.reporter.run_tasks(
        context.engine,
        rewrite,
        tasks,
        sizes=[task.old.file.size_bytes for task in tasks],
        text=f"rewriting {table.name}",
    )


def rewrite(task: RewriteTask) -> DataFile | None:
    """Write the file again, and return the new one; None if it would have no rows.

    Raises:
        RowCountError: the file has another number of rows than Delta's log says.
        StorageError: the file cannot be read.
        OutputError: the new file cannot be written.
    """
    schema = columns_of(task.old.storage, task.old.file.path)
    lost = 0 if task.keeps_rows else len(task.rows)
    return write_again(task.old, schema, _changed(task, schema), lost=lost)


def _changed(task: RewriteTask, schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield the rows of the new file, one row group at a time."""
    first = 0
    for rows in read_rows(task.old.storage, task.old.file.path, schema.names):
        start, stop = np.searchsorted(task.rows, (first, first + rows.num_rows))
        is_chosen = np.zeros(rows.num_rows, np.bool_)
        is_chosen[task.rows[start:stop] - first] = True
        first += rows.num_rows
        plain = rows.cast(schema)
        if not is_chosen.any():
            yield plain
        elif task.keeps_rows:
            yield _without_bytes(plain, is_chosen)
        elif not is_chosen.all():
            yield plain.filter(pa.array(~is_chosen))


def _without_bytes(rows: pa.Table, is_chosen: NDArray[np.bool_]) -> pa.Table:
    """Return the rows, without the bytes of the chosen ones."""
    import pyarrow.compute as pc

    chosen = pa.array(is_chosen)
    for name, value in (("raw", None), ("raw_is_complete", False)):
        place = rows.schema.get_field_index(name)
        field = rows.schema.field(place)
        # Any: pyarrow's stubs do not know the type.
        given: Any = pa.scalar(value, field.type)
        rows = rows.set_column(place, field, pc.if_else(chosen, given, rows.column(name)))
    return rows
