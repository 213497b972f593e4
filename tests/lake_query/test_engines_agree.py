"""Values of all columns of all tables print the same, whichever engine answers."""

import io
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from seglake.lake.delta_tables import LakeTables
from seglake.pipelines.lake_query.answers import OutputFormat, write
from seglake.pipelines.lake_query.duckdb_queries import DuckDBQueries
from seglake.pipelines.lake_query.spark_queries import SparkQueries
from seglake.storage.local_storage import LocalStorage
from support import broker_disks
from support.cases import cases
from support.lakes import ingested

pytestmark = pytest.mark.spark

_ORDERS = {
    "records": "topic, partition, offset",
    "batches": "topic, partition, base_offset",
    "checkpoints": "topic, partition, start_offset",
    "observations": "topic, partition",
    "quarantine": "topic, partition, position, broker_id",
    "completeness": "topic, partition",
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Headers, transactions, times of both kinds, and what the brokers say of themselves."""
    path = tmp_path_factory.mktemp("agree") / "lake"
    source = broker_disks.unpacked("08_replicas") / "disks" / "diverged"
    ingested(source, path, select={"internal_topics": True})
    ingested(broker_disks.log_dir("03_v2_codecs", "stopped"), path)
    return path


@pytest.mark.parametrize("table", cases(_ORDERS, telling=["records", "observations"]))
def test_rows_are_the_same_text_in_every_form(
    spark_session: SparkSession, lake: Path, table: str
) -> None:
    query = f"SELECT * FROM {table} ORDER BY {_ORDERS[table]} LIMIT 300"
    spark = SparkQueries(spark_session, str(lake))
    tables = LakeTables(str(lake), LocalStorage())
    with DuckDBQueries(tables, spill_folder=f"{lake}-spill") as duckdb:
        for form in OutputFormat:
            by_duckdb, by_spark = io.StringIO(), io.StringIO()
            write(duckdb.answer(query), form, by_duckdb)
            spark.write(query, form, by_spark)
            assert by_duckdb.getvalue() == by_spark.getvalue()
            assert len(by_duckdb.getvalue().splitlines()) > 5
