"""Views and answers, over a small lake written without any of our own writers."""

import io
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from seglake.lake.errors import NotALakeError
from seglake.lake.tables import TABLES
from seglake.pipelines.lake_query.errors import WrongQueryError
from seglake.pipelines.lake_query.run import query, require_lake
from seglake.pipelines.lake_query.views import VIEWS, topic_views
from seglake.storage.local_storage import LocalStorage

Row = Mapping[str, object]


def range_row(partition: int, start: int, end: int, generation: int, **other: object) -> Row:
    row = {
        "source_id": "c1",
        "topic_id": "id1",
        "topic": "orders",
        "partition": partition,
        "kind": "ingest",
        "start_offset": start,
        "next_offset": end,
        "generation": generation,
        "run_id": "hourly",
        "attempt_id": f"attempt{generation}",
    }
    return row | other


def gap_row(partition: int, start: int, end: int, attempt_id: str, **other: object) -> Row:
    row = {
        "source_id": "c1",
        "topic_id": "id1",
        "topic": "orders",
        "partition": partition,
        "start_offset": start,
        "next_offset": end,
        "cause": "quarantined",
        "run_id": "hourly",  # a label that runs may share
        "attempt_id": attempt_id,
    }
    return row | other


CHECKPOINTS: Sequence[Row] = [
    # 0: three ranges in no order, one gap of coverage at 30
    range_row(0, 10, 20, 2),
    range_row(0, 0, 10, 1, topic_id=None),  # before the id was known
    range_row(0, 20, 30, 3),
    range_row(0, 40, 50, 4),
    # 1: nothing reaches the log start
    range_row(1, 5, 9, 1),
    # 2: covered and empty
    range_row(2, 0, 0, 1),
    # 3: repaired at 4, then partly again
    range_row(3, 0, 100, 1),
    range_row(3, 10, 20, 5, kind="repair"),
    range_row(3, 30, 40, 6, kind="repair"),
    # another topic of the same name in another cluster
    range_row(0, 0, 7, 1, source_id="c2", topic_id="id2"),
    # a topic whose name is no SQL name
    range_row(0, 0, 2, 1, topic="my.orders-EU", topic_id=None),
]
GAPS: Sequence[Row] = [
    gap_row(3, 0, 5, "attempt1"),  # no repair
    gap_row(3, 10, 20, "attempt1"),  # repaired whole
    gap_row(
        3, 30, 40, "attempt1", topic_id=None
    ),  # repaired in part; written before the id was known
    gap_row(3, 35, 40, "attempt6"),  # what the repair of it left
    gap_row(0, 3, 4, "attempt1", source_id="c2", topic_id="id2"),
]
RECORDS: Sequence[Row] = [
    {"topic": "orders", "partition": 0, "offset": 0, "value": b"\x01\x02", "key": None},
    {"topic": "my.orders-EU", "partition": 0, "offset": 0, "value": b"", "key": b"k"},
    {"topic": "my.orders-EU", "partition": 0, "offset": 1, "value": None, "key": b"k"},
]


@pytest.fixture(scope="module")
def lake_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = tmp_path_factory.mktemp("lake")
    rows = {"checkpoints": CHECKPOINTS, "gaps": GAPS, "records": RECORDS}
    for table in TABLES:
        content = pa.Table.from_pylist(list(rows.get(table.name, [])), schema=table.schema)
        write_deltalake(lake / table.name, content, partition_by=list(table.partition_by) or None)
    return lake


def ask(session: SparkSession, lake: Path, text: str) -> list[dict[str, object]]:
    out = io.StringIO()
    query(session, require_lake(str(lake), LocalStorage()), text, as_json=True, out=out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


@pytest.mark.spark
def test_last_offset_is_the_end_of_what_is_covered_from_0(
    spark_session: SparkSession, lake_path: Path
) -> None:
    rows = ask(
        spark_session,
        lake_path,
        "SELECT source_id, topic, partition, next_offset, max_covered_offset FROM last_offsets"
        " ORDER BY source_id, topic DESC, partition",
    )
    assert [tuple(row.values()) for row in rows] == [
        ("c1", "orders", 0, 30, 49),
        ("c1", "orders", 1, None, 8),
        ("c1", "orders", 2, 0, None),
        ("c1", "orders", 3, 100, 99),
        ("c1", "my.orders-EU", 0, 2, 1),
        ("c2", "orders", 0, 7, 6),
    ]


@pytest.mark.spark
def test_range_from_before_the_id_was_known_joins_the_id(
    spark_session: SparkSession, lake_path: Path
) -> None:
    text = "SELECT topic_id FROM last_offsets WHERE topic = 'orders' AND source_id = 'c1'"
    assert {row["topic_id"] for row in ask(spark_session, lake_path, text)} == {"id1"}


@pytest.mark.spark
def test_gap_is_current_until_a_repair_holds_its_start(
    spark_session: SparkSession, lake_path: Path
) -> None:
    rows = ask(
        spark_session,
        lake_path,
        "SELECT source_id, topic_id, start_offset, next_offset, attempt_id FROM current_gaps"
        " ORDER BY source_id, start_offset",
    )
    assert [tuple(row.values()) for row in rows] == [
        ("c1", "id1", 0, 5, "attempt1"),
        ("c1", "id1", 35, 40, "attempt6"),
        ("c2", "id2", 3, 4, "attempt1"),
    ]


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
    names = {row["viewName"] for row in ask(spark_session, lake_path, "SHOW VIEWS")}
    tables = {table.name for table in TABLES}
    views = {*VIEWS, "topic_orders", "topic_my_orders_eu"}
    assert {str(name).lower() for name in names} == tables | views


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


def test_lake_without_a_table_is_missing(lake_path: Path, tmp_path: Path) -> None:
    assert require_lake(str(lake_path), LocalStorage()) == str(lake_path)
    lake = tmp_path / "lake"
    shutil.copytree(lake_path, lake)
    shutil.rmtree(lake / "batches")
    with pytest.raises(NotALakeError, match=f"{lake} is no lake: it has no table batches"):
        require_lake(str(lake), LocalStorage())


def test_names_that_differ_by_case_only_are_numbered() -> None:
    names = topic_views(["a.b", "A_B", "a-b", "a_b_2", "z"])
    assert {name: text.partition("topic = ")[2] for name, text in names.items()} == {
        "topic_A_B": "'A_B'",
        "topic_a_b_2": "'a-b'",
        "topic_a_b_3": "'a.b'",
        "topic_a_b_2_2": "'a_b_2'",
        "topic_z": "'z'",
    }


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
