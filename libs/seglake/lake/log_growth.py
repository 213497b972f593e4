"""Which data files a table's log has added since a version: costs less than to open it. Effect."""

import hashlib
import json
from typing import NamedTuple
from urllib.parse import unquote

from seglake.lake.delta_tables import LakeTables
from seglake.lake.tables import Table
from seglake.storage.errors import PlaceError


class LogPlace(NamedTuple):
    """A version of a table, and what tells its log from another, as of a copy put in its place."""

    version: int
    entry_sha256: str


def place_of(tables: LakeTables, table: Table, version: int) -> LogPlace | None:
    """Where a version is in the log; None where its entry has expired, or cannot be read."""
    try:
        entry = tables.storage.read_bytes(tables.log_entry_path(table, version))
    except PlaceError:
        return None
    return LogPlace(version, hashlib.sha256(entry).hexdigest())


def added_behind(
    tables: LakeTables, table: Table, place: LogPlace, version: int
) -> list[str] | None:
    """The paths of the data files that came behind a place, up to a version that is there.

    None where files have gone as well, where the log is not the one that the place is of, and where
    it no longer tells.
    """
    if version < place.version or place_of(tables, table, place.version) != place:
        return None
    paths = []
    folder = tables.path(table)
    for number in range(place.version + 1, version + 1):
        try:
            entry = tables.storage.read_bytes(tables.log_entry_path(table, number))
            actions = [json.loads(line) for line in entry.splitlines()]
            if any("remove" in action for action in actions):
                return None
            paths += [action["add"]["path"] for action in actions if "add" in action]
        except (PlaceError, ValueError, LookupError, TypeError):
            return None
    return [tables.storage.join(folder, unquote(path)) for path in paths]
