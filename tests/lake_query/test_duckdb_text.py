"""What is spelled anew for DuckDB."""

import pytest

from seglake.pipelines.lake_query.duckdb_text import column_name, in_duckdb, unescaped
from seglake.pipelines.lake_query.errors import WrongQueryError


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
        ("SELECT a rlike 'x' OR b Not  RLike 'y'", "SELECT a <~> 'x' OR b <!~> 'y'"),
        ("SELECT rlike(a, 'x'), 7 DIV 2", "SELECT rlike(a, 'x'), 7 // 2"),
        ("SELECT a <=> b, 'div'", "SELECT a IS NOT DISTINCT FROM b, 'div'"),
    ],
)
def test_names_and_operators_are_spelled_as_duckdb_spells_them(given: str, spelled: str) -> None:
    assert in_duckdb(given) == spelled


def test_comments_are_taken_out_since_duckdb_lets_them_nest() -> None:
    assert in_duckdb("SELECT 1 /* /* */ + 5 -- */ + 2") == "SELECT 1   + 5  "


def test_backslashes_of_texts_are_those_of_spark() -> None:
    assert unescaped(r"""SELECT 'a\tb\\d' AS "a\b" -- \ """) == (
        """SELECT 'a\tb\\d' AS "a\\b" -- \\ """
    )


@pytest.mark.parametrize("text", [r"'\d'", r"'\'", r"'\%'", r"a LIKE '50\\%'"])
def test_backslash_that_the_engines_take_for_two_things_is_refused(text: str) -> None:
    with pytest.raises(WrongQueryError, match=r"the backslash in '.*' is not the same in DuckDB"):
        unescaped(f"SELECT {text}")


def test_results_without_a_name_are_named_as_spark_names_them() -> None:
    names = ['min("offset")', "count_star()", 'a"b', "n", 'string("topic")', "string(string(a))"]
    assert [column_name(name) for name in names] == [
        *("min(offset)", "count(1)", 'a"b', "n", "CAST(topic AS STRING)"),
        "string(CAST(a AS STRING))",
    ]
