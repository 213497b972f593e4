"""Deletes the files of earlier versions at once, and files of dead runs with erased records.

A file that no version names may still belong to an active run. It does not if it is older than the
erasure's commits: the erasure makes the run that wrote it lose. A compaction that runs
meanwhile is stopped by a commit to its table, which advances the table's generation of
replacements.
"""

import time
import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from seglake.ingest_steps.run_context import RunContext
from seglake.lake.app_versions import MAINTAIN_APP
from seglake.lake.compaction import view_of
from seglake.lake.foreign_changes import MAINTAINS
from seglake.lake.lake_folder import entries_of
from seglake.lake.latest_tables import latest_tables
from seglake.lake.parquet_files import folder_value
from seglake.lake.parquet_rows import columns_of, distinct_rows, read_rows
from seglake.lake.snapshots import StoredFile
from seglake.lake.table_commit import add_files
from seglake.lake.tables import LOG_TABLES, QUARANTINE, RECORDS, SALVAGED_RECORDS, Table
from seglake.lake.typed_tables import typed_tables
from seglake.lake.vacuum import purge_removed, removed_files, scratch_deleted
from seglake.lake.value_tables import VALUE_REJECTS
from seglake.storage.errors import PlaceError, StorageError
from seglake.storage.storage import FileInfo, Storage

_PAUSES_S = (0.0, *(0.05,) * 20)
_SUFFIX = ".parquet"


@dataclass(slots=True)
class PurgedFiles:
    """Deleted files, or, of a dry run, files that would be deleted.

    Attributes:
        sizes: size in bytes of each file, by path.
        left_files: number of unreferenced files that were left and may have such records: they may
            belong to active runs.
        not_deleted: why old files of a table could not be deleted, by table.
    """

    sizes: dict[str, int] = field(default_factory=dict)
    left_files: int = 0
    not_deleted: dict[str, str] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        """Return the size of the files."""
        return sum(self.sizes.values())

    def add(self, files: Iterable[FileInfo | StoredFile]) -> None:
        """Add files, each once."""
        self.sizes |= {file.path: file.size_bytes for file in files}

    # Any: the types that JSON can hold.
    def to_mapping(self) -> dict[str, Any]:
        """Return the files for JSON."""
        return {
            "files": len(self.sizes),
            "size_bytes": self.size_bytes,
            "left_files": self.left_files,
            "not_deleted": self.not_deleted,
            "paths": sorted(self.sizes),
        }


def storage_time_ms(storage: Storage, folder: str) -> int:
    """Return the time of a storage's clock, in ms since 1970: of a file that is written there."""
    path = storage.join(folder, f"time-{uuid.uuid4().hex}")
    storage.write_bytes(path, b"")
    info = storage.info(path)
    storage.delete(path)
    return time.time_ns() // 1_000_000 if info is None else info.modified_at_ms


def purge(context: RunContext, topics: Collection[str], erased_at_ms: int) -> PurgedFiles:
    """Delete the files of earlier versions, and those of dead runs, in all tables with payloads.

    A dry run only finds them. A table whose files cannot be deleted does not keep the others from
    being purged.

    Args:
        context: the run.
        topics: the topics of the erasure.
        erased_at_ms: time of the storage's clock before which an unreferenced file was written that
            no run can commit any more.
    """
    done = PurgedFiles()
    for table in tables_with_payload(context):
        context.reporter.step(f"deleting old files of {table.name}")
        try:
            _purge(context, table, topics, erased_at_ms, done)
        except PlaceError as error:
            done.not_deleted[table.name] = str(error)
    if not context.is_dry_run:
        scratch_deleted(context.tables, erased_at_ms - 1, least_hours=0, dry_run=False)
    return done


def tables_with_payload(context: RunContext) -> Iterable[Table]:
    """Yield the tables of the lake that hold payloads of records."""
    fixed = (RECORDS, QUARANTINE, SALVAGED_RECORDS, VALUE_REJECTS)
    internal = (table for table in LOG_TABLES.tables if table.topics is not None)
    yield from (table for table in (*fixed, *internal) if context.tables.has(table))
    yield from (each.table for each in typed_tables(context.tables))
    yield from (each.table for each in latest_tables(context.tables))


def _purge(
    context: RunContext,
    table: Table,
    topics: Collection[str],
    erased_at_ms: int,
    done: PurgedFiles,
) -> None:
    """Delete old files of one table, and add them to `done`.

    Raises:
        PlaceError: a file cannot be deleted, or the storage fails.
    """
    tables = context.tables
    if not context.is_dry_run:
        _stop_compactions(context, table)
    removed = removed_files(tables, table, tables.open(table))
    try:
        if removed and not context.is_dry_run:
            purge_removed(tables, table, tables.open(table), run_id=context.run_id)
    finally:
        left = [] if context.is_dry_run else removed_files(tables, table, tables.open(table))
        done.add(file for file in removed if file.path not in _paths(left))
    known = {file.path for file in view_of(tables, table).files} | _paths(removed)
    for file in _unreferenced(context, table, topics, known):
        named = _topics_in(context, table, file.path, topics)
        if not {*named} & {*topics}:
            continue
        if file.modified_at_ms < erased_at_ms and {*named} <= {*topics}:
            if not context.is_dry_run:
                tables.storage.delete(file.path)
            done.add([file])
        else:
            done.left_files += 1


def _paths(files: Iterable[FileInfo]) -> set[str]:
    return {file.path for file in files}


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


def _topics_in(
    context: RunContext, table: Table, path: str, topics: Collection[str]
) -> Collection[str]:
    """Return the topics whose rows an unreferenced file of a table may have.

    A run that died while it wrote the file may have left it without its end. Such a file cannot be
    read, and may have rows of any topic, also of others, for which an empty name stands.
    """
    if table.partition_by:
        return topics  # it is in the folder of one of them
    if table.topics:
        return table.topics
    try:
        if "topic" in columns_of(context.storage, path).names:
            return {
                row["topic"]
                for rows in read_rows(context.storage, path, ["topic"])
                for row in distinct_rows(rows, ["topic"])
            }
    except StorageError:
        pass
    return {*topics, ""}
