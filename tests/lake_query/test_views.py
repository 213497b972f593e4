"""The views by name: those of topics, and all that there are."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from seglake.lake.tables import TABLES
from seglake.pipelines.lake_query.views import view_names
from support.written_lake import ask


@pytest.mark.spark
def test_topic_view_holds_the_topic_and_json_keeps_null_and_empty_apart(
    spark_session: SparkSession, lake_path: Path
) -> None:
    text = "SELECT offset, key, value FROM topic_my_orders_EU ORDER BY offset"
    assert ask(spark_session, lake_path, text) == [
        {"offset": 0, "key": "aw==", "value": ""},
        {"offset": 1, "key": "aw==", "value": None},
    ]


@pytest.mark.spark
def test_show_views_lists_them_all(spark_session: SparkSession, lake_path: Path) -> None:
    """A session keeps the views of the lakes that were asked before this one."""
    rows = ask(spark_session, lake_path, "SHOW VIEWS")
    names = {str(row["viewName"]).lower() for row in rows}
    tables = {table.name for table in TABLES}
    views = {*view_names(), "topic_orders", "topic_my_orders_eu"}
    assert tables | views <= names
