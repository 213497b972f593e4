"""Starts Spark for queries over one lake, once a call turns out to need it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from seglake.environment.spark_connect import refuse_connect
from seglake.environment.spark_home import provide_pyspark
from seglake.progress.run_reporter import RunReporter
from seglake.settings.settings import SparkSettings
from seglake.storage.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def lake_session(
    settings: SparkSettings, storage: Storage, lake: str, *, application: str, verbosity: int
) -> "Iterator[tuple[SparkSession, RunReporter]]":
    """Yield a session that reads a lake, and the reporter that shows its start; stop both after.

    Args:
        settings: Spark's master and properties.
        storage: the storage of the lake.
        lake: path of the lake.
        application: the command's name, part of the application's name.
        verbosity: how much progress and Spark's output is printed; -1 prints nothing.

    Raises:
        WrongCallError: only Spark Connect is available.
        SeglakeError: there is no Spark, or it does not start; see `delta_session`.
    """
    refuse_connect(settings)
    provide_pyspark()
    # Imported here, since the module needs PySpark.
    from seglake.environment.spark_session import delta_session

    with RunReporter(sys.stderr, verbosity=verbosity) as reporter:
        reporter.step("starting Spark")
        with delta_session(
            settings,
            application=application,
            verbosity=verbosity,
            lake=storage.hadoop_uri(lake),
            hadoop=storage.hadoop_properties(lake),
        ) as session:
            yield session, reporter
