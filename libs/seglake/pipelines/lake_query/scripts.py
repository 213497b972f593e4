"""SQL that registers a lake in Spark, Trino and Athena; `register` runs or prints it. Pure."""

import re
from collections.abc import Collection, Iterator

from seglake.errors import WrongCallError
from seglake.lake.tables import TABLES
from seglake.pipelines.lake_query.topic_views import confused_names, topic_views
from seglake.pipelines.lake_query.views import Dialect, escaped, topic_view, views

LAKE_PROPERTY = "seglake.lake"
"""Property of what `register` creates: the lake whose tables a view or a description reads."""

_DATABASE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?")


def check_database(name: str) -> None:
    """Raise WrongCallError if a database's name would need quotes."""
    if _DATABASE.fullmatch(name) is None:
        raise WrongCallError(
            f"{name!r} is no name for a database: letters, digits and _, as in kafka or, with the"
            " name of a catalog, unity.kafka"
        )


def spark_statements(database: str | None, lake: str, topics: Collection[str]) -> Iterator[str]:
    """Yield the statements that register the tables, the views and one view for each topic.

    Args:
        database: the database to create and use; None keeps the current one.
        lake: path of the lake, in Spark's spelling.
        topics: all topics of the lake.
    """
    yield from spark_tables(database, lake)
    for name in confused_names(topics):
        yield no_view(name)
    yield from spark_views(lake, topics)


def trino_statements(database: str, lake: str) -> Iterator[str]:
    """Yield the calls that register the tables only, since the views are in Spark's SQL."""
    catalog, _, schema = database.rpartition(".")
    for table in TABLES:
        yield (
            f"CALL {catalog or 'delta'}.system.register_table(schema_name => '{schema}',"
            f" table_name => '{table.name}', table_location => '{_quoted(lake)}/{table.name}')"
        )


def athena_statements(database: str, lake: str) -> Iterator[str]:
    """Yield the statements that create the tables only, since the views are in Spark's SQL."""
    for table in TABLES:
        yield (
            f"CREATE EXTERNAL TABLE {database}.{table.name}"
            f" LOCATION '{_quoted(lake)}/{table.name}/' TBLPROPERTIES ('table_type' = 'DELTA')"
        )


def _quoted(text: str) -> str:
    return text.replace("'", "''")


def spark_tables(database: str | None, lake: str) -> Iterator[str]:
    """Yield the statements for the tables, and for the database if one is named."""
    if database is not None:
        yield f"CREATE DATABASE IF NOT EXISTS {database}"
        yield f"USE {database}"
    for table in TABLES:
        name = table.name
        yield f"CREATE TABLE IF NOT EXISTS {name} USING delta LOCATION '{escaped(lake)}/{name}'"


def spark_views(lake: str, topics: Collection[str]) -> Iterator[str]:
    """Yield the statements for the views over the current database's tables."""
    made_by = f"TBLPROPERTIES ('{LAKE_PROPERTY}' = '{escaped(lake)}')"
    for name, text in views(Dialect.SPARK).items():
        yield f"CREATE OR REPLACE VIEW {name}\n{made_by} AS\n{text}"
    for name, topic in topic_views(topics).items():
        comment = f"COMMENT 'records of the topic {escaped(topic)}'"
        yield f"CREATE OR REPLACE VIEW {name}\n{comment}\n{made_by} AS\n{topic_view(topic)}"


def no_view(name: str) -> str:
    """Return the statement that removes a view from Spark's catalog, if it exists."""
    return f"DROP VIEW IF EXISTS {name}"


def catalog_of(database: str) -> str | None:
    """Return the catalog that a database names; None for Spark's own."""
    catalog, dot, _ = database.rpartition(".")
    return catalog if dot and catalog.casefold() != "spark_catalog" else None
