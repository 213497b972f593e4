"""Bytes as text: the same in both engines, and null where they are not UTF-8, as Python has it."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from seglake.lake.delta_tables import LakeTables
from seglake.lake.tables import TABLES
from seglake.pipelines.lake_query.answers import Answer, OutputFormat
from seglake.pipelines.lake_query.duckdb_queries import DuckDBQueries
from seglake.pipelines.lake_query.errors import QueryFailedError, WrongQueryError
from seglake.pipelines.lake_query.spark_queries import SparkQueries
from seglake.pipelines.lake_query.views import view_names
from seglake.storage.local_storage import LocalStorage
from support.views import viewed

Answered = Callable[[str], Answer]

_VALUES = (
    b"plain",
    "né 日本".encode(),
    b"\x00\x01",
    b"",
    b"\\xFF",  # four characters, as DuckDB would write one byte
    "\ufffd".encode(),  # text, though it stands for broken bytes elsewhere
    None,
    b"\xff\xfe",
    b"cut \xc3",
    b"\xed\xa0\x80",  # a surrogate
    b"\xc0\x80",  # zero, longer than it may be
    b"\xf4\x90\x80\x80",  # above the last character
)
_CASTS = ("CAST({} AS STRING)", "TRY_CAST({} AS STRING)", "{}::string", "string({})")
_SPELLINGS = ("try_validate_utf8({})", "try_validate_utf8(CAST({} AS STRING))", *_CASTS)
_OF_DUCKDB = ("CAST({} AS VARCHAR)", "{}::text", "cast({} AS text)")


def _text(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bytes")
    records = [
        {
            "source_id": "c1",
            "topic": "orders",
            "partition": 0,
            "offset": offset,
            "key": value,
            "value": value,
            "headers": [{"key": "h", "value": value}],
        }
        for offset, value in enumerate(_VALUES)
    ]
    for table in TABLES:
        rows = pa.Table.from_pylist(records if table.name == "records" else [], table.schema)
        write_deltalake(path / table.name, rows, partition_by=list(table.partition_by) or None)
    return path


@pytest.fixture(params=["duckdb", "duckdb alone", pytest.param("spark", marks=pytest.mark.spark)])
def answered(request: pytest.FixtureRequest, lake: Path, tmp_path: Path) -> Answered:
    """Asks one engine, as `seglake sql` does."""
    if request.param == "spark":
        return SparkQueries(request.getfixturevalue("spark_session"), str(lake)).answer
    tables = LakeTables(str(lake), LocalStorage())
    speaks_spark = request.param == "duckdb"
    return DuckDBQueries(tables, spill_folder=str(tmp_path), speaks_spark=speaks_spark).answer


def _is_spark(answered: Answered) -> bool:
    return isinstance(getattr(answered, "__self__", None), SparkQueries)


def _column(answer: Answer) -> list[object]:
    return [value for batch in answer.batches for value in batch.column(0).to_pylist()]


def test_bytes_become_the_same_text_in_both_engines(answered: Answered) -> None:
    headers = "(SELECT offset, explode(headers) AS h FROM records)"
    for column, rows in (("r.key", "records r"), ("h.value", headers)):
        texts = [f"{each.format(column)} AS x{at}" for at, each in enumerate(_SPELLINGS)]
        answer = answered(f"SELECT {', '.join(texts)} FROM {rows} ORDER BY offset")
        columns = pa.Table.from_batches(answer.batches).columns
        for text, found in zip(texts, columns, strict=True):
            assert found.to_pylist() == [_text(value) for value in _VALUES], text


@pytest.mark.parametrize("spelling", ["try_validate_utf8({})", "CAST({} AS STRING)"])
def test_text_can_be_made_wherever_a_value_can_stand(answered: Answered, spelling: str) -> None:
    value, newest = (spelling.format(bytes_) for bytes_ in ("value", "max_by(value, r.offset)"))
    below = spelling.format("(SELECT max(value) FROM records WHERE offset < 2)")
    of_range = spelling.format("first_value(value) OVER (PARTITION BY topic ORDER BY r.offset)")
    below_two = "FROM records r WHERE offset < 2"
    for query, expected in {
        f"SELECT offset FROM records r WHERE {value} LIKE 'n%'": [1],
        f"SELECT offset FROM records r WHERE {value} = 'né 日本'": [1],
        f"SELECT count(*) FROM records r GROUP BY {value} HAVING {value} = ''": [1],
        f"SELECT {newest} {below_two}": ["né 日本"],
        f"SELECT {of_range} {below_two} ORDER BY {value}": ["plain", "plain"],
        f"SELECT {below}": ["plain"],
        f"WITH a AS (SELECT {value} AS x {below_two}) SELECT count(x) FROM a": [2],
    }.items():
        assert _column(answered(query)) == expected, query


@pytest.mark.parametrize("spelling", _OF_DUCKDB)
def test_casts_that_only_duckdb_has_decode_too(answered: Answered, spelling: str) -> None:
    if _is_spark(answered):
        spelling = "CAST({} AS VARCHAR(99))"  # Spark wants a length
    text = spelling.format("value")
    assert _column(answered(f"SELECT {text} AS x FROM records ORDER BY offset")) == [
        _text(value) for value in _VALUES
    ]


def test_casts_of_other_types_are_as_they_were(answered: Answered) -> None:
    row = "CAST(7 AS STRING), true::string, CAST(DATE '2026-01-02' AS STRING), CAST('né' AS STRING)"
    answer = answered(f"SELECT concat_ws('|', {row}, string(topic)) FROM records WHERE offset = 0")
    assert _column(answer) == ["7|true|2026-01-02|né|orders"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT CAST(max(offset) - max(offset) AS STRING) FROM records", "0"),
        (
            "SELECT topic FROM records GROUP BY topic HAVING CAST(max(offset) AS STRING) > '0'",
            "orders",
        ),
        ("SELECT topic FROM records GROUP BY topic ORDER BY CAST(topic AS STRING)", "orders"),
        ("SELECT CAST(sum(partition) OVER () AS STRING) FROM records WHERE offset = 0", "0"),
    ],
)
def test_what_is_added_up_is_cast_too(answered: Answered, query: str, expected: str) -> None:
    assert _column(answered(query)) == [expected]


@pytest.mark.spark
@pytest.mark.parametrize("form", OutputFormat)
def test_no_form_of_a_spark_answer_fails_or_alters_bytes(
    spark_session: SparkSession, lake: Path, form: OutputFormat
) -> None:
    out = io.StringIO()
    query = "SELECT CAST(value AS STRING) AS x FROM records WHERE offset >= 5"
    SparkQueries(spark_session, str(lake)).write(query, form, out)
    assert "\ufffd\ufffd" not in out.getvalue()
    assert out.getvalue().count("\ufffd") == 1  # of offset 5 itself
    assert len(out.getvalue().splitlines()) > len(_VALUES) - 6


def test_a_statement_with_a_cast_is_otherwise_the_same(lake_path: Path, tmp_path: Path) -> None:
    questions = Path("docs/questions.sql").read_text("utf-8").split(";\n")[:-1]
    assert len(questions) == 5
    tables = LakeTables(str(lake_path), LocalStorage())
    with DuckDBQueries(tables, spill_folder=str(tmp_path)) as queries:
        for query in (*questions, *(f"SELECT * FROM {name} ORDER BY ALL" for name in view_names())):
            cast = f"SELECT * FROM ({query}) WHERE CAST(1 AS STRING) = '1'"
            plain, rewritten = (
                pa.Table.from_batches(answer.batches, answer.schema)
                for answer in map(queries.answer, (query, cast))
            )
            assert rewritten.schema == plain.schema
            # Rows that are alike in the order asked for may change places.
            assert sorted(map(str, rewritten.to_pylist())) == sorted(map(str, plain.to_pylist()))


@pytest.mark.parametrize("text", ["decode(value, 'utf-8')", "value = 'né'", "reverse(value)"])
def test_a_query_that_bytes_break_names_the_function(lake: Path, tmp_path: Path, text: str) -> None:
    tables = LakeTables(str(lake), LocalStorage())
    queries = DuckDBQueries(tables, spill_folder=str(tmp_path))
    hint = r"; try_validate_utf8\(\.\.\.\) returns bytes as text, or null if they are not UTF-8$"
    with queries, pytest.raises((QueryFailedError, WrongQueryError), match=hint):
        _column(queries.answer(f"SELECT {text} FROM records"))


@pytest.mark.spark
def test_spark_names_the_function_and_the_first_cause(
    spark_session: SparkSession, lake: Path
) -> None:
    queries = SparkQueries(spark_session, str(lake))
    for form in OutputFormat:
        with pytest.raises(QueryFailedError, match=r"MALFORMED_CHAR.*; try_validate_utf8"):
            queries.write("SELECT decode(value, 'utf-8') FROM records", form, io.StringIO())


@pytest.mark.spark
def test_lists_of_texts_and_columns_of_one_name_are_printed_by_spark(
    spark_session: SparkSession, lake: Path
) -> None:
    out = io.StringIO()
    query = (
        "SELECT transform(headers, h -> CAST(h.value AS STRING)) AS a,"
        " transform(headers, h -> try_validate_utf8(h.value)) AS a FROM records ORDER BY offset"
    )
    SparkQueries(spark_session, str(lake)).write(query, OutputFormat.JSON, out)
    rows = [json.loads(line) for line in out.getvalue().splitlines()]
    assert rows == [{"a": [_text(value)], "a_1": [_text(value)]} for value in _VALUES]


def test_the_function_is_in_a_session_of_ones_own(lake: Path) -> None:
    rows = viewed(lake, 'SELECT try_validate_utf8(value) AS x FROM records ORDER BY "offset"')
    assert [row["x"] for row in rows] == [_text(value) for value in _VALUES]
    (row,) = viewed(lake, "SELECT try_validate_utf8(max(value)) AS x FROM records")
    assert row["x"] is None


@pytest.mark.spark
def test_spark_has_the_function_by_itself(spark_session: SparkSession, lake: Path) -> None:
    frame = spark_session.read.format("delta").load(f"{lake}/records").orderBy("offset")
    rows = frame.selectExpr("try_validate_utf8(value) AS x").collect()
    assert [row.x for row in rows] == [_text(value) for value in _VALUES]
