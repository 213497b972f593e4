"""Detects changes of a table's rows by other tools since seglake last committed. Effect.

Delta keeps the generations of topics through a RESTORE, an append or an overwrite, so they do not
reveal one. The log does: each commit of seglake is marked, and any other names its operation.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from seglake.lake.delta_tables import LakeTables
from seglake.lake.errors import ForeignChangeError
from seglake.lake.tables import RECORDS, Table
from seglake.storage.errors import PlaceError

_CHANGES_NO_ROW = frozenset(
    ("CREATE TABLE", "OPTIMIZE", "VACUUM START", "VACUUM END", "SET TBLPROPERTIES")
)
MAINTAINS = "maintains"
"""Key in the info of a commit that changes no row; such a commit did not check those before it."""

# Lengths of history to read, until a run's commit is in it; it is the newest except after
# a maintenance.
_COMMITS_READ = (1, 20, None)


def refuse_foreign_changes(tables: LakeTables, requested: Iterable[Table]) -> None:
    """Require that only seglake has changed the rows of tables.

    Deleted rows of `records` are allowed: an owner may have to erase them. If the log no longer
    reaches back to a commit of seglake, nothing can be detected.

    Raises:
        ForeignChangeError: another tool changed rows; nothing was touched.
        TornLogError: the newest commit was cut short by a power cut.
    """
    for table in requested:
        version = tables.state(table).version
        if tables.own_versions.get(table.name) == version:
            continue
        if _is_ours(_commit_of(tables, table, version)):  # nearly always, and cheap to see
            tables.own_versions[table.name] = version
            continue
        handle = tables.newest(table)
        harmless = _CHANGES_NO_ROW | ({"DELETE"} if table == RECORDS else set())
        with tables.named("read the history of", table):
            for count in _COMMITS_READ:
                history = handle.history(count)
                if any(map(_is_ours, history)):
                    break
            change = foreign_change(history, harmless)
        if change is not None:
            raise ForeignChangeError(
                table=table.name,
                path=tables.path(table),
                operation=str(change.get("operation")),
                version=int(change["version"]),
            )
        tables.own_versions[table.name] = handle.version()


# Any: JSON that any tool may have written.
def _commit_of(tables: LakeTables, table: Table, version: int) -> Mapping[str, Any]:
    """Return the info of the commit that made a version; empty if the log entry has none."""
    path = tables.log_entry_path(table, version)
    try:
        for line in tables.storage.read_bytes(path).splitlines():
            action = json.loads(line)
            if "commitInfo" in action:
                return dict(action["commitInfo"])
    except (PlaceError, ValueError, LookupError, TypeError):
        pass
    return {}


# Any: JSON that any tool may have written.
def foreign_change(
    history: Sequence[Mapping[str, Any]], harmless: frozenset[str]
) -> Mapping[str, Any] | None:
    """Return the newest commit, after seglake's last, that changed rows; None without one.

    A RESTORE that undid only other tools' commits brings back the version that it names.

    Args:
        history: infos of commits, the newest first.
        harmless: Delta's operations that change no rows.
    """
    place = 0
    while place < len(history) and not _is_ours(history[place]):
        commit = history[place]
        if commit.get("operation") == "RESTORE":
            undone = _undone(history[place + 1 :], commit)
            if undone is None:
                return commit
            place += undone
        elif MAINTAINS not in commit and commit.get("operation") not in harmless:
            return commit
        place += 1
    return None


# Any: JSON that any tool may have written.
def _undone(older: Sequence[Mapping[str, Any]], restore: Mapping[str, Any]) -> int | None:
    """Return how many commits a RESTORE undid; None if unknown, or if one is seglake's."""
    parameters = restore.get("operationParameters") or {}
    named = str(parameters.get("version", "")).strip('"')
    for count, commit in enumerate(older):
        if str(commit["version"]) == named:
            return count
        if _is_ours(commit):
            return None
    return None


# Any: JSON that any tool may have written.
def _is_ours(commit: Mapping[str, Any]) -> bool:
    """Return whether a run made the commit: it checked the commits before (`require_own_rows`)."""
    return "run_id" in commit and MAINTAINS not in commit
