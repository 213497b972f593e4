"""Commits a swap of data files for one that has the same rows. Effect.

A compaction changes no row. Delta accepts two compactions that replace the same file, which would
duplicate its rows. So each commit moves the table's own generation, by compare-and-set on the
version from which the files were read, like a commit of topics. A failed commit leaves files that
no table names, which a vacuum deletes.
"""

from collections.abc import Sequence
from typing import NamedTuple

from seglake.lake.delta_tables import Handle, LakeTables
from seglake.lake.foreign_changes import MAINTAINS
from seglake.lake.merged_files import MergeTask
from seglake.lake.parquet_files import DataFile
from seglake.lake.snapshots import StoredFile, stored_files
from seglake.lake.table_commit import Addition, add_files
from seglake.lake.tables import Table

APP = "seglake/maintain"


class Merge(NamedTuple):
    """Files of one table, and of one topic, to be replaced by one file."""

    topic: str  # empty for a table without partitions
    files: tuple[StoredFile, ...]

    @property
    def size_bytes(self) -> int:
        """Return the bytes of all files."""
        return sum(file.size_bytes for file in self.files)

    @property
    def row_count(self) -> int:
        """Return the rows of all files, as far as the log knows them."""
        return sum(file.row_count or 0 for file in self.files)


class TableView(NamedTuple):
    """A version of a table, and the handle that commits to it."""

    table: Table
    handle: Handle
    files: tuple[StoredFile, ...]


def view_of(tables: LakeTables, table: Table) -> TableView:
    """Return the newest version of a table with its files."""
    handle = tables.open(table)
    return TableView(table, handle, tuple(stored_files(tables, table, handle)))


def merge_task(tables: LakeTables, table: Table, merge: Merge, compression_level: int) -> MergeTask:
    """Return the task that writes the merged file."""
    return MergeTask(
        storage=tables.storage,
        lake_path=tables.lake_path,
        table=table,
        topic=merge.topic,
        paths=tuple(file.path for file in merge.files),
        row_count=merge.row_count,
        compression_level=compression_level,
    )


def replace_files(
    tables: LakeTables,
    view: TableView,
    merges: Sequence[Merge],
    merged: Sequence[DataFile],
    *,
    run_id: str,
    now_ms: int,
) -> str:
    """Replace files by merged ones with the same rows, in one commit.

    Args:
        tables: the lake.
        view: the version from which the merges were chosen.
        merges: files to replace.
        merged: the new file of each merge, in the same order.
        run_id: id of the run, for the commit's info.
        now_ms: time of the commit, in ms since 1970.

    Returns:
        The failure in words, empty if there is none; the commit may yet have happened.
    """
    paths = [tables.storage.join(tables.path(view.table), file.path) for file in merged]
    tables.storage.sync(sorted(paths))
    ages = [max(file.written_at_ms for file in merge.files) for merge in merges]
    return add_files(
        tables,
        view.table,
        view.handle,
        map(Addition, merged, ages),
        now_ms=now_ms,
        commit_info={"run_id": run_id, MAINTAINS: "compaction"},
        generations={APP: tables.generation(view.table, view.handle, APP) + 1},
        replaced=[file for merge in merges for file in merge.files],
    )
