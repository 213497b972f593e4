"""Replaces all rows of a small table that takes no part in topics' commits. Runs on the driver."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from seglake.lake.app_versions import MAINTAIN_APP
from seglake.lake.commit_tries import CommitTries
from seglake.lake.delta_tables import LakeTables
from seglake.lake.foreign_changes import MAINTAINS
from seglake.lake.parquet_files import ParquetFile
from seglake.lake.parquet_rows import read_files
from seglake.lake.table_commit import Addition, Removal, add_files, sync_files
from seglake.lake.table_view import TableView
from seglake.lake.tables import Table

# Any: columns have values of many types.
Row = Mapping[str, Any]


def replace_rows(
    tables: LakeTables,
    table: Table,
    change: Callable[[Sequence[Row]], Sequence[Row] | None],
    *,
    run_id: str,
) -> None:
    """Replace the rows of a table, in one commit; durable on return.

    Args:
        tables: the lake.
        table: an unpartitioned table that is not append-only, whose rows fit in memory.
        change: returns the new rows, given the rows of the newest version; None to keep them. It is
            called again if another driver was faster.
        run_id: label of the run, for the commit's info.

    Raises:
        CommitUnknownError: a commit failed, but may have happened.
    """
    tries = CommitTries(tables, lambda: table)
    for view in tries:
        paths = [file.path for file in view.files]
        there = read_files(tables.storage, table, paths, table.schema.names)
        rows = change(there.to_pylist())
        if rows is None:
            view.make_durable()
            return
        tries.failure = _replace(view, rows, run_id)


def _replace(view: TableView, rows: Sequence[Row], run_id: str) -> str:
    """Replace all files of a table by one file with the rows; return the failure, or ""."""
    tables, table = view.tables, view.table
    with ParquetFile(tables.storage, tables.lake_path, table, "") as file:
        if rows:
            file.write(pa.RecordBatch.from_pylist([dict(row) for row in rows], table.file_schema))
        written = file.close()
    files = [] if written is None else [written]
    sync_files(tables, table, (each.path for each in files))
    return add_files(
        view,
        [Addition(each) for each in files],
        commit_info={"run_id": run_id, MAINTAINS: "replacement"},
        generations=view.advanced(MAINTAIN_APP),
        removals=[Removal(each.removed, loses_rows=True) for each in view.files],
    )
