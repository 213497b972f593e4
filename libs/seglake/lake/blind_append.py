"""Appends to tables outside the topics' commits, and reads their newest rows first.

Effect, on the driver only. No commit waits for these tables, so they have no generations and need
no redo files. Two drivers may append at once; a driver that dies first loses only its own rows.
"""

import time
from collections.abc import Iterator, Sequence

import pyarrow as pa

from seglake.lake.delta_tables import Handle, LakeTables
from seglake.lake.errors import CommitUnknownError
from seglake.lake.foreign_changes import MAINTAINS
from seglake.lake.log_durability import sync_log
from seglake.lake.parquet_files import DataFile
from seglake.lake.parquet_rows import read_rows
from seglake.lake.snapshots import by_time, stored_files
from seglake.lake.table_commit import Addition, add_files
from seglake.lake.tables import Table


def append_file(
    tables: LakeTables, table: Table, file: DataFile, *, run_id: str, now_ms: int
) -> None:
    """Commit one finished file.

    Args:
        tables: the lake.
        table: the table to append to.
        file: the file, as a writer reported it.
        run_id: id of a run that appends to the table once. After a failed commit, the next try
            looks for it in the history: the file itself may have been merged with others since.
        now_ms: time of the commit, in ms since 1970.

    Raises:
        CommitUnknownError: a commit failed and may yet have happened.
    """
    tables.storage.sync([tables.storage.join(tables.path(table), file.path)])
    failure = ""
    first_version = None
    pauses_s = tables.storage.pauses_s(tables.lake_path)
    for pause_s in pauses_s:
        time.sleep(pause_s)
        handle = tables.open(table)
        if first_version is None:
            first_version = handle.version()
        elif _is_committed(tables, table, handle, run_id, since=first_version):
            sync_log(tables, table, handle.version())
            return
        failure = add_files(
            tables,
            table,
            handle,
            [Addition(file, now_ms)],
            now_ms=now_ms,
            said={"run_id": run_id},
            generations={},
        )
        if not failure:
            return
    raise CommitUnknownError(table=table.name, attempt_count=len(pauses_s), reason=failure)


def _is_committed(
    tables: LakeTables, table: Table, handle: Handle, run_id: str, *, since: int
) -> bool:
    """Return whether a run has appended after a version."""
    count = handle.version() - since
    if count == 0:
        return False
    with tables.named("read the history of", table):
        history = handle.history(count)
    return any(entry.get("run_id") == run_id and MAINTAINS not in entry for entry in history)


def newest_rows(tables: LakeTables, table: Table, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield the rows of each file, the last appended file first.

    Merged files were neighbours in this order, and keep their place.
    """
    files = stored_files(tables, table, tables.newest(table))
    for file in sorted(files, key=by_time, reverse=True):
        yield pa.concat_tables(read_rows(tables.storage, file.path, columns))
