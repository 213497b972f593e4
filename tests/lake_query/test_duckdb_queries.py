"""DuckDB over a lake: right tables, nothing but reading, and what is left to Spark."""

import io
import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from seglake.lake.delta_tables import LakeTables
from seglake.lake.tables import TABLES, Table
from seglake.pipelines.lake_query.answers import OutputFormat, write
from seglake.pipelines.lake_query.duckdb_queries import DuckDBQueries
from seglake.pipelines.lake_query.errors import QueryFailedError, WrongQueryError
from seglake.pipelines.lake_query.statements import require_query
from seglake.storage.local_storage import LocalStorage
from support.lakes import read_arrow


def _asked(lake: Path, text: str, *, is_alone: bool = False) -> list[dict[str, object]]:
    out = io.StringIO()
    tables = LakeTables(str(lake), LocalStorage())
    with DuckDBQueries(tables, spill_folder=f"{lake}-spill", speaks_spark=not is_alone) as queries:
        write(queries.answer(text), OutputFormat.JSON, out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_table_has_the_columns_and_rows_that_delta_says(lake_path: Path, table: object) -> None:
    name = table.name  # type: ignore[attr-defined]  # pytest hides its type
    rows = read_arrow(lake_path, name)
    (count,) = _asked(lake_path, f"SELECT count(*) AS n FROM {name}")
    assert count["n"] == rows.num_rows
    described = _asked(lake_path, f"DESCRIBE {name}")
    assert [row["column_name"] for row in described] == rows.schema.names


def test_topic_is_a_text_whatever_its_folder_looks_like(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for table in TABLES:
        rows = [{"topic": topic, "offset": 7} for topic in ("2024", "1999")]
        content = pa.Table.from_pylist(rows if table.name == "records" else [], table.schema)
        write_deltalake(lake / table.name, content, partition_by=list(table.partition_by) or None)
    text = "SELECT topic, offset FROM records WHERE topic >= '0' ORDER BY topic"
    topics = ["1999", "2024"]
    assert _asked(lake, text) == [{"topic": topic, "offset": 7} for topic in topics]
    assert len(_asked(lake, "SELECT * FROM records WHERE topic = '2024'")) == 1


@pytest.mark.parametrize("name", ["a[b]*?", "topic=other", "it's {1} 日本"])
def test_lake_may_lie_in_a_folder_of_any_name(lake_path: Path, tmp_path: Path, name: str) -> None:
    lake = tmp_path / name / "lake"
    shutil.copytree(lake_path, lake)
    text = "SELECT topic, partition, next_offset FROM last_offsets ORDER BY ALL"
    assert _asked(lake, text) == _asked(lake_path, text) != []
    text = "SELECT * FROM records WHERE topic = 'my.orders-EU' ORDER BY offset"
    assert _asked(lake, text) == _asked(lake_path, text) != []


def test_each_statement_sees_the_newest_rows(lake_path: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    shutil.copytree(lake_path, lake)
    tables = LakeTables(str(lake), LocalStorage())
    counts = []
    with DuckDBQueries(tables, spill_folder="") as queries:
        for _ in range(2):
            answer = queries.answer("SELECT count(*) AS n FROM records")
            counts += [row["n"] for batch in answer.batches for row in batch.to_pylist()]
            write_deltalake(lake / "records", read_arrow(lake, "records"), mode="append")
    assert counts == [3, 6]


def test_rows_that_were_deleted_from_a_table_are_gone(lake_path: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    shutil.copytree(lake_path, lake)
    DeltaTable(lake / "records").delete("topic = 'my.orders-EU'")
    assert _asked(lake, "SELECT topic FROM records") == [{"topic": "orders"}]


def test_lake_from_before_a_table_has_no_rows_of_it(lake_path: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    shutil.copytree(lake_path, lake)
    shutil.rmtree(lake / "observations")
    assert _asked(lake, "SELECT * FROM observations") == []
    assert _asked(lake, "SELECT * FROM last_offsets WHERE partition = 3") != []


def test_null_comes_first_as_in_spark(lake_path: Path) -> None:
    for direction, first in (("ASC", None), ("DESC", "k")):
        (row, *_) = _asked(
            lake_path, f"SELECT try_validate_utf8(key) AS k FROM records ORDER BY key {direction}"
        )
        assert row["k"] == first


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("SELECT * FROM recrods", "; did you mean records?"),
        ("SELECT * FROM last_offset", "; did you mean last_offsets?"),
        ("SELECT * FROM topic_ordrs", "; did you mean topic_orders?"),
        ("SELECT * FROM orders", "; did you mean topic_orders or records?"),
        ("SELECT * FROM elsewhere", "."),
    ],
)
def test_misspelled_table_or_view_leads_to_the_one_that_is_meant(
    text: str, near: str, lake_path: Path
) -> None:
    with pytest.raises(WrongQueryError) as caught:
        _asked(lake_path, text)
    name = text.rpartition(" ")[2]
    expected = f"the lake has no table or view {name}{near} There are records, batches, "
    assert str(caught.value).startswith(expected)
    assert "typed_places, topic_<name> for each topic, " in str(caught.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT 1 FRM records", 'Parser Error: syntax error at or near "records"'),
        ("SELECT nothing FROM records", 'Binder Error: Referenced column "nothing" not found'),
        ("SELECT no_such(1)", "Function with name no_such does not exist"),
        ("SELECT * FROM read_csv('/etc/passwd')", "Permission Error: Cannot access file"),
        ("SELECT * FROM '/etc/passwd.csv'", "Permission Error: Cannot access file"),
        ("SELECT getenv('HOME')", "Function with name getenv does not exist"),
    ],
)
def test_query_that_duckdb_refuses_is_one_line(text: str, reason: str, lake_path: Path) -> None:
    with pytest.raises(WrongQueryError) as caught:
        _asked(lake_path, text)
    assert str(caught.value).startswith("DuckDB refuses the query: ")
    assert reason in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    "text",
    [
        "PIVOT batches ON magic USING count(*) GROUP BY topic",
        "PIVOT batches ON magic IN (2) USING count(*) GROUP BY topic",
        "pivot_wider batches ON magic USING count(*) GROUP BY topic",
        "UNPIVOT (SELECT topic, partition FROM batches) ON partition INTO NAME name VALUE value",
        "SUMMARIZE batches",
    ],
)
def test_statement_reads_as_it_does_inside_of_a_select(text: str, lake_path: Path) -> None:
    require_query(text)
    assert _asked(lake_path, text) == _asked(lake_path, f"SELECT * FROM ({text})")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("WITH a AS (SELECT 1) INSERT INTO records SELECT * FROM a", "INSERT"),
        ("COPY records TO 'somewhere'", "COPY"),
        ("SET TimeZone = 'CET'", "SET"),
        ("ATTACH 'somewhere'", "ATTACH"),
        ("CREATE TABLE other AS SELECT 1", "CREATE"),
    ],
)
def test_statement_that_does_not_read_is_refused(text: str, kind: str, lake_path: Path) -> None:
    with pytest.raises(WrongQueryError, match=f"only reads, and does not run {kind}: give a"):
        _asked(lake_path, text)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("SELECT * FROM records LATERAL VIEW explode(headers) h", "if it is Spark's SQL, use"),
        ("SELECT mask(topic) FROM records", "if it is Spark's SQL, use --engine spark"),
        ("SELECT CAST(1 AS timestamp_ltz)", "if it is Spark's SQL, use --engine spark"),
        ('SELECT 1 FROM records WHERE topic = "orders"', "put texts in single quotes: in double"),
        ("SELECT get_json_object('{}', '$.a[*]')", "in a path of get_json_object: use --engine"),
        ("SELECT date_format(timestamp, 'yyyy-QQ') FROM records", "QQ of a pattern of times: use"),
    ],
)
def test_what_duckdb_cannot_answer_says_what_to_do(text: str, advice: str, lake_path: Path) -> None:
    with pytest.raises((WrongQueryError, QueryFailedError)) as caught:
        _asked(lake_path, text)
    assert advice in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("SELECT headers[0] AS x FROM topic_orders", None),
        (r"SELECT 'a\d' AS x", r"a\d"),
        (r"SELECT 'it\' AS x", "it\\"),
        (r"SELECT 'a' LIKE 'a\\' AS x", False),
        ("SELECT hash(1) = hash(1) AS x", True),
    ],
)
def test_what_the_engines_answer_differently_needs_a_choice(
    text: str, alone: object, lake_path: Path
) -> None:
    with pytest.raises(WrongQueryError, match="choose one with --engine duckdb or --engine spark"):
        _asked(lake_path, text)
    assert _asked(lake_path, text, is_alone=True) == [{"x": alone}]


