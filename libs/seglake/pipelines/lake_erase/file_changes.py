"""Commits replacements of files in other tables than `records`; retries after other commits.

Each commit advances the table's generation of replacements by compare-and-set, like a compaction.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from seglake.ingest_steps.run_context import RunContext
from seglake.lake.commit_tries import CommitTries
from seglake.lake.compaction import Replacement, commit_replacements
from seglake.lake.foreign_changes import MAINTAINS
from seglake.lake.snapshots import StoredFile
from seglake.lake.table_changes import allow_removals
from seglake.lake.table_view import TableView
from seglake.lake.tables import Table
from seglake.pipelines.lake_erase.rewritten_files import Positions, rewritten

_PAUSES_S = (0.0, *(0.05,) * 20)

Search = Callable[[Iterable[StoredFile]], Mapping[str, Positions]]


class ChangedTable(NamedTuple):
    """Number of changed rows of a table, and its files that had such rows."""

    table: str
    rows: int = 0
    files: tuple[StoredFile, ...] = ()

    def to_mapping(self) -> dict[str, object]:
        """Return the numbers of rows and files for JSON."""
        return {"table": self.table, "rows": self.rows, "files": len(self.files)}


def change_rows(
    context: RunContext,
    table: Table,
    search: Search,
    *,
    keeps_rows: bool = False,
    fences: Collection[str] = (),
) -> ChangedTable:
    """Remove rows from a table, or their bytes, in one commit.

    Args:
        context: the run; a dry run only counts.
        table: the table.
        search: returns the positions of the rows in each file, by path.
        keeps_rows: whether the rows stay, without their bytes.
        fences: further application ids whose generations the commit advances. If there are any, a
            commit is made even without rows.

    Raises:
        CommitUnknownError: all attempts to commit failed.
    """
    done = ChangedTable(table.name)
    tries = CommitTries(context.tables, lambda: table, _PAUSES_S)
    for view in tries:
        found = [(file, rows) for file, rows in _searched(view, search) if len(rows)]
        row_count = sum(len(rows) for _, rows in found)
        done = ChangedTable(table.name, row_count, tuple(file for file, _ in found))
        if context.is_dry_run or not (found or fences):
            break
        if found:
            allow_removals(context.tables, table)
            if context.tables.state(table).version != view.version:
                tries.failure = "another version was committed"
                continue
        tries.failure = _commit(context, view, found, fences, keeps_rows=keeps_rows)
        if tries.failure:
            context.tables.forget_handles()
        else:
            context.after(f"erased from {table.name}")
    return done


def _searched(view: TableView, search: Search) -> list[tuple[StoredFile, Positions]]:
    found = search(view.files)
    return [(file, found[file.path]) for file in view.files if file.path in found]


def _commit(
    context: RunContext,
    view: TableView,
    found: list[tuple[StoredFile, Positions]],
    fences: Iterable[str],
    *,
    keeps_rows: bool,
) -> str:
    """Rewrite files and commit the new ones; return the failure, or ""."""
    written = rewritten(context, view.table, found, keeps_rows=keeps_rows)
    replacements = [
        Replacement((file,), new) for (file, _), new in zip(found, written, strict=True)
    ]
    return commit_replacements(
        view,
        replacements,
        loses_rows=True,
        commit_info={"run_id": context.run_id, MAINTAINS: "erasure"},
        apps=fences,
    )
