"""Appends rows once: if two drivers add the same rows, one wins. Effect.

For tables outside the topics' commits that must not get a row twice. A driver reads a version,
finds the rows it lacks, and commits on top of it. The commit moves the generation of `app`, so it
fails if another driver appended since; then the driver reads again. A commit that failed may have
happened all the same: then its id is in the table's history.
"""

import time
import uuid
from collections.abc import Callable, Collection, Iterable, Sequence

from seglake.lake.delta_tables import Handle, LakeTables
from seglake.lake.errors import CommitUnknownError
from seglake.lake.log_durability import sync_log
from seglake.lake.parquet_files import DataFile
from seglake.lake.table_commit import Addition, add_files, commit_ids
from seglake.lake.tables import Table


def append_lacking(
    tables: LakeTables,
    table: Table,
    lacking: Callable[[Handle], Sequence[DataFile]],
    *,
    app: str,
    run_id: str,
    now_ms: int,
    after: Callable[[str], None],
) -> None:
    """Commit the files that the table's newest version lacks, in one commit, if there are any.

    Args:
        tables: the lake.
        table: the table to append to.
        lacking: writes and returns the files that the newest version lacks, given its handle.
            Called again after a failed commit, unless the commit happened all the same.
        app: application id whose generation the commit moves.
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
        failure = add_files(
            tables,
            table,
            handle,
            [Addition(file, now_ms) for file in files],
            now_ms=now_ms,
            said={"commit_id": commit_id, "run_id": run_id},
            generations={app: tables.generation(table, handle, app) + 1},
        )
        if not failure:
            break
    else:
        raise CommitUnknownError(table=table.name, attempt_count=len(pauses_s), reason=failure)
    after(table.name)


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