_OF_BOTH = {
    r"'a\tb'": ("a\tb", r"a\tb"),
    "regexp_extract('ab', '(b)')": ("b", "b"),
    "regexp_extract('ab', 'a(b)')": ("b", "ab"),
    "regexp_replace('aa', 'a', 'b')": ("bb", "ba"),
    "concat('a', NULL)": (None, "a"),
    "dayofweek(DATE '2026-11-26')": (5, 4),
    "5 ^ 2": (7, 25),
    "substring('abc', 0, 2)": ("ab", "a"),
}


@pytest.mark.parametrize("text", _OF_BOTH)
def test_functions_of_both_engines_are_spark_s(text: str, lake_path: Path) -> None:
    of_spark, of_duckdb = _OF_BOTH[text]
    assert _asked(lake_path, f"SELECT {text} AS x") == [{"x": of_spark}]
    assert _asked(lake_path, f"SELECT {text} AS x", is_alone=True) == [{"x": of_duckdb}]


def test_casts_of_bytes_are_spark_s_in_duckdb_alone_too(lake_path: Path) -> None:
    rows = _asked(lake_path, "SELECT CAST(value AS STRING) AS v FROM topic_orders", is_alone=True)
    assert rows == [{"v": "\x01\x02"}]


def test_results_without_a_name_are_titled_as_in_spark(lake_path: Path) -> None:
    (row,) = _asked(
        lake_path,
        "SELECT CAST(topic AS STRING), min(offset), count(*) FROM topic_orders GROUP BY 1",
    )
    assert [*row] == ["CAST(topic AS STRING)", "min(offset)", "count(1)"]


