"""Appends to tables outside of topics' commits, and reads their newest rows.

Runs on the driver only. No other table depends on these rows, so there is no redo file: a driver
that dies before its commit loses only its own rows. A commit that reports a failure may still have
happened; if so, its id is in the table's history. If a table must not get a row twice, the commit
also advances the generation of an application id. Then the commit fails if another driver has
appended meanwhile, and this driver checks again which rows are missing.
"""

import uuid
from collections.abc import Callable, Collection, Iterator, Sequence

import pyarrow as pa

from seglake.lake.commit_protocol import no_hook
from seglake.lake.commit_tries import CommitTries
from seglake.lake.delta_tables import Handle, LakeTables
from seglake.lake.parquet_files import DataFile
from seglake.lake.parquet_rows import read_rows
from seglake.lake.snapshots import by_time, stored_files
from seglake.lake.table_commit import Addition, add_files, commit_ids, sync_files
from seglake.lake.table_view import TableView
from seglake.lake.tables import Table


def append_file(
    tables: LakeTables, table: Table, file: DataFile, *, run_id: str, now_ms: int
) -> None:
    """Commit one finished file, even if other drivers have appended meanwhile.

    Args:
        tables: the lake.
        table: the table to append to.
        file: the finished data file.
        run_id: id of the run, for the commit's info.
        now_ms: time of the commit, in ms since 1970.

    Raises:
        CommitUnknownError: a commit failed, but may have happened.
    """
    append_lacking(tables, table, lambda handle: [file], run_id=run_id, now_ms=now_ms)


def append_lacking(
    tables: LakeTables,
    table: Table,
    lacking: Callable[[Handle], Sequence[DataFile]],
    *,
    app: str | None = None,
    run_id: str,
    now_ms: int | None = None,
    after: Callable[[str], None] = no_hook,
) -> None:
    """Write the rows that the table's newest version lacks, and commit their files together.

    Args:
        tables: the lake.
        table: the table to append to.
        lacking: receives a handle at the newest version; writes and returns the files with the rows
            that this version lacks. It is called again if a commit has failed and did not happen.
        app: application id that the commit advances, so that one of two drivers fails, or None.
        run_id: id of the run, for the commit's info.
        now_ms: time of the commit, in ms since 1970; None for now.
        after: called with "files" before a commit, and with the table's name after it.

    Raises:
        CommitUnknownError: a commit failed, but may have happened.
    """
    info = {"commit_id": uuid.uuid4().hex, "run_id": run_id}
    tried_from: int | None = None  # version before the first attempt to commit
    tries = CommitTries(tables, lambda: table)
    for view in tries:
        if info["commit_id"] in _ids_since(view, tried_from):
            view.make_durable()
            break
        files = [Addition(file) for file in lacking(view.handle)]
        if not files:
            view.make_durable()
            return
        sync_files(tables, table, (each.file.path for each in files))
        after("files")
        tried_from = view.version if tried_from is None else tried_from
        moved = view.advanced(app) if app else {}
        tries.failure = add_files(view, files, commit_info=info, generations=moved, now_ms=now_ms)
    after(table.name)


def newest_rows(tables: LakeTables, table: Table, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield the rows of each file, the newest file first.

    Compaction keeps this order, since it merges only neighbouring files.

    Args:
        tables: the lake.
        table: a table that takes no part in topics' commits.
        columns: columns to read.
    """
    files = stored_files(tables, table, tables.newest(table))
    for file in sorted(files, key=by_time, reverse=True):
        yield pa.concat_tables(read_rows(tables.storage, file.path, columns))


def _ids_since(view: TableView, version: int | None) -> Collection[str | None]:
    """Return the ids of the commits after a version; empty if the version is None."""
    count = 0 if version is None else view.version - version
    return commit_ids(view, count) if count > 0 else ()
