"""SQL that defines a lake's tables and views in any DuckDB. Effect: reads the tables' logs.

The SQL needs no seglake, so it can be passed on together with the lake.
"""

from collections.abc import Callable, Collection, Iterable, Iterator

import duckdb

from seglake.lake.delta_tables import LakeTables
from seglake.lake.duckdb_sql import (
    is_plain,
    literal,
    no_rows,
    view,
    view_of_files,
)
from seglake.lake.tables import TABLES, Table
from seglake.pipelines.lake_query.topic_views import topic_views
from seglake.pipelines.lake_query.views import Dialect, topic_view, views
from seglake.storage.errors import LakeFolderError

_WITH_EXTENSION = (
    "-- The newest state of the lake, by the extension delta. INSTALL fetches it once. Without a\n"
    "-- network, print with duckdb-files instead: it needs no extension.\nINSTALL delta",
    "LOAD delta",
    "SET TimeZone = 'UTC'",
)
# The call is inside of a list because TRY allows no aggregate and no subquery.
_MACRO = (
    "CREATE OR REPLACE MACRO try_validate_utf8(bytes) AS"
    " list_transform([bytes], lambda each: try(decode(each)))[1]"
)


def live_statements(lake: str, database: str | None, topics: Collection[str]) -> Iterator[str]:
    """Yield the statements whose views read the newest state of each table.

    Args:
        lake: path of the lake.
        database: the schema to create and use; None keeps the current one.
        topics: all topics of the lake.
    """
    yield from _WITH_EXTENSION
    yield from _statements(database, topics, lambda table: [_scan(table, lake)])


def _scan(table: Table, lake: str) -> str:
    return view(table.name, f"SELECT * FROM delta_scan({literal(f'{lake}/{table.name}')})")


def file_statements(
    lake: LakeTables, database: str | None, topics: Collection[str]
) -> Iterator[str]:
    """Yield the statements whose views read each table's current data files.

    Args:
        lake: a lake that has all tables.
        database: the schema to create and use; None keeps the current one.
        topics: all topics of the lake.

    Raises:
        LakeFolderError: DuckDB would read the path as a pattern.
    """
    place = lake.lake_path.removeprefix("s3:/")
    if not is_plain(place):
        reason = "DuckDB would take its path for a pattern"
        raise LakeFolderError(path=lake.lake_path, reason=reason)
    yield (
        "-- The files that the lake has now, and no extension. Print it again after ingest, and\n"
        "-- within a week after maintain. If the folder moves, replace its path in this file:\n"
        "-- sed -i 's#OLD/PLACE#NEW/PLACE#g' FILE\nSET TimeZone = 'UTC'"
    )
    yield from _statements(database, topics, lambda table: _of_files(table, lake))


def _of_files(table: Table, lake: LakeTables) -> Iterator[str]:
    paths = lake.file_paths(table)
    if table.added or not paths:
        name = no_rows(table) if paths else table.name
        yield view(name, _empty(table))
    if paths:
        yield view_of_files(table, paths, lake.topics)


def _empty(table: Table) -> str:
    """Return a query with a table's columns and no rows, in DuckDB's types."""
    with duckdb.connect() as connection:
        connection.register("rows", table.schema.empty_table())
        columns = connection.execute("DESCRIBE rows").fetchall()
    fields = ", ".join(f'CAST(NULL AS {kind}) AS "{name}"' for name, kind, *_ in columns)
    return f"SELECT {fields} WHERE false"


def _statements(
    database: str | None, topics: Collection[str], views_of: Callable[[Table], Iterable[str]]
) -> Iterator[str]:
    if database is not None:
        yield f"CREATE SCHEMA IF NOT EXISTS {database}"
        yield f"USE {database}"
    yield _MACRO
    for table in TABLES:
        yield from views_of(table)
    for name, text in views(Dialect.DUCKDB).items():
        yield view(name, text)
    for name, topic in topic_views(topics).items():
        yield view(name, topic_view(topic))