def test_times_without_a_zone_are_utc(lake_path: Path) -> None:
    (row,) = _asked(lake_path, "SELECT CAST('2026-01-02' AS TIMESTAMP) AS x")
    assert row == {"x": "2026-01-02T00:00:00.000000Z"}


def test_table_that_another_tool_changed_is_left_to_spark(lake_path: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    shutil.copytree(lake_path, lake)
    DeltaTable(lake / "gaps").alter.set_table_properties({"delta.enableDeletionVectors": "true"})
    with pytest.raises(WrongQueryError, match=r"enableDeletionVectors.*; --engine spark reads the"):
        _asked(lake, "SELECT * FROM gaps")
    assert len(_asked(lake, "SELECT * FROM records")) == 3


def test_answer_that_cannot_be_computed_fails(lake_path: Path) -> None:
    with pytest.raises(QueryFailedError, match="the query failed: Conversion Error: Could not"):
        _asked(lake_path, "SELECT CAST(topic AS INT) FROM records")


def test_a_table_is_looked_at_before_those_that_are_committed_before_it(
    lake_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    paths = LakeTables.file_paths

    def noted(self: LakeTables, table: Table) -> list[str]:
        asked.append(table.name)
        return paths(self, table)

    monkeypatch.setattr(LakeTables, "file_paths", noted)
    _asked(lake_path, "SELECT count(*) FROM current_records")
    assert asked == [table.name for table in reversed(TABLES) if table.name in asked]
    assert {"checkpoints", "records"} <= {*asked}


@pytest.mark.parametrize(
    "value",
    [
        "TIMESTAMP '9999-12-31 23:00:00' + INTERVAL 1 DAY",
        "TIMESTAMP_NS '2024-01-01 00:00:00.000000001'",
    ],
)
def test_a_value_that_python_cannot_hold_is_said(lake_path: Path, value: str) -> None:
    with pytest.raises(QueryFailedError, match="--parquet writes such values"):
        _asked(lake_path, f"SELECT {value} AS t")


def test_show_lists_all_names_behind_a_comment_too(lake_path: Path) -> None:
    names = _asked(lake_path, "SHOW TABLES")
    assert _asked(lake_path, "-- what is there?\nSHOW TABLES") == names != []
