"""SQL that registers a lake in Spark, Trino and Athena; `register` runs or prints it."""

import re
from collections.abc import Iterator

from seglake.errors import WrongCallError
from seglake.pipelines.lake_query.lake_names import LakeNames
from seglake.pipelines.lake_query.views import Dialect, escaped, views

LAKE_PROPERTY = "seglake.lake"
"""Property of views and Iceberg metadata from `register`: the lake that they read."""

_DATABASE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?")


def check_database(name: str) -> None:
    """Raise WrongCallError if a database's name would need quotes."""
    if _DATABASE.fullmatch(name) is None:
        raise WrongCallError(
            f"{name!r} is no valid name for a database: use letters, digits and _, such as "
            "kafka or, with a catalog, unity.kafka"
        )


def spark_statements(database: str | None, lake: str, names: LakeNames) -> Iterator[str]:
    """Yield the statements that register all tables and views.

    Args:
        database: the database to create and use; None keeps the current one.
        lake: path of the lake, in Spark's spelling.
        names: the lake's names.
    """
    yield from spark_tables(database, lake, names)
    for name in names.confused():
        yield no_view(name)
    yield from spark_views(lake, names)


def trino_statements(database: str, lake: str, names: LakeNames) -> Iterator[str]:
    """Yield calls that register only the tables, since the views are in Spark's SQL."""
    catalog, _, schema = database.rpartition(".")
    for name, table in names.tables.items():
        yield (
            f"CALL {catalog or 'delta'}.system.register_table(schema_name => '{schema}',"
            f" table_name => '{name}', table_location => '{_quoted(lake)}/{table.name}')"
        )


def athena_statements(database: str, lake: str, names: LakeNames) -> Iterator[str]:
    """Yield statements that create only the tables, since the views are in Spark's SQL."""
    for name, table in names.tables.items():
        yield (
            f"CREATE EXTERNAL TABLE {database}.{name}"
            f" LOCATION '{_quoted(lake)}/{table.name}/' TBLPROPERTIES ('table_type' = 'DELTA')"
        )


def _quoted(text: str) -> str:
    return text.replace("'", "''")


def spark_tables(database: str | None, lake: str, names: LakeNames) -> Iterator[str]:
    """Yield the statements for the tables, and for the database if it is given."""
    if database is not None:
        yield f"CREATE DATABASE IF NOT EXISTS {database}"
        yield f"USE {database}"
    for name, table in names.tables.items():
        place = f"{escaped(lake)}/{table.name}"
        yield f"CREATE TABLE IF NOT EXISTS {name} USING delta LOCATION '{place}'"


def spark_views(lake: str, names: LakeNames) -> Iterator[str]:
    """Yield the statements for the views over the current database's tables."""
    made_by = f"TBLPROPERTIES ('{LAKE_PROPERTY}' = '{escaped(lake)}')"
    for name, text in views(Dialect.SPARK).items():
        yield f"CREATE OR REPLACE VIEW {name}\n{made_by} AS\n{text}"
    for name, about, text in names.views(Dialect.SPARK):
        comment = f"COMMENT '{escaped(about)}'"
        yield f"CREATE OR REPLACE VIEW {name}\n{comment}\n{made_by} AS\n{text}"


def no_view(name: str) -> str:
    """Return the statement that removes a view from Spark's catalog, if it exists."""
    return f"DROP VIEW IF EXISTS {name}"


def no_table(name: str) -> str:
    """Return the statement that removes a table from Spark's catalog, if it exists."""
    return f"DROP TABLE IF EXISTS {name}"


def catalog_of(database: str) -> str | None:
    """Return the catalog that a database names; None for Spark's own."""
    catalog, dot, _ = database.rpartition(".")
    return catalog if dot and catalog.casefold() != "spark_catalog" else None
