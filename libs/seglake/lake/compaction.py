"""Commits the replacement of data files by files with the same rows, or with fewer rows.

A compaction changes no row. But Delta would accept two compactions of the same file, and the file's
rows would be in the table twice. So each replacement also advances the generation of the
application id `MAINTAIN_APP` in the table, by compare-and-set on the version from which the files
were read. A failed commit leaves unreferenced files, which a vacuum deletes.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from seglake.lake.app_versions import MAINTAIN_APP
from seglake.lake.delta_tables import LakeTables
from seglake.lake.foreign_changes import MAINTAINS
from seglake.lake.merged_files import MergeTask
from seglake.lake.parquet_files import DataFile
from seglake.lake.snapshots import StoredFile
from seglake.lake.table_commit import Addition, Removal, add_files, sync_files
from seglake.lake.table_view import TableView
from seglake.lake.tables import Table


class Merge(NamedTuple):
    """Files of one table and topic, to be replaced by one file."""

    topic: str  # empty for a table without partitions
    files: tuple[StoredFile, ...]

    @property
    def size_bytes(self) -> int:
        """Return the total size in bytes of the files to merge."""
        return sum(file.size_bytes for file in self.files)

    @property
    def row_count(self) -> int:
        """Return the total number of rows, without files whose number is not in the log."""
        return sum(file.row_count or 0 for file in self.files)


class Replacement(NamedTuple):
    """Data files to remove, and the file with their rows; None if no row remains."""

    old: tuple[StoredFile, ...]
    new: DataFile | None


def merge_task(tables: LakeTables, table: Table, merge: Merge, compression_level: int) -> MergeTask:
    """Return the task that writes a merge's file."""
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
    view: TableView,
    merges: Sequence[Merge],
    merged: Sequence[DataFile],
    *,
    run_id: str,
    now_ms: int | None = None,
) -> str:
    """Replace files by merged files with the same rows, in one commit.

    Args:
        view: the version in which the files to merge were found.
        merges: files to replace.
        merged: the new file of each merge, in the same order.
        run_id: id of the run, for the commit's info.
        now_ms: time of the commit, in ms since 1970; None for now.

    Returns:
        The failure as text, which is empty if there is none. A commit that failed may have
        happened.
    """
    replacements = [
        Replacement(merge.files, file) for merge, file in zip(merges, merged, strict=True)
    ]
    return commit_replacements(
        view,
        replacements,
        loses_rows=False,
        commit_info={"run_id": run_id, MAINTAINS: "compaction"},
        now_ms=now_ms,
    )


def commit_replacements(
    view: TableView,
    replacements: Sequence[Replacement],
    *,
    loses_rows: bool,
    commit_info: Mapping[str, str],
    now_ms: int | None = None,
    apps: Iterable[str] = (),
) -> str:
    """Sync new files and replace the old ones in one commit; return the failure, see `add_files`.

    Args:
        view: the version on which the commit is based.
        replacements: the old and the new files.
        loses_rows: whether the new files lack rows of the old ones, see `Removal`.
        commit_info: keys and values for the commit's info.
        now_ms: time of the commit, in ms since 1970; None for now.
        apps: application ids whose generations the commit advances besides `MAINTAIN_APP`.
    """
    additions = [
        Addition(each.new, max(file.written_at_ms for file in each.old))
        for each in replacements
        if each.new is not None
    ]
    sync_files(view.tables, view.table, (each.file.path for each in additions))
    return add_files(
        view,
        additions,
        now_ms=now_ms,
        commit_info=commit_info,
        generations=view.advanced(MAINTAIN_APP, *apps),
        removals=[
            Removal(file.removed, loses_rows=loses_rows)
            for each in replacements
            for file in each.old
        ],
    )
