"""Answers to queries: for a person, for a machine, and where there is none."""

import io
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from seglake.pipelines.lake_query.errors import WrongQueryError
from support.spark_answers import query
from support.written_lake import ask


@pytest.mark.spark
def test_answer_for_a_person_is_a_table(spark_session: SparkSession, lake_path: Path) -> None:
    out = io.StringIO()
    text = "SELECT topic, count(*) AS n FROM records GROUP BY topic ORDER BY n"
    query(spark_session, str(lake_path), text, as_json=False, out=out)
    assert "| orders       | 1 |\n| my.orders-EU | 2 |\n" in out.getvalue()


@pytest.mark.spark
def test_cells_that_were_cut_are_said_to_be(spark_session: SparkSession, lake_path: Path) -> None:
    printed = {}
    for width in (120, 121):
        out = io.StringIO()
        text = f"SELECT repeat('x', {width}) AS x"
        query(spark_session, str(lake_path), text, as_json=False, out=out)
        printed[width] = out.getvalue()
    assert "cut" not in printed[120]
    assert "cells are cut at 120 characters: --json shows them in full" in printed[121]


@pytest.mark.spark
@pytest.mark.parametrize(
    "text", ["SELECT 1 FRM records", "SELECT nothing FROM records", "SELECT no_such()"]
)
def test_query_that_spark_refuses_is_one_line(
    text: str, spark_session: SparkSession, lake_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(WrongQueryError, match="Spark refuses the query") as caught:
        ask(spark_session, lake_path, text)
    assert len(str(caught.value).splitlines()) == 1
    assert capfd.readouterr().err == ""


@pytest.mark.spark
@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("SELECT * FROM recrods", "did you mean records?"),
        ("SELECT * FROM `topic_ordrs`", "did you mean topic_orders?"),
        ("SELECT * FROM elsewhere", ""),
    ],
)
def test_misspelled_table_or_view_leads_to_the_one_that_is_meant(
    text: str, near: str, spark_session: SparkSession, lake_path: Path
) -> None:
    with pytest.raises(WrongQueryError) as caught:
        ask(spark_session, lake_path, text)
    name = text.rpartition(" ")[2].strip("`")
    assert str(caught.value).startswith(
        f"the lake has no table or view {name}{near and '; '}{near}"
    )
    assert ("did you mean" in str(caught.value)) == bool(near)
