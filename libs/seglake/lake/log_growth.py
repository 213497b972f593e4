"""Finds the data files added to a table since a version, without opening the table."""

import hashlib
import json
from typing import Any, NamedTuple
from urllib.parse import unquote

from seglake.lake.delta_tables import LakeTables
from seglake.lake.tables import Table
from seglake.storage.errors import PlaceError

_MOST_ENTRIES = 100  # a limit, since reading each entry is a request


class LogPlace(NamedTuple):
    """Version of a table, with a hash of its log entry, which reveals a replaced log."""

    version: int
    entry_sha256: str


def place_of(tables: LakeTables, table: Table, version: int) -> LogPlace | None:
    """Return a version with its entry's hash; None if the log entry is expired or unreadable."""
    try:
        entry = tables.storage.read_bytes(tables.log_entry_path(table, version))
    except PlaceError:
        return None
    return LogPlace(version, hashlib.sha256(entry).hexdigest())


def added_after(
    tables: LakeTables, table: Table, place: LogPlace, version: int
) -> list[str] | None:
    """Return the paths of the data files added after one version up to another.

    The result is None if files were also removed, if the log was replaced, or if the log entries
    between the versions are expired or too many.
    """
    if not 0 <= version - place.version <= _MOST_ENTRIES:
        return None
    if place_of(tables, table, place.version) != place:
        return None
    paths = []
    folder = tables.path(table)
    for number in range(place.version + 1, version + 1):
        try:
            entry = tables.storage.read_bytes(tables.log_entry_path(table, number))
            actions = [json.loads(line) for line in entry.splitlines()]
            added = [action["add"] for action in actions if "add" in action]
            if any("remove" in action for action in actions) or not all(map(_is_new, added)):
                return None
            paths += [file["path"] for file in added]
        except (PlaceError, ValueError, LookupError, TypeError):
            return None
    return [tables.storage.join(folder, unquote(path)) for path in paths]


# Any: JSON.
def _is_new(added: dict[str, Any]) -> bool:
    """Return whether an added file has new rows; a file from a compaction has none."""
    return bool(added["dataChange"])
