"""Deletes the files of earlier versions at once, and files of dead runs with erased records.

A file that no version names may still belong to an active run. It does not if it is older than the
erasure's commits and of a source and topic that these have fenced: the run that wrote it loses. The
first run of a new cluster or topic is not fenced. A compaction that runs
meanwhile is stopped by a commit to its table, which advances the table's generation of
replacements.
"""

import time
import uuid
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from seglake.ingest_steps.run_context import RunContext
from seglake.lake.compaction import commit_replacements
from seglake.lake.foreign_changes import MAINTAINS
from seglake.lake.lake_folder import entries_of
from seglake.lake.latest_tables import latest_tables
from seglake.lake.parquet_files import folder_value
from seglake.lake.parquet_rows import columns_of, distinct_rows, read_rows
from seglake.lake.snapshots import StoredFile
from seglake.lake.table_view import view_of
from seglake.lake.tables import LOG_TABLES, QUARANTINE, RECORDS, SALVAGED_RECORDS, Table
from seglake.lake.typed_tables import typed_tables
from seglake.lake.vacuum import purge_removed, removed_files, scratch_deleted
from seglake.lake.value_tables import VALUE_REJECTS
from seglake.storage.errors import PlaceError, StorageError
from seglake.storage.storage import FileInfo, Storage

_PAUSES_S = (0.0, *(0.05,) * 20)
_SUFFIX = ".parquet"
_TOPIC = "topic"
_OWNERS = (_TOPIC, "source_id", "_source_id")


class Owner(NamedTuple):
    """Source and topic of rows; the source is None if it is unknown."""

    source_id: str | None
    topic: str


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
    """Return the time of a storage's clock, in ms since 1970, from a file written to it."""
    path = storage.join(folder, f"time-{uuid.uuid4().hex}")
    storage.write_bytes(path, b"")
    info = storage.info(path)
    storage.delete(path)
    return time.time_ns() // 1_000_000 if info is None else info.modified_at_ms


def purge(
    context: RunContext, topics: Collection[str], fenced: Collection[Owner], fenced_at_ms: int
) -> PurgedFiles:
    """Delete the files of earlier versions, and those of dead runs, in all tables with payloads.

    A dry run only finds them. A table whose files cannot be deleted does not keep the others from
    being purged.

    Args:
        context: the run.
        topics: the topics of the erasure.
        fenced: the sources and topics whose active runs the erasure has made lose.
        fenced_at_ms: time of the storage's clock. If an unreferenced file of these is older, no run
            can commit it any more.
    """
    done = PurgedFiles()
    for table in tables_with_payload(context):
        context.reporter.step(f"deleting old files of {table.name}")
        try:
            _purge_removed(context, table, done)
            _purge_unreferenced(context, table, topics, fenced, fenced_at_ms, done)
        except PlaceError as error:
            done.not_deleted[table.name] = str(error)
    if not context.is_dry_run:
        scratch_deleted(context.tables, fenced_at_ms - 1, least_hours=0, dry_run=False)
    return done


def tables_with_payload(context: RunContext) -> Iterable[Table]:
    """Yield the tables of the lake that have payloads of records."""
    fixed = (RECORDS, QUARANTINE, SALVAGED_RECORDS, VALUE_REJECTS)
    internal = (table for table in LOG_TABLES.tables if table.topics is not None)
    yield from (table for table in (*fixed, *internal) if context.tables.has(table))
    yield from (each.table for each in typed_tables(context.tables))
    yield from (each.table for each in latest_tables(context.tables))


def _purge_removed(context: RunContext, table: Table, done: PurgedFiles) -> None:
    """Delete the files that commits of a table have removed, and add them to `done`.

    Raises:
        PlaceError: a file cannot be deleted, or the storage fails.
    """
    tables = context.tables
    removed = removed_files(tables, table, tables.open(table))
    if context.is_dry_run:
        done.add(removed)
        return
    _stop_compactions(context, table)
    try:
        purge_removed(tables, table, tables.open(table), run_id=context.run_id)
    finally:
        left = _paths(removed_files(tables, table, tables.open(table)))
        done.add(file for file in removed if file.path not in left)


def _purge_unreferenced(
    context: RunContext,
    table: Table,
    topics: Collection[str],
    fenced: Collection[Owner],
    fenced_at_ms: int,
    done: PurgedFiles,
) -> None:
    """Delete files of a table that no version names and no run can commit; add them to `done`."""
    tables = context.tables
    known = _paths(view_of(tables, table).files) | _paths(
        removed_files(tables, table, tables.open(table))
    )
    for file, topic in _unreferenced(context, table, topics, known):
        owners = _owners(context, table, file.path, {topic} if topic else topics)
        if not any(owner.topic in topics for owner in owners):
            continue
        if file.modified_at_ms < fenced_at_ms and owners <= {*fenced}:
            if not context.is_dry_run:
                tables.storage.delete(file.path)
            done.add([file])
        else:
            done.left_files += 1


def _paths(files: Iterable[FileInfo | StoredFile]) -> set[str]:
    return {file.path for file in files}


def _stop_compactions(context: RunContext, table: Table) -> None:
    """Advance the generation of replacements, so that no active compaction can commit.

    If all attempts fail, other commits have stopped it.
    """
    tables, info = context.tables, {"run_id": context.run_id, MAINTAINS: "purge"}
    for pause_s in _PAUSES_S:
        time.sleep(pause_s)
        view = view_of(tables, table)
        if not commit_replacements(view, [], loses_rows=False, commit_info=info):
            return
        tables.forget_handles()


def _unreferenced(
    context: RunContext, table: Table, topics: Collection[str], known: Collection[str]
) -> Iterator[tuple[FileInfo, str]]:
    """Yield data files that a table lacks, each with the topic of its folder, or ""."""
    tables = context.tables
    folders = {tables.path(table): ""}
    if table.partition_by:
        [column] = table.partition_by
        names = {topic: f"{column}={folder_value(topic)}" for topic in topics}
        folders = {tables.storage.join(tables.path(table), names[topic]): topic for topic in topics}
    for folder, topic in folders.items():
        for entry in entries_of(tables.storage, folder):
            if not entry.is_folder and entry.name.endswith(_SUFFIX) and entry.path not in known:
                yield entry, topic


def _owners(context: RunContext, table: Table, path: str, topics: Collection[str]) -> set[Owner]:
    """Return the sources and topics of the rows in an unreferenced file of a table.

    A run that died while it wrote the file may have left it without its end. Such a file cannot be
    read, and may have rows of any source, for which None stands.

    Args:
        context: the run.
        table: the table.
        path: path of the file.
        topics: topics that it may have, if neither its columns nor the table name them.
    """
    topics = table.topics or topics
    try:
        columns = [name for name in columns_of(context.storage, path).names if name in _OWNERS]
        source = next(name for name in columns if name != _TOPIC)
        return {
            Owner(row[source], topic)
            for rows in read_rows(context.storage, path, columns)
            for row in distinct_rows(rows, columns)
            for topic in ([row[_TOPIC]] if _TOPIC in columns else topics)
        }
    except (StorageError, StopIteration):
        return {Owner(None, topic) for topic in topics}
