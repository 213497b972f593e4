"""Checks the format of a lake against this version of seglake.

Each table's properties have the format of the lake, and the version of seglake that made or
upgraded the table.
"""

from collections.abc import Iterable, Mapping

from seglake.lake.errors import NewerLakeError, OlderLakeError
from seglake.lake.tables import Table
from seglake.version import __version__

FORMAT = 3
"""Newest format, which rises with each new table or column. Lakes of format 0 lack the property."""

_FORMAT, _VERSION = "seglake.format", "seglake.version"


def marks() -> dict[str, str]:
    """Return the table properties that mark this version's format."""
    return {_FORMAT: str(FORMAT), _VERSION: __version__}


def format_of(properties: Mapping[str, str]) -> int:
    """Return the format in a table's properties.

    An unreadable format is treated as newer than this version's.
    """
    stored = properties.get(_FORMAT, "0")
    return int(stored) if stored.isdecimal() else FORMAT + 1


def refuse_newer(lake_path: str, properties: Mapping[str, str]) -> None:
    """Raise NewerLakeError for a table of a later version: its rows may have another meaning."""
    if format_of(properties) > FORMAT:
        raise NewerLakeError(
            path=lake_path,
            made_by=properties.get(_VERSION, "unknown"),
            lake_format=properties[_FORMAT],
            known_format=FORMAT,
        )


def refuse_older(lake_path: str, table: Table, columns: Iterable[str]) -> None:
    """Raise OlderLakeError for a table without a column that an upgrade would add."""
    lacking = added_columns(table, columns)
    if lacking:
        raise OlderLakeError(path=lake_path, lacks=f"column {lacking[0]} of {table.name}")


def added_columns(table: Table, columns: Iterable[str]) -> list[str]:
    """Return the missing columns that an upgrade adds, in order."""
    there = {*columns}
    return [name for name in table.schema.names if name in table.added and name not in there]
