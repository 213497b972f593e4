"""Tables that take no part in the topics' commits: appended to, and read the newest rows first.

Effect, on the driver only. Nobody waits for what stands in such a table, so there is no generation
to be won and nothing to be redone: two drivers may append at once, and one that dies before it has
lost its rows and nothing else.
"""

import time
from collections.abc import Iterator, Sequence

import pyarrow as pa

from seglake.lake.delta_tables import LakeTables
from seglake.lake.errors import CommitUnknownError
from seglake.lake.parquet_files import DataFile
from seglake.lake.parquet_rows import read_rows
from seglake.lake.snapshots import by_time, stored_files
from seglake.lake.table_commit import Addition, add_files
from seglake.lake.tables import Table


def append_file(
    tables: LakeTables, table: Table, file: DataFile, *, run_id: str, now_ms: int
) -> None:
    """Commit one finished file. Its rows may come in twice where a commit's outcome was unknown.

    Raises:
        CommitUnknownError: a commit failed and may yet have happened.
    """
    tables.storage.sync([tables.storage.join(tables.path(table), file.path)])
    failure = ""
    pauses_s = tables.storage.pauses_s(tables.lake_path)
    for pause_s in pauses_s:
        time.sleep(pause_s)
        handle = tables.open(table)
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


def newest_rows(tables: LakeTables, table: Table, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield the rows of each file, the file that was appended last first.

    Files that were merged were next to each other in this order, and keep their place.
    """
    files = stored_files(tables, table, tables.newest(table))
    for file in sorted(files, key=by_time, reverse=True):
        yield pa.concat_tables(read_rows(tables.storage, file.path, columns))
