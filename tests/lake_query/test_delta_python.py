"""Delta's own Python API over a lake, as a notebook uses it."""

from pathlib import Path

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from support.lakes import ingested
from support.made_logs import make_log_dir


def test_delta_s_python_api_reads_a_table_and_its_history(
    spark_session: SparkSession, data: Path, lake: Path
) -> None:
    for stop in (20, 50):
        ingested(make_log_dir(data, {("orders", 0): [0, stop]}), lake)
    records = DeltaTable.forPath(spark_session, str(lake / "records"))
    offsets = [row.offset for row in records.toDF().select("offset").sort("offset").collect()]
    assert offsets == [*range(50)]
    versions = [row.version for row in records.history().select("version").collect()]
    assert sorted(versions) == [0, 1, 2]
    (detail,) = records.detail().collect()
    assert detail.partitionColumns == ["topic"]
