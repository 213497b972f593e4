"""Registers a lake's tables and views in the catalog of a Spark session.

An entry with the same name that belongs to something else is never changed.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from seglake.errors import WrongCallError
from seglake.lake.tables import Table
from seglake.pipelines.lake_query.errors import CatalogError, NameInUseError, first_line
from seglake.pipelines.lake_query.lake_names import LakeNames
from seglake.pipelines.lake_query.registration import Registration
from seglake.pipelines.lake_query.scripts import (
    LAKE_PROPERTY,
    catalog_of,
    no_table,
    no_view,
    spark_tables,
    spark_views,
)
from seglake.pipelines.lake_query.topic_views import (
    ALL_ROWS,
    NEWEST,
    OF_LATEST_TABLES,
    OF_TOPICS,
    OF_TYPED_TABLES,
    UNWRAPPED,
)
from seglake.pipelines.lake_query.views import Dialect, view_names


def register(session: SparkSession, *, database: str, lake: str, names: LakeNames) -> Registration:
    """Create missing tables and all views, and drop entries whose names became ambiguous.

    Args:
        session: a session whose catalog outlives it.
        database: the catalog's database; created if it is missing.
        lake: the lake's path, as a URI of Hadoop.
        names: the lake's names.

    Returns:
        The tables and views of the lake that the catalog has now.

    Raises:
        WrongCallError: the session has no lasting catalog, or a name is in use.
        CatalogError: the catalog cannot be reached, or refuses a statement.
    """
    _require_lasting(session, database)
    tables = names.tables
    views = (*view_names(), *(name for name, *_ in names.views(Dialect.SPARK)))
    try:
        place = _qualified(session, lake)
        known = _known(session, database)
        there = {name: table for name, table in tables.items() if _folded(name) in known}
        _require_ours(session, database, there, place)
        _require_views(session, database, [name for name in views if _folded(name) in known], place)
        # Names are checked again afterwards: another process may write them meanwhile.
        for statement in spark_tables(database, place, names):
            _run(session, statement)
        _require_ours(session, database, tables, place)
        for statement in spark_views(place, names):
            _run(session, statement)
        _require_views(session, database, views, place)
        others = known - {*map(_folded, (*tables, *views))}
        dropped = _dropped(session, database, others, place)
    except (PySparkException, Py4JError) as error:
        raise CatalogError(f"the catalog refuses: {first_line(error)}") from error
    new = tuple(name for name in (*tables, *views) if _folded(name) not in known)
    return Registration(database, place, tuple(tables), views, new, dropped)


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
            "Spark would have the tables only in memory, until it ends: name a Hive metastore with"
            " --metastore thrift://HOST:PORT, or print the statements for another catalog with"
            " --print"
        )


def _run(session: SparkSession, statement: str) -> None:
    try:
        session.sql(statement)
    except PySparkException as error:
        if "already exists" not in str(error):
            raise
        # If another process created the table first, the repeated statement finds it.
        session.sql(statement)


def _folded(name: str) -> str:
    """Return a name as catalogs compare it: Hive returns all names in lower case."""
    return name.casefold()


def _known(session: SparkSession, database: str) -> set[str]:
    """Return the names of a database's tables and views; empty if the database is missing."""
    if not session.catalog.databaseExists(database):
        return set()
    rows = session.sql(f"SHOW TABLES IN {database}").collect()
    return {_folded(row.tableName) for row in rows}


def _require_ours(
    session: SparkSession, database: str, tables: Mapping[str, Table], lake: str
) -> None:
    for table, stored in tables.items():
        name = f"{database}.{table}"
        place, provider = _described(session, name)
        if not (_is_same(place, f"{lake}/{stored.name}") and provider.casefold() == "delta"):
            raise NameInUseError(name, f"{provider} {place}".strip())


def _described(session: SparkSession, name: str) -> tuple[str, str]:
    """Return where a catalog's table is, and which provider reads it."""
    try:
        rows = session.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    except PySparkException as error:  # the table's folder has been removed
        raise NameInUseError(name, first_line(error)) from error
    described = {row.col_name: row.data_type for row in rows}
    return described.get("Location", ""), described.get("Provider", "")


def _require_views(session: SparkSession, database: str, views: Iterable[str], lake: str) -> None:
    for view in views:
        place = _lake_of(session, f"{database}.{view}")
        if not _is_same(place, lake):
            raise NameInUseError(f"{database}.{view}", place)


def _dropped(
    session: SparkSession, database: str, names: Iterable[str], lake: str
) -> tuple[str, ...]:
    """Drop the lake's own views of topics, and the tables below them, from a catalog.

    Returns the dropped entries. The tables' files stay.
    """
    of_tables = OF_TYPED_TABLES.prefix, OF_LATEST_TABLES.prefix
    prefixes = OF_TOPICS.prefix, *of_tables, UNWRAPPED, NEWEST
    views = [
        name
        for name in sorted(names)
        if name.startswith(prefixes) and _is_same(_lake_of(session, f"{database}.{name}"), lake)
    ]
    with_all_rows = tuple(f"{ALL_ROWS}{prefix}" for prefix in of_tables)
    tables = [
        name
        for name in sorted(names)
        if name.startswith(with_all_rows)
        and _plain(_described(session, f"{database}.{name}")[0]).startswith(_plain(f"{lake}/"))
    ]
    for name in views:
        _run(session, no_view(f"{database}.{name}"))
    for name in tables:
        _run(session, no_table(f"{database}.{name}"))
    return (*views, *tables)


def _lake_of(session: SparkSession, name: str) -> str:
    """Return the lake whose tables a view reads; empty if `register` did not create the view."""
    rows = session.sql(f"SHOW TBLPROPERTIES {name}").collect()
    return str({row.key: row.value for row in rows}.get(LAKE_PROPERTY, ""))


def _is_same(place: str, other: str) -> bool:
    """Return whether two URIs name one folder; s3: equals s3a:, and file: may be left out."""
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
