"""Statements that write are refused before they run."""

import io
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from seglake.pipelines.lake_query.errors import WrongQueryError
from support.spark_answers import query


@pytest.mark.spark
@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO records SELECT * FROM records",
        "WITH some AS (SELECT * FROM records) INSERT INTO records SELECT * FROM some",
        "FROM records INSERT INTO records SELECT *",
        "INSERT OVERWRITE DIRECTORY 'somewhere' USING parquet SELECT 1",
        "CREATE TABLE other AS SELECT 1 AS a",
        "DELETE FROM records",
        "OPTIMIZE delta.`somewhere`",
        "VACUUM delta.`somewhere`",
    ],
)
def test_statement_that_writes_is_refused_and_writes_nothing(
    text: str, spark_session: SparkSession, lake_path: Path
) -> None:
    before = sorted(lake_path.rglob("*"))
    with pytest.raises(WrongQueryError, match="only reads"):
        query(spark_session, str(lake_path), text, as_json=False, out=io.StringIO())
    assert sorted(lake_path.rglob("*")) == before


@pytest.mark.spark
@pytest.mark.parametrize(
    "text",
    ["WITH some AS (SELECT 1 AS a) SELECT * FROM some", "SHOW VIEWS", "EXPLAIN SELECT 1"],
)
def test_statement_that_reads_passes(
    text: str, spark_session: SparkSession, lake_path: Path
) -> None:
    out = io.StringIO()
    query(spark_session, str(lake_path), text, as_json=True, out=out)
    assert out.getvalue()
