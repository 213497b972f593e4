"""Finds the data files that a table's log has added since a version, without opening it. Effect."""

import hashlib
import json
from typing import Any, NamedTuple
from urllib.parse import unquote

from seglake.lake.delta_tables import LakeTables
from seglake.lake.tables import Table
from seglake.storage.errors import PlaceError

_MOST_ENTRIES = 100  # they are read one by one


class LogPlace(NamedTuple):
    """A version of a table, with a hash that distinguishes its log from a copy put in its place."""

    version: int
    entry_sha256: str


def place_of(tables: LakeTables, table: Table, version: int) -> LogPlace | None:
    """Return the place of a version in the log; None if its entry has expired or is unreadable."""
    try:
        entry = tables.storage.read_bytes(tables.log_entry_path(table, version))
    except PlaceError:
        return None
    return LogPlace(version, hashlib.sha256(entry).hexdigest())


def added_after(
    tables: LakeTables, table: Table, place: LogPlace, version: int
) -> list[str] | None:
    """Return the paths of the data files added after a place, up to an existing version.

    None if files were also removed, if the log is another one than the place's, or if it has
    expired or too many entries.
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
    """Return whether a file brought new rows; a compaction does not."""
    return bool(added["dataChange"])
