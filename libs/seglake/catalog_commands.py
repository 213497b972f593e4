"""`seglake register` for the command line and the API. Starts Spark."""

import sys
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

from seglake.errors import WrongCallError
from seglake.settings.settings import Settings, SparkSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seglake.lake.delta_tables import LakeTables
    from seglake.pipelines.lake_query.lake_names import LakeNames
    from seglake.pipelines.lake_query.registration import CatalogDialect, Registration

_QUIET = -1


def run_register(
    lake: str,
    database: str,
    settings: Settings,
    *,
    metastore: str | None = None,
    verbosity: int = _QUIET,
) -> "Registration":
    """Register a lake's tables and views in a catalog of Spark's, and return the entries.

    Args:
        lake: the folder of the tables, a path or a URI.
        database: the catalog's database; made if it is missing.
        settings: settings with Spark's master and properties, and with access to the storage.
        metastore: a Hive metastore, as "thrift://host:9083"; None for the properties' catalog.
        verbosity: how much progress is printed; -1 prints nothing.

    Raises:
        WrongCallError: there is no lake, a table is missing, or the name of the database is wrong.
        SeglakeError: Spark or the catalog does not answer, or refuses.
    """
    from seglake.environment.lake_session import lake_session
    from seglake.environment.metastore import forget
    from seglake.pipelines.lake_query.scripts import check_database

    check_database(database)
    found, names = _registrable(lake, settings)
    spark, place = _with_metastore(settings.spark, metastore), found.lake_path
    with lake_session(spark, found.storage, place, application="register", verbosity=verbosity) as (
        session,
        reporter,
    ):
        from seglake.pipelines.lake_query.catalog_entries import register

        reporter.step("writing to the catalog")
        uri = found.storage.hadoop_uri(place)
        try:
            return register(session, database=database, lake=uri, names=names)
        finally:
            if metastore is not None:
                forget(session)


def _with_metastore(spark: SparkSettings, metastore: str | None) -> SparkSettings:
    """Add the properties of a Hive metastore, if there is one, to Spark's settings."""
    from seglake.environment.metastore import properties_of

    if metastore is None:
        return spark
    return replace(spark, properties=(*spark.properties, *properties_of(metastore)))


def run_register_iceberg(
    lake: str, database: str, folder: str, settings: Settings, *, verbosity: int = _QUIET
) -> "Registration":
    """Write Iceberg metadata for a lake's tables (`register --iceberg`), and return the entries.

    Args:
        lake: the folder of the tables, a path or a URI.
        database: the namespace of the tables.
        folder: where the metadata is written, a path or a URI.
        settings: settings with access to the storage.
        verbosity: how much progress is printed; -1 prints nothing.

    Raises:
        WrongCallError: pyiceberg is not installed, there is no lake, or a name is wrong.
    """
    from seglake.environment.storages import open_storages
    from seglake.pipelines.lake_query.scripts import check_database
    from seglake.progress.run_reporter import RunReporter

    if find_spec("pyiceberg") is None:
        raise WrongCallError(
            "Iceberg's metadata needs the package pyiceberg, which is not installed: pip install"
            " pyiceberg"
        )
    from seglake.pipelines.lake_query.iceberg.warehouse import write_warehouse

    check_database(database)
    found = _with_all_tables(lake, settings)
    named = _names_in(found).tables
    place = open_storages(settings.spark.properties).locate(folder)
    with RunReporter(sys.stderr, verbosity=verbosity) as reporter:
        reporter.step("writing Iceberg's metadata")
        return write_warehouse(found, named, folder=place, database=database)


def statements_of(
    lake: str, database: str | None, dialect: "CatalogDialect", settings: Settings
) -> "Iterator[str]":
    """Return the statements that `register --print` prints, without semicolons.

    Args:
        lake: the folder of the tables, a path or a URI.
        database: the database to create; some dialects need none.
        dialect: the dialect of the SQL.
        settings: settings with access to the storage.

    Raises:
        WrongCallError: there is no lake, or this dialect cannot read it or needs a database.
    """
    from seglake.pipelines.lake_query import duckdb_script, scripts
    from seglake.pipelines.lake_query.asked_lake import is_on_hdfs
    from seglake.pipelines.lake_query.registration import CatalogDialect

    if database is not None:
        scripts.check_database(database)
    found, names = _registrable(lake, settings)
    path = found.lake_path
    if dialect.is_duckdb and is_on_hdfs(found):
        raise WrongCallError(f"DuckDB alone cannot read {path}, a lake on HDFS: use seglake sql")
    match dialect:
        case CatalogDialect.DUCKDB:
            return duckdb_script.live_statements(path, database, names)
        case CatalogDialect.DUCKDB_FILES:
            return duckdb_script.file_statements(found, database, names)
        case CatalogDialect.SPARK:
            # Spark's own catalog knows only the scheme s3a, other catalogs know s3.
            is_own = database is None or scripts.catalog_of(database) is None
            place = found.storage.hadoop_uri(path) if is_own else path
            return scripts.spark_statements(database, place, names)
    if database is None:
        raise WrongCallError(f"--print {dialect} needs --database NAME")
    if dialect is CatalogDialect.TRINO:
        return scripts.trino_statements(database, path, names)
    if not path.startswith("s3://"):
        raise WrongCallError(f"Athena reads lakes on S3 only, and {path} is none")
    return scripts.athena_statements(database, path, names)


def _registrable(lake: str, settings: Settings) -> "tuple[LakeTables, LakeNames]":
    """Open a lake to register, and return it with the names of the views of its topics."""
    from seglake.storage.errors import LakeFolderError

    found = _with_all_tables(lake, settings)
    if not found.lake_path.isprintable():
        raise LakeFolderError(path=found.lake_path, reason="its path fits into no SQL")
    return found, _names_in(found)


def _names_in(lake: "LakeTables") -> "LakeNames":
    """Return the names of a lake's tables and views."""
    from seglake.lake.value_tables import VALUE_TABLES
    from seglake.pipelines.lake_query.lake_names import (
        LakeNames,
        latest_tables_of,
        typed_tables_of,
    )

    has_values = all(map(lake.has, VALUE_TABLES))
    own_tables = typed_tables_of(lake), latest_tables_of(lake)
    return LakeNames(lake.topics, *own_tables, has_values=has_values)


def _with_all_tables(lake: str, settings: Settings) -> "LakeTables":
    """Open a lake; raise LakeFolderError if there is none, or a table is missing."""
    from seglake.environment.storages import open_storages
    from seglake.lake.errors import OlderLakeError
    from seglake.lake.tables import TABLES
    from seglake.pipelines.lake_query.asked_lake import require_lake

    found = require_lake(lake, open_storages(settings.spark.properties))
    present = found.open_all()
    lacking = [table.name for table in TABLES if table.name not in present]
    if lacking:
        raise OlderLakeError(path=found.lake_path, lacks=f"table {lacking[0]}")
    return found
