"""One DuckDB for all lakes of a test process: the tables of one at a time, read when they changed.

A connection, and the plan of a view, are dearer than what the small lakes of tests ask of them.
"""

from functools import cache, lru_cache
from pathlib import Path

import duckdb

from seglake.lake.tables import TABLES, Table
from seglake.pipelines.lake_query.duckdb_script import live_statements
from seglake.pipelines.lake_query.lake_names import LakeNames
from support.lakes import read_arrow

_NAMES = LakeNames(tuple, has_values=False)


def over(lake: Path, tables: tuple[Table, ...] = TABLES) -> duckdb.DuckDBPyConnection:
    """Return a DuckDB connection in which a lake's tables and views have their names.

    Args:
        tables: those that are asked; what the others hold is not said.
    """
    entries = sorted(lake.absolute().glob("*/_delta_log/*.json"))
    times = tuple((entry.stat().st_ino, entry.stat().st_mtime_ns) for entry in entries)
    _read(lake.absolute(), times, tables)
    return _connection()


@lru_cache(maxsize=1)
def _read(lake: Path, _state: tuple[tuple[int, int], ...], tables: tuple[Table, ...]) -> None:
    for table in tables:
        _connection().register(table.name, read_arrow(lake, table.name))


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(":memory:", config={"threads": 1})
    for table in TABLES:
        connection.register(table.name, table.schema.empty_table())
    for statement in live_statements("/of/another/test", None, _NAMES):
        if "delta" not in statement:
            connection.execute(statement)
    connection.execute("pragma disable_optimizer")
    return connection
