"""Which small data files of a table become larger ones, and the commit that swaps them. Effect.

A compaction changes no row. Delta accepts two that replace the same file, and its rows are there
twice then: so each commit moves the table's own generation, by compare-and-set on the version that
the files were taken from, as a commit of topics does. One that fails has left files that no table
names, which a vacuum deletes.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from seglake.lake.delta_commit import add_files
from seglake.lake.delta_tables import LakeTables
from seglake.lake.parquet_files import DataFile
from seglake.lake.snapshots import StoredFile, stored_files
from seglake.lake.tables import Table

if TYPE_CHECKING:
    from seglake.lake.delta_tables import DeltaTable

APP = "seglake/maintain"
_MOST_FILES = 500  # in one new file: each is open while it is written


class Merge(NamedTuple):
    """Files of one table, and topic, that become one."""

    topic: str | None
    files: tuple[StoredFile, ...]

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)

    @property
    def row_count(self) -> int:
        return sum(file.row_count or 0 for file in self.files)


class TableView(NamedTuple):
    """A version of a table, and the handle that commits to it."""

    table: Table
    handle: "DeltaTable"
    files: tuple[StoredFile, ...]


def view_of(tables: LakeTables, table: Table) -> TableView:
    """The newest version of a table."""
    handle = tables.open(table)
    return TableView(table, handle, tuple(stored_files(tables, table, handle)))


def merges_of(files: Iterable[StoredFile], target_bytes: int) -> list[Merge]:
    """What to put together: files below half of the target, up to the target, of one topic each.

    A file whose rows the log does not count is left alone: nothing could tell that none was lost.
    """
    by_topic: dict[str | None, list[StoredFile]] = {}
    for file in files:
        if file.size_bytes < target_bytes // 2 and file.row_count is not None:
            by_topic.setdefault(file.topic, []).append(file)
    found = []
    for topic, small in sorted(by_topic.items(), key=lambda item: item[0] or ""):
        groups = _groups(sorted(small, key=_place), target_bytes)
        found += [Merge(topic, tuple(group)) for group in groups if len(group) > 1]
    return found


def replace_files(
    tables: LakeTables,
    view: TableView,
    merges: Sequence[Merge],
    merged: Sequence[DataFile],
    *,
    run_id: str,
    now_ms: int,
) -> str:
    """Swap files for those that hold the same rows, in one commit.

    Args:
        view: that the merges were taken from.
        merged: one for each merge.

    Returns:
        The failure in words, empty when there is none; it may yet have happened.
    """
    paths = [tables.storage.join(tables.path(view.table), file.path) for file in merged]
    tables.storage.sync(sorted(paths))
    return add_files(
        tables,
        view.table,
        view.handle,
        merged,
        created_at_ms=now_ms,
        said={"run_id": run_id, "maintains": "compaction"},
        generations={APP: tables.generation(view.table, view.handle, APP) + 1},
        replaced=[file for merge in merges for file in merge.files],
    )


def _place(file: StoredFile) -> tuple[tuple[tuple[str, tuple[int, int]], ...], str]:
    return tuple(sorted(file.bounds.items())), file.path


def _groups(files: Iterable[StoredFile], target_bytes: int) -> Iterable[list[StoredFile]]:
    group: list[StoredFile] = []
    size_bytes = 0
    for file in files:
        if group and (size_bytes + file.size_bytes > target_bytes or len(group) == _MOST_FILES):
            yield group
            group, size_bytes = [], 0
        group.append(file)
        size_bytes += file.size_bytes
    if group:
        yield group
