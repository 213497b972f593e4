"""Answers to queries: for a person, for a machine, and where there is none."""

import io
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from seglake.lake.errors import NotALakeError
from seglake.pipelines.lake_query.errors import WrongQueryError
from seglake.pipelines.lake_query.run import query, require_lake
from seglake.storage.local_storage import LocalStorage
from support.written_lake import ask


@pytest.mark.spark
def test_answer_for_a_person_is_a_table(spark_session: SparkSession, lake_path: Path) -> None:
    out = io.StringIO()
    text = "SELECT topic, count(*) AS n FROM records GROUP BY topic ORDER BY n"
    query(spark_session, str(lake_path), text, as_json=False, out=out)
    assert "|      orders|  1|" in out.getvalue()
    assert "|my.orders-EU|  2|" in out.getvalue()


@pytest.mark.spark
def test_cells_that_were_cut_are_said_to_be(spark_session: SparkSession, lake_path: Path) -> None:
    printed = {}
    for width in (120, 121):
        out = io.StringIO()
        text = f"SELECT repeat('x', {width}) AS x"
        query(spark_session, str(lake_path), text, as_json=False, out=out)
        printed[width] = out.getvalue()
    assert "cut" not in printed[120]
    assert "cells are cut at 120 characters: --json has them whole" in printed[121]


@pytest.mark.spark
@pytest.mark.parametrize(
    "text", ["SELEC 1", "SELECT nothing FROM records", "SELECT 1 FROM nowhere"]
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
        ("SELECT * FROM recrods", "catalog; did you mean records?"),
        ("SELECT * FROM last_offset", "; did you mean last_offsets?"),
        ("SELECT * FROM topic_ordrs", "; did you mean topic_orders?"),
        ("SELECT * FROM orders", "; did you mean topic_orders or records?"),
        ("SELECT * FROM elsewhere", ""),
    ],
)
def test_misspelled_table_or_view_leads_to_the_one_that_is_meant(
    text: str, near: str, spark_session: SparkSession, lake_path: Path
) -> None:
    with pytest.raises(WrongQueryError) as caught:
        ask(spark_session, lake_path, text)
    assert ("; did you mean" in str(caught.value)) == bool(near)
    assert str(caught.value).endswith(near)


def test_lake_without_a_table_is_missing(lake_path: Path, tmp_path: Path) -> None:
    assert require_lake(str(lake_path), LocalStorage()) == str(lake_path)
    lake = tmp_path / "lake"
    shutil.copytree(lake_path, lake)
    shutil.rmtree(lake / "batches")
    with pytest.raises(NotALakeError, match=f"{lake} is no lake: it has no table batches"):
        require_lake(str(lake), LocalStorage())
