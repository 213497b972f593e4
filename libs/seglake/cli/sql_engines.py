"""Chooses and starts the engine of `seglake sql`."""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seglake.environment.spark_submit import is_submitted
from seglake.environment.storages import open_storages
from seglake.pipelines.lake_query.asked_lake import is_on_hdfs, require_lake
from seglake.pipelines.lake_query.duckdb_queries import DuckDBQueries
from seglake.pipelines.lake_query.lake_names import latest_tables_of, typed_tables_of
from seglake.pipelines.lake_query.lake_queries import LakeQueries, QueryEngine
from seglake.printable import on_one_line
from seglake.settings.settings import Settings, SparkSettings


@contextmanager
def lake_queries(arguments: argparse.Namespace, settings: Settings) -> Iterator[LakeQueries]:
    """Yield the engine for the lake that the arguments name: DuckDB, unless Spark is requested.

    Spark is also chosen if the lake is on HDFS, or if the settings or spark-submit name a cluster.

    Args:
        arguments: the parsed arguments of `seglake sql`.
        settings: the settings of the call.

    Raises:
        LakeFolderError: there is no lake, or its storage denies access.
        UnsupportedUriError: no storage supports this kind of URI.
    """
    storage = open_storages(settings.spark.properties)
    tables = require_lake(arguments.lake, storage)
    requested = None if arguments.engine is None else QueryEngine(arguments.engine)
    reason = _only_spark(settings, is_on_hdfs=is_on_hdfs(tables)) if requested is None else None
    if reason is not None:
        _note(f"Spark answers: {reason}")
        requested = QueryEngine.SPARK
    if requested is not QueryEngine.SPARK:
        speaks_spark = requested is None
        spill_folder = _spill_folder()
        with DuckDBQueries(tables, spill_folder=spill_folder, speaks_spark=speaks_spark) as queries:
            yield LakeQueries(queries, _note, arguments.lake)
        return
    # Imported here, so that DuckDB's answers do not wait for Spark.
    from seglake.environment.lake_session import lake_session

    place, verbosity = tables.lake_path, arguments.verbosity
    with lake_session(settings.spark, storage, place, application="sql", verbosity=verbosity) as (
        session,
        reporter,
    ):
        from seglake.pipelines.lake_query.spark_queries import SparkQueries

        reporter.close()
        own_tables = typed_tables_of(tables), latest_tables_of(tables)
        engine = SparkQueries(session, storage.hadoop_uri(place), *own_tables)
        yield LakeQueries(engine, _note, arguments.lake)


def _only_spark(settings: Settings, *, is_on_hdfs: bool) -> str | None:
    """Return the reason to choose Spark by default; None for DuckDB."""
    if is_on_hdfs:
        return "the lake is on HDFS"
    if settings.spark.master != SparkSettings().master:
        return "the settings name a Spark master"
    return "spark-submit runs this" if is_submitted() else None


def _spill_folder() -> str:
    """Return the path of a folder that DuckDB creates when memory runs out, and removes later."""
    return str(Path(tempfile.gettempdir()) / f"seglake-sql-{os.getpid()}")


def _note(text: str) -> None:
    sys.stderr.write(f"seglake: {on_one_line(text)}\n")
    sys.stderr.flush()
