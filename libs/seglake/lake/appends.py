"""Appends to tables outside the topics' commits, and reads the newest rows first. Effect.

On the driver only. No commit waits for the rows of such a table, so there is no redo file: a driver
that dies before its commit loses only its own rows. A commit that failed may have happened all the
same: then its id is in the table's history. If a table must not get a row twice, the commit also
moves the generation of an app, so it fails if another driver appended since; then the driver reads
the missing rows again.
"""

import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import pyarrow as pa

from seglake.lake.commit_protocol import no_hook
from seglake.lake.delta_tables import Handle, LakeTables
from seglake.lake.errors import CommitUnknownError
from seglake.lake.log_durability import sync_log
from seglake.lake.parquet_files import DataFile
from seglake.lake.parquet_rows import read_rows
from seglake.lake.snapshots import by_time, stored_files
from seglake.lake.table_commit import Addition, add_files, commit_ids
from seglake.lake.tables import Table


def append_file(
    tables: LakeTables, table: Table, file: DataFile, *, run_id: str, now_ms: int
) -> None:
    """Commit one finished file, whatever other drivers have appended.

    Args:
        tables: the lake.
        table: the table to append to.
        file: the finished data file.
        run_id: id of the run, for the commit's info.
        now_ms: time of the commit, in ms since 1970.

    Raises:
        CommitUnknownError: a commit failed and may yet have happened.
    """
    append_lacking(tables, table, lambda handle: [file], run_id=run_id, now_ms=now_ms)


def append_lacking(
    tables: LakeTables,
    table: Table,
    lacking: Callable[[Handle], Sequence[DataFile]],
    *,
    app: str | None = None,
    run_id: str,
    now_ms: int,
    after: Callable[[str], None] = no_hook,
) -> None:
    """Commit the files that the table's newest version lacks, in one commit, if there are any.

    Args:
        tables: the lake.
        table: the table to append to.
        lacking: writes and returns the files that the newest version lacks, given its handle.
            Called again after a failed commit, unless the commit happened all the same.
        app: application id whose generation the commit moves, so that of two drivers one wins;
            None if both may append.
        run_id: id of the run, for the commit's info.
        now_ms: time of the commit, in ms since 1970.
        after: called with "files" before a commit, and with the table's name after it.

    Raises:
        CommitUnknownError: a commit failed and may yet have happened.
    """
    failure, commit_id = "", uuid.uuid4().hex
    tried_from: int | None = None  # the version that the first commit was made on
    pauses_s = tables.storage.pauses_s(tables.lake_path)
    for pause_s in pauses_s:
        time.sleep(pause_s)
        handle = tables.open(table)
        if commit_id in _ids_since(tables, table, handle, tried_from):
            sync_log(tables, table, handle.version())
            break
        files = lacking(handle)
        if not files:
            sync_log(tables, table, handle.version())
            return
        _sync_files(tables, table, files)
        after("files")
        tried_from = handle.version() if tried_from is None else tried_from
        info = {"commit_id": commit_id, "run_id": run_id}
        failure = _commit(tables, table, handle, files, app, now_ms, info)
        if not failure:
            break
    else:
        raise CommitUnknownError(table=table.name, attempt_count=len(pauses_s), reason=failure)
    after(table.name)


def _commit(
    tables: LakeTables,
    table: Table,
    handle: Handle,
    files: Iterable[DataFile],
    app: str | None,
    now_ms: int,
    info: Mapping[str, str],
) -> str:
    """Commit files, and move the generation of the app, if any; return the failure, or ""."""
    moved = {} if app is None else {app: tables.generation(table, handle, app) + 1}
    return add_files(
        tables,
        table,
        handle,
        [Addition(file, now_ms) for file in files],
        now_ms=now_ms,
        commit_info=info,
        generations=moved,
    )


def newest_rows(tables: LakeTables, table: Table, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield the rows of each file, the last appended file first.

    Merged files were neighbours in this order, and keep their place.

    Args:
        tables: the lake.
        table: a table outside the topics' commits.
        columns: columns to read.
    """
    files = stored_files(tables, table, tables.newest(table))
    for file in sorted(files, key=by_time, reverse=True):
        yield pa.concat_tables(read_rows(tables.storage, file.path, columns))


def _ids_since(
    tables: LakeTables, table: Table, handle: Handle, version: int | None
) -> Collection[str | None]:
    """Return the ids of the commits after a version; none if the version is None."""
    count = 0 if version is None else handle.version() - version
    return commit_ids(tables, table, handle, count) if count > 0 else ()


def _sync_files(tables: LakeTables, table: Table, files: Iterable[DataFile]) -> None:
    """Sync files of a table to the disk."""
    place = tables.path(table)
    tables.storage.sync(sorted(tables.storage.join(place, file.path) for file in files))
