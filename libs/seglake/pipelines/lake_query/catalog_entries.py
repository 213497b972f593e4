"""Registers a lake's tables and views in the catalog of a Spark session. Effect.

An entry of the same name that does not belong to the lake is never changed.
"""

import re
from collections.abc import Collection, Iterable
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from seglake.errors import WrongCallError
from seglake.lake.tables import TABLES
from seglake.pipelines.lake_query.errors import CatalogError, NameInUseError, first_line
from seglake.pipelines.lake_query.registration import Registration
from seglake.pipelines.lake_query.scripts import (
    LAKE_PROPERTY,
    catalog_of,
    no_view,
    spark_tables,
    spark_views,
)
from seglake.pipelines.lake_query.topic_views import PREFIX, topic_views
from seglake.pipelines.lake_query.views import view_names


def register(
    session: SparkSession, *, database: str, lake: str, topics: Collection[str]
) -> Registration:
    """Create missing tables and all views; drop views of topics whose names became ambiguous.

    Args:
        session: a session whose catalog outlives it.
        database: the catalog's database; made if it is missing.
        lake: the lake's path, as a URI of Hadoop.
        topics: all topics of the lake.

    Returns:
        The tables and views that the catalog has of the lake now.

    Raises:
        WrongCallError: the session has no lasting catalog, or a name is taken.
        CatalogError: the catalog cannot be reached, or refuses a statement.
    """
    _require_lasting(session, database)
    tables = tuple(table.name for table in TABLES)
    views = (*view_names(), *topic_views(topics))
    try:
        place = _qualified(session, lake)
        known = _known(session, database)
        _require_ours(session, database, [name for name in tables if _folded(name) in known], place)
        _require_views(session, database, [name for name in views if _folded(name) in known], place)
        # Another process may write the same names meanwhile, so they are checked again afterwards.
        for statement in spark_tables(database, place):
            _run(session, statement)
        _require_ours(session, database, tables, place)
        for statement in spark_views(place, topics):
            _run(session, statement)
        _require_views(session, database, views, place)
        dropped = _dropped(session, database, known - {*map(_folded, views)}, place)
    except (PySparkException, Py4JError) as error:
        raise CatalogError(f"the catalog refuses: {first_line(error)}") from error
    new = tuple(name for name in (*tables, *views) if _folded(name) not in known)
    return Registration(database, place, tables, views, new, dropped)


def _require_lasting(session: SparkSession, database: str) -> None:
    catalog = catalog_of(database)
    if catalog is not None:
        if session.conf.get(f"spark.sql.catalog.{catalog}", "") == "":
            raise WrongCallError(
                f"Spark knows no catalog {catalog}: its properties name none as"
                f" spark.sql.catalog.{catalog}"
            )
    elif session.conf.get("spark.sql.catalogImplementation") == "in-memory":
        raise WrongCallError(
            "Spark would keep the tables in its memory and forget them: name a Hive metastore with"
            " --metastore thrift://HOST:PORT, or print the statements for another catalog with"
            " --print"
        )


def _run(session: SparkSession, statement: str) -> None:
    try:
        session.sql(statement)
    except PySparkException as error:
        if "already exists" not in str(error):
            raise
        # Another process created the table first; now the statement finds it.
        session.sql(statement)


def _folded(name: str) -> str:
    """Return a name in the form that catalogs compare; Hive returns all names in lower case."""
    return name.casefold()


def _known(session: SparkSession, database: str) -> set[str]:
    """Return the names of a database's tables and views; none if there is no such database."""
    if not session.catalog.databaseExists(database):
        return set()
    rows = session.sql(f"SHOW TABLES IN {database}").collect()
    return {_folded(row.tableName) for row in rows}


def _require_ours(session: SparkSession, database: str, tables: Iterable[str], lake: str) -> None:
    for table in tables:
        name = f"{database}.{table}"
        try:
            rows = session.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
        except PySparkException as error:  # its folder is gone
            raise NameInUseError(name, first_line(error)) from error
        described = {row.col_name: row.data_type for row in rows}
        place, provider = described.get("Location", ""), described.get("Provider", "")
        if not (_is_same(place, f"{lake}/{table}") and provider.casefold() == "delta"):
            raise NameInUseError(name, f"{provider} {place}".strip())


def _require_views(session: SparkSession, database: str, views: Iterable[str], lake: str) -> None:
    for view in views:
        place = _lake_of(session, f"{database}.{view}")
        if not _is_same(place, lake):
            raise NameInUseError(f"{database}.{view}", place)


def _dropped(
    session: SparkSession, database: str, names: Iterable[str], lake: str
) -> tuple[str, ...]:
    """Drop the lake's own topic views among these names, and return the dropped ones."""
    old = [
        name
        for name in sorted(names)
        if name.startswith(PREFIX) and _is_same(_lake_of(session, f"{database}.{name}"), lake)
    ]
    for name in old:
        _run(session, no_view(f"{database}.{name}"))
    return tuple(old)


def _lake_of(session: SparkSession, name: str) -> str:
    """Return the lake whose tables a view reads; empty if `register` did not create the view."""
    rows = session.sql(f"SHOW TBLPROPERTIES {name}").collect()
    return str({row.key: row.value for row in rows}.get(LAKE_PROPERTY, ""))


def _is_same(place: str, other: str) -> bool:
    """Return whether two URIs name one folder: a scheme may be missing, and S3 has two."""
    return _plain(place) == _plain(other)


def _plain(uri: str) -> str:
    return re.sub("^s3a://", "s3://", re.sub("^file:/+", "/", uri))


def _qualified(session: SparkSession, lake: str) -> str:
    """Return a path with its scheme and host, as the catalog will store it."""
    context = session.sparkContext
    java: Any = context._jvm  # py4j has no types
    path = java.org.apache.hadoop.fs.Path(lake)
    hadoop = context._jsc.hadoopConfiguration()
    return str(path.getFileSystem(hadoop).makeQualified(path).toString())
