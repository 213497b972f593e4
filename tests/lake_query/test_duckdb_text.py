"""What is spelled anew for DuckDB, and what is left to Spark."""

import json

import duckdb
import pytest

from seglake.pipelines.lake_query.duckdb_text import (
    casts_as_in_spark,
    column_name,
    in_duckdb,
    looks_like_spark,
    other_meaning,
    reads_texts_as_spark,
)


@pytest.mark.parametrize(
    ("given", "spelled"),
    [
        ("SELECT offset FROM r", 'SELECT "offset" FROM r'),
        ("SELECT r.Offset + 1 FROM r", 'SELECT r."Offset" + 1 FROM r'),
        ("SELECT 1 LIMIT 2 OFFSET 3", "SELECT 1 LIMIT 2 OFFSET 3"),
        ("SELECT 1 LIMIT 2 OFFSET -- three\n 3", "SELECT 1 LIMIT 2 OFFSET  \n 3"),
        ("SELECT 'offset' -- offset", "SELECT 'offset'  "),
        ('SELECT `a b`, `c``"d`', 'SELECT "a b", "c`""d"'),
        ("show views", "SHOW TABLES"),
        ("SELECT 1", "SELECT 1"),
    ],
)
def test_names_are_quoted_as_duckdb_quotes_them(given: str, spelled: str) -> None:
    assert in_duckdb(given) == spelled


@pytest.mark.parametrize(
    ("statement", "calls"),
    [
        ("SELECT CAST(value AS STRING) FROM records", 1),
        ("SELECT r.Key::text FROM records AS r", 1),
        ("SELECT 1 WHERE TRY_CAST(raw AS VARCHAR) = 'a'", 1),
        ("SELECT CAST(min(v::text) AS VARCHAR(9)) FROM (SELECT value AS v FROM records)", 2),
        ("SELECT CAST(value AS BLOB), CAST(partition AS BIGINT), 'CAST(value AS STRING)'", 0),
        ("SHOW TABLES", 0),
    ],
)
def test_casts_to_text_become_calls(statement: str, calls: int) -> None:
    found = duckdb.execute("SELECT json_serialize_sql(?)", [statement]).fetchone()
    assert found is not None
    parsed = json.loads(found[0])
    assert json.dumps(casts_as_in_spark(parsed)).count('"function_name": "string"') == calls
    assert calls or casts_as_in_spark(parsed) == parsed


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("SELECT headers[0].key FROM records", "places in a list count from 0"),
        ("SELECT headers[i] FROM records", "places in a list count from 0"),
        ("SELECT m['key'] FROM t", None),
        ("SELECT Concat(topic, 'x') FROM records", "concat is not the same"),
        ("SELECT 1 WHERE 7 ^ 2 = 5", "^ is not the same"),
        ("SELECT * FROM (SELECT weekday(timestamp) FROM records)", "weekday is not the same"),
        ("SELECT value || 'x' FROM records", "it joins bytes to text"),
        ("SELECT concat_ws(' ', topic, key) FROM records", "it joins bytes to text"),
        ("SELECT topic || 'x', 'concat(1)', element_at(headers, 1) FROM records", None),
    ],
)
def test_what_duckdb_would_answer_otherwise_is_found(statement: str, reason: str | None) -> None:
    found = duckdb.execute("SELECT json_serialize_sql(?)", [statement]).fetchone()
    assert found is not None
    assert (other_meaning(json.loads(found[0])) or "").startswith(reason or "")
    assert (reason is None) == (other_meaning(json.loads(found[0])) is None)


def test_comments_are_taken_out_since_duckdb_lets_them_nest() -> None:
    assert in_duckdb("SELECT 1 /* /* */ + 5 -- */ + 2") == "SELECT 1   + 5  "


def test_backslash_counts_in_texts_only() -> None:
    assert reads_texts_as_spark(r"SELECT 'a\tb'")
    assert not reads_texts_as_spark(r"""SELECT 'a' AS "a\b" -- \ """)


@pytest.mark.parametrize("text", ["SELECT 5 div 2", "SELECT a <=> b", "SELECT 'a' RLIKE 'b'"])
def test_syntax_of_spark_is_told_from_slips(text: str) -> None:
    assert looks_like_spark(text)
    assert not looks_like_spark("SELECT 1 FRM records WHERE 'div' = 'rlike'")


def test_results_without_a_name_are_named_as_spark_names_them() -> None:
    names = ['min("offset")', "count_star()", 'a"b', "n"]
    assert [column_name(name) for name in names] == ["min(offset)", "count(1)", 'a"b', "n"]
