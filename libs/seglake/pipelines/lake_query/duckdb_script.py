"""SQL that defines a lake's tables and views in any DuckDB. Reads the tables' logs.

The SQL needs no seglake, so it can be passed on together with the lake.
"""

from collections.abc import Callable, Iterator
from functools import partial

import duckdb

from seglake.lake.delta_tables import LakeTables
from seglake.lake.duckdb_sql import is_plain, literal, view
from seglake.lake.duckdb_tables import named_view
from seglake.lake.tables import Table
from seglake.pipelines.lake_query.lake_names import LakeNames
from seglake.pipelines.lake_query.views import Dialect, views
from seglake.storage.errors import LakeFolderError

_WITH_EXTENSION = (
    "-- The newest state of the lake, by the extension delta. INSTALL fetches it once. Without a\n"
    "-- network, print with duckdb-files instead: it needs no extension.\nINSTALL delta",
    "LOAD delta",
    "SET TimeZone = 'UTC'",
)
# The call is in a list, because DuckDB's TRY rejects aggregates and subqueries outside a list.
_MACRO = (
    "CREATE OR REPLACE MACRO try_validate_utf8(bytes) AS"
    " list_transform([bytes], lambda each: try(decode(each)))[1]"
)


def live_statements(lake: str, database: str | None, names: LakeNames) -> Iterator[str]:
    """Yield statements that define views over the newest state of each table.

    Args:
        lake: path of the lake.
        database: the schema to create and use; None keeps the current one.
        names: the lake's names.
    """
    yield from _WITH_EXTENSION
    yield from _statements(database, names, partial(_scan, lake))


def _scan(lake: str, name: str, table: Table) -> str:
    return view(name, f"SELECT * FROM delta_scan({literal(f'{lake}/{table.name}')})")


def file_statements(lake: LakeTables, database: str | None, names: LakeNames) -> Iterator[str]:
    """Yield statements that define views over each table's current data files.

    Args:
        lake: a lake that has all tables.
        database: the schema to create and use; None keeps the current one.
        names: the lake's names.

    Raises:
        LakeFolderError: DuckDB would treat the path as a pattern.
    """
    place = lake.lake_path.removeprefix("s3:/")
    if not is_plain(place):
        reason = "DuckDB would treat its path as a pattern"
        raise LakeFolderError(path=lake.lake_path, reason=reason)
    yield (
        "-- The files that the lake has now, and no extension. Print it again after ingest, and\n"
        "-- within a week after maintain. If the folder moves, replace its path in this file:\n"
        "-- sed -i 's#OLD/PLACE#NEW/PLACE#g' FILE\nSET TimeZone = 'UTC'"
    )
    with duckdb.connect() as connection:
        yield from _statements(
            database,
            names,
            lambda name, table: named_view(
                connection, table._replace(name=name), lake.file_paths(table), lake.topics
            ),
        )


def _statements(
    database: str | None, names: LakeNames, view_of: Callable[[str, Table], str]
) -> Iterator[str]:
    if database is not None:
        yield f"CREATE SCHEMA IF NOT EXISTS {database}"
        yield f"USE {database}"
    yield _MACRO
    for name, table in names.tables.items():
        yield view_of(name, table)
    for name, text in views(Dialect.DUCKDB).items():
        yield view(name, text)
    for name, _, text in names.views(Dialect.DUCKDB):
        yield view(name, text)
