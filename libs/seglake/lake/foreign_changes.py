"""Detects changes of a table's rows by other tools since seglake last committed.

A RESTORE, an append or an overwrite by another tool does not change the topics' generations. Only
the table's log shows the change: seglake's commits have a mark, and other commits name Delta's
operation.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from seglake.lake.delta_tables import LakeTables
from seglake.lake.errors import ForeignChangeError
from seglake.lake.tables import RECORDS, Table
from seglake.storage.errors import PlaceError

_CREATES = "CREATE TABLE"
_CHANGES_NO_ROW = frozenset(
    (_CREATES, "OPTIMIZE", "VACUUM START", "VACUUM END", "SET TBLPROPERTIES")
)
MAINTAINS = "maintains"
"""Key in the info of seglake's maintenance commits, which do not check for foreign changes."""

# Numbers of newest commits to read, step by step, until a run's commit is found. Usually it is the
# newest commit; a maintenance adds others.
_COMMITS_READ = (1, 20, None)


def refuse_foreign_changes(tables: LakeTables, requested: Iterable[Table]) -> None:
    """Require that only seglake has changed the rows of tables.

    Other tools may delete rows from `records`, since personal data may have to be erased. If the
    log no longer has a commit of seglake, no change can be detected.

    Raises:
        ForeignChangeError: another tool changed rows; nothing was touched by this call.
        TornLogError: a power cut has truncated the newest log entry.
    """
    for table in requested:
        version = tables.state(table).version
        if tables.own_versions.get(table.name) == version:
            continue
        # Usually a run made the newest commit, or the table is new: then no history is needed.
        newest = commit_of(tables, table, version)
        if _is_ours(newest) or (version == 0 and newest.get("operation") == _CREATES):
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
def commit_of(tables: LakeTables, table: Table, version: int) -> Mapping[str, Any]:
    """Return the commit info in a version's log entry; empty if there is none."""
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
    """Return another tool's newest row-changing commit since seglake's last commit, or None.

    A RESTORE that undid only commits of other tools is no change; the commits before it are then
    examined.

    Args:
        history: commit infos, the newest first.
        harmless: Delta operations that do not change rows.
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
    """Return how many commits a RESTORE undid; None if unknown, or if seglake made one of them."""
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
    """Return whether a run of seglake made the commit, after checking the earlier commits."""
    return "run_id" in commit and MAINTAINS not in commit
