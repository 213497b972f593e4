"""SQL that registers tables and views elsewhere: the files of conf/, and what `register` runs."""

import re
from collections.abc import Collection, Iterator

from seglake.errors import WrongCallError
from seglake.lake.tables import TABLES
from seglake.pipelines.lake_query.record_views import UTF8_TEXT
from seglake.pipelines.lake_query.registration import CatalogDialect
from seglake.pipelines.lake_query.topic_views import confused_names, topic_views
from seglake.pipelines.lake_query.views import DUCKDB_VIEWS, VIEWS, escaped, topic_view

LAKE_PROPERTY = "seglake.lake"
"""Of a view that `register` made: whose tables it asks."""

_DATABASE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?")
# No apostrophe and no semicolon in these comments: some clients look for them everywhere.
_TABLES_HEAD = (
    "-- The tables of seglake, for Spark with Delta. The variable lake is the whole path.\n"
)
_VIEWS_HEAD = (
    "-- The views of seglake, for Spark. Run where the tables have their names (tables.sql).\n"
)
_DUCKDB_HEAD = f"""\
-- The tables and views of seglake, for DuckDB with its extension delta. The variable lake is the
-- path.

SET TimeZone = 'UTC';

-- Spark has this function, too. It gives null for bytes that are not UTF-8.
CREATE OR REPLACE MACRO try_validate_utf8(bytes) AS {UTF8_TEXT.format(bytes="bytes")};
"""


def check_database(name: str) -> None:
    """Raise WrongCallError for a name that would need quotes."""
    if _DATABASE.fullmatch(name) is None:
        raise WrongCallError(
            f"{name!r} is no name for a database: letters, digits and _, as in kafka or, with the"
            " name of a catalog, unity.kafka"
        )


def statements_for(
    dialect: CatalogDialect, *, database: str, lake: str, topics: Collection[str]
) -> Iterator[str]:
    """Statements that register a lake in a database, without semicolons.

    Trino and Athena get the tables alone: the views are in Spark's SQL.

    Args:
        database: a name that needs no quotes, with that of a catalog before it or without.
        lake: its path, as that engine spells it.
        topics: all of the lake.
    """
    path = lake.replace("'", "''")
    match dialect:
        case CatalogDialect.SPARK:
            yield from spark_tables(database, lake)
            for name in confused_names(topics):
                yield no_view(name)
            yield from spark_views(lake, topics)
        case CatalogDialect.TRINO:
            catalog, _, schema = database.rpartition(".")
            for table in TABLES:
                yield (
                    f"CALL {catalog or 'delta'}.system.register_table(schema_name => '{schema}',"
                    f" table_name => '{table.name}', table_location => '{path}/{table.name}')"
                )
        case CatalogDialect.ATHENA:
            for table in TABLES:
                yield (
                    f"CREATE EXTERNAL TABLE {database}.{table.name}"
                    f" LOCATION '{path}/{table.name}/' TBLPROPERTIES ('table_type' = 'DELTA')"
                )


def spark_tables(database: str, lake: str) -> Iterator[str]:
    """The database, made the current one, and its tables."""
    yield f"CREATE DATABASE IF NOT EXISTS {database}"
    yield f"USE {database}"
    yield from _table_statements(escaped(lake))


def spark_views(lake: str, topics: Collection[str]) -> Iterator[str]:
    """The views upon the tables of the current database."""
    made_by = f"TBLPROPERTIES ('{LAKE_PROPERTY}' = '{escaped(lake)}')"
    for name, text in VIEWS.items():
        yield f"CREATE OR REPLACE VIEW {name}\n{made_by} AS\n{text}"
    for name, topic in topic_views(topics).items():
        said = f"COMMENT 'records of the topic {escaped(topic)}'"
        yield f"CREATE OR REPLACE VIEW {name}\n{said}\n{made_by} AS\n{topic_view(topic)}"


def no_view(name: str) -> str:
    """Return the statement after which Spark's catalog has no view of a name."""
    return f"DROP VIEW IF EXISTS {name}"


def catalog_of(database: str) -> str | None:
    """The catalog that a database names; None for Spark's own."""
    catalog, dot, _ = database.rpartition(".")
    return catalog if dot and catalog.casefold() != "spark_catalog" else None


def _table_statements(path: str) -> Iterator[str]:
    for table in TABLES:
        name = table.name
        yield f"CREATE TABLE IF NOT EXISTS {name} USING delta LOCATION '{path}/{name}'"


def tables_script() -> str:
    """Statements for Spark that register the tables of the lake whose path is `${lake}`."""
    statements = (f"{statement};" for statement in _table_statements("${lake}"))
    return "\n".join((_TABLES_HEAD, *statements, ""))


def views_script() -> str:
    """Statements for Spark that create the views beside tables named records, gaps and so on."""
    return "\n".join((_VIEWS_HEAD, *(_view(name, text) for name, text in VIEWS.items())))


def duckdb_script() -> str:
    """Statements for DuckDB that create a view of each table of `lake`, and those upon them."""
    tables = (
        _view(table.name, f"SELECT * FROM delta_scan(getvariable('lake') || '/{table.name}')")
        for table in TABLES
    )
    views = (_view(name, text) for name, text in DUCKDB_VIEWS.items())
    return "\n".join((_DUCKDB_HEAD, *tables, *views))


def _view(name: str, text: str) -> str:
    return f"CREATE OR REPLACE VIEW {name} AS\n{text};\n"
