"""Where statements end, and which of them are queries; no engine is asked."""

import pytest

from seglake.pipelines.lake_query.errors import WrongQueryError
from seglake.pipelines.lake_query.statements import is_finished, require_query, split_statements


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("SELECT 1", ["SELECT 1"]),
        ("SELECT 1;\nSELECT 2;\n", ["SELECT 1", "SELECT 2"]),
        ("SELECT ';', 'it''s; so'; SELECT 2", ["SELECT ';', 'it''s; so'", "SELECT 2"]),
        ('SELECT ";" AS "a;b"; SELECT `c;d`', ['SELECT ";" AS "a;b"', "SELECT `c;d`"]),
        ("SELECT 1 -- one; two\n, 2; SELECT 3", ["SELECT 1 -- one; two\n, 2", "SELECT 3"]),
        ("SELECT /* a; b */ 1; -- the end;", ["SELECT /* a; b */ 1"]),
        ("SELECT 'not closed; SELECT 2", ["SELECT 'not closed; SELECT 2"]),
        (" ; ;-- nothing\n;/* at all */", []),
        ("", []),
    ],
)
def test_statements_end_at_semicolons_outside_of_texts_names_and_comments(
    text: str, statements: list[str]
) -> None:
    assert split_statements(text) == statements


@pytest.mark.parametrize(
    ("text", "is_whole"),
    [
        ("SELECT 1;", True),
        ("SELECT 1; -- done", True),
        ("", True),
        ("SELECT 1", False),
        ("SELECT 1; SELECT", False),
        ("SELECT 'a;", False),
        ("SELECT 1 -- ;", False),
    ],
)
def test_what_is_typed_is_finished_by_a_semicolon(text: str, *, is_whole: bool) -> None:
    assert is_finished(text) is is_whole


@pytest.mark.parametrize(
    "statement",
    [
        "select 1",
        "(SELECT 1) UNION (SELECT 2)",
        "-- why\nWITH a AS (SELECT 1) SELECT * FROM a",
        "VALUES (1)",
        "SHOW TABLES",
        "describe records",
        "EXPLAIN SELECT 1",
    ],
)
def test_statement_that_begins_as_a_query_passes(statement: str) -> None:
    require_query(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO records SELECT 1",
        "drop table records",
        "SET x = 1",
        "SELEC 1",
        "1",
        "ATTACH 'x'",
    ],
)
def test_other_statements_are_refused(statement: str) -> None:
    first = statement.split()[0].upper()
    with pytest.raises(WrongQueryError, match=f"only reads, and does not run {first}: give a"):
        require_query(statement)


@pytest.mark.parametrize(
    "prefix",
    ["EXPLAIN", "explain analyze", "EXPLAIN ANALYZE VERBOSE", "EXPLAIN (ANALYZE, FORMAT json)"],
)
def test_what_is_explained_must_be_a_query_too(prefix: str) -> None:
    require_query(f"{prefix} SELECT 1")
    require_query(f"{prefix} (SELECT 1)")
    with pytest.raises(WrongQueryError, match="does not run COPY: give a"):
        require_query(f"{prefix} COPY (SELECT 1) TO '/lake/records/x.parquet'")
