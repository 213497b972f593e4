"""The views by name: those of topics, and all that there are."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from seglake.lake.tables import TABLES
from seglake.pipelines.lake_query.views import VIEWS, topic_views
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
    views = {*VIEWS, "topic_orders", "topic_my_orders_eu"}
    assert tables | views <= names


def test_names_that_differ_by_case_only_are_numbered() -> None:
    names = topic_views(["a.b", "A_B", "a-b", "a_b_2", "z"])
    assert {name: text.partition("topic = ")[2] for name, text in names.items()} == {
        "topic_A_B": "'A_B'",
        "topic_a_b_2": "'a_b_2'",
        "topic_a_b_3": "'a-b'",
        "topic_a_b_4": "'a.b'",
        "topic_z": "'z'",
    }
