"""The one Spark session of a test run: a process has one JVM, whose JARs are set at its start."""

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark_session(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    """Two threads, a task may fail three times, reads Delta; its workers find what we find."""
    # Imported here: most tests start no JVM.
    from jobs.spark_session import delta_session
    from pipelines.segment_ingest.settings import SparkSettings

    settings = SparkSettings(
        master="local[2,4]",
        properties=(
            ("spark.databricks.delta.snapshotPartitions", "2"),
            ("spark.sql.shuffle.partitions", "2"),
            ("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse"))),
        ),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
        with delta_session(settings, application="tests", verbosity=0) as session:
            yield session
