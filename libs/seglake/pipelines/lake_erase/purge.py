"""Deletes the files of earlier versions at once, and files of dead runs with erased records.

A file that no version names may still belong to an active run. It does not if it is older than the
erasure's commit to `records`: a run that wrote it cannot commit any more. A compaction that runs
meanwhile is stopped by a commit to its table, which advances the table's generation of
replacements.
"""

import time
import uuid
from collections.abc import Collection, Iterable
from typing import NamedTuple

from seglake.ingest_steps.run_context import RunContext
from seglake.lake.app_versions import MAINTAIN_APP
from seglake.lake.compaction import view_of
from seglake.lake.foreign_changes import MAINTAINS
from seglake.lake.lake_folder import entries_of
from seglake.lake.latest_tables import latest_tables
from seglake.lake.parquet_files import folder_value
from seglake.lake.parquet_rows import columns_of, distinct_rows, read_rows
from seglake.lake.table_commit import add_files
from seglake.lake.tables import LOG_TABLES, QUARANTINE, RECORDS, SALVAGED_RECORDS, Table
from seglake.lake.typed_tables import typed_tables
from seglake.lake.vacuum import purged, scratch_deleted, vacuumed
from seglake.lake.value_tables import VALUE_REJECTS
from seglake.storage.errors import StorageError
from seglake.storage.storage import FileInfo, Storage

_PAUSES_S = (0.0, *(0.05,) * 20)
_SUFFIX = ".parquet"


class PurgedFiles(NamedTuple):
    """Number and size of deleted files, and of unreferenced files that were left."""

    files: int = 0
    size_bytes: int = 0
    left_files: int = 0

    def plus(self, other: "PurgedFiles") -> "PurgedFiles":
        """Return the sums of these and other files."""
        return PurgedFiles(*map(sum, zip(self, other, strict=True)))


def storage_time_ms(storage: Storage, folder: str) -> int:
    """Return the time of a storage's clock, in ms since 1970: of a file that is written there."""
    path = storage.join(folder, f"time-{uuid.uuid4().hex}")
    storage.write_bytes(path, b"")
    info = storage.info(path)
    storage.delete(path)
    return time.time_ns() // 1_000_000 if info is None else info.modified_at_ms


def purge(context: RunContext, topics: Collection[str], erased_at_ms: int) -> PurgedFiles:
    """Delete the files of earlier versions, and those of dead runs, in all tables with payloads."""
    done = PurgedFiles()
    for table in _with_payload(context):
        context.reporter.step(f"deleting old files of {table.name}")
        done = done.plus(_purge(context, table, topics, erased_at_ms))
    scratch = scratch_deleted(context.tables, erased_at_ms - 1, least_hours=0, dry_run=False)
    return done.plus(PurgedFiles(*scratch))


def _with_payload(context: RunContext) -> Iterable[Table]:
    """Yield the tables of the lake that hold payloads of records."""
    fixed = (RECORDS, QUARANTINE, SALVAGED_RECORDS, VALUE_REJECTS)
    internal = (table for table in LOG_TABLES.tables if table.topics is not None)
    yield from (table for table in (*fixed, *internal) if context.tables.has(table))
    yield from (each.table for each in typed_tables(context.tables))
    yield from (each.table for each in latest_tables(context.tables))


def _purge(
    context: RunContext, table: Table, topics: Collection[str], erased_at_ms: int
) -> PurgedFiles:
    tables, run_id = context.tables, context.run_id
    _stop_compactions(context, table)
    found = vacuumed(tables, table, tables.open(table), run_id=run_id, dry_run=False)
    removed = purged(tables, table, tables.open(table), run_id=run_id)
    files = found.file_count + removed.file_count
    done = PurgedFiles(files, found.size_bytes + removed.size_bytes)
    known = {file.path for file in view_of(tables, table).files}
    for file in _unreferenced(context, table, topics, known):
        if file.modified_at_ms < erased_at_ms and _is_of(context, table, file.path, topics):
            tables.storage.delete(file.path)
            done = done.plus(PurgedFiles(1, file.size_bytes))
        else:
            done = done.plus(PurgedFiles(left_files=1))
    return done


def _stop_compactions(context: RunContext, table: Table) -> None:
    """Advance the generation of replacements, so that a compaction that runs now cannot commit.

    If all tries fail, other commits stopped it as well.
    """
    tables = context.tables
    for pause_s in _PAUSES_S:
        time.sleep(pause_s)
        handle = tables.open(table)
        failure = add_files(
            tables,
            table,
            handle,
            [],
            now_ms=time.time_ns() // 1_000_000,
            commit_info={"run_id": context.run_id, MAINTAINS: "purge"},
            generations={MAINTAIN_APP: tables.generation(table, handle, MAINTAIN_APP) + 1},
        )
        if not failure:
            return
        tables.forget_handles()


def _unreferenced(
    context: RunContext, table: Table, topics: Collection[str], known: Collection[str]
) -> list[FileInfo]:
    """Return data files of the topics, or of a whole table, that its newest version lacks."""
    tables = context.tables
    folder = tables.path(table)
    folders = [folder]
    if table.partition_by:
        [column] = table.partition_by
        folders = [
            tables.storage.join(folder, f"{column}={folder_value(topic)}") for topic in topics
        ]
    found = [entry for each in folders for entry in entries_of(tables.storage, each)]
    return [
        entry
        for entry in found
        if not entry.is_folder and entry.name.endswith(_SUFFIX) and entry.path not in known
    ]


def _is_of(context: RunContext, table: Table, path: str, topics: Collection[str]) -> bool:
    """Return whether all rows of an unreferenced file are of the topics.

    A run that died while it wrote the file may have left it without its end, which cannot be read.
    Files of typed tables and of latest state are never deleted here: the erasure does not stop the
    runs that write them.
    """
    if table == RECORDS:
        return True
    if table.topics:
        return table in LOG_TABLES.tables and any(map(table.serves, topics))
    if table not in (QUARANTINE, SALVAGED_RECORDS):
        return False
    try:
        if "topic" not in columns_of(context.storage, path).names:
            return False
        named = [
            row["topic"]
            for rows in read_rows(context.storage, path, ["topic"])
            for row in distinct_rows(rows, ["topic"])
        ]
    except StorageError:
        return False
    return all(topic in topics for topic in named)
