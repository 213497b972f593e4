"""What a parsed statement of Spark's becomes for DuckDB."""

import json

import duckdb
import pytest

from seglake.pipelines.lake_query.duckdb_tree import as_in_spark
from seglake.pipelines.lake_query.errors import WrongQueryError


def _spelled(statement: str, *, replaces: bool = True) -> str:
    """The statement as DuckDB writes the tree that it is to run."""
    found = duckdb.execute("SELECT json_serialize_sql(?)", [statement]).fetchone()
    assert found is not None
    tree = json.dumps(as_in_spark(json.loads(found[0]), replaces=replaces))
    made = duckdb.execute("SELECT json_deserialize_sql(?)", [tree]).fetchone()
    assert made is not None
    return str(made[0])


@pytest.mark.parametrize("replaces", [True, False])
@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("CAST(value AS STRING)", 'string("value")'),
        ("r.Key::text", 'string(r."Key")'),
        ("CAST(min(v::text) AS VARCHAR(9))", "string(min(string(v)))"),
        ("CAST(a AS BLOB)", "CAST(a AS BLOB)"),
        ("a <~> 'b'", "rlike(a, 'b')"),
        ("a <!~> 'b'", "not_rlike(a, 'b')"),
        ("date_format(t, 'yyyy-MM-dd''T''HH:mm %')", "date_format(t, '%Y-%m-%dT%H:%M %%')"),
        ("date_format(t, p)", "date_format(t, p)"),
        ("m['key']", "m['key']"),
    ],
)
def test_what_duckdb_lacks_is_always_spelled_anew(text: str, becomes: str, replaces: bool) -> None:
    assert _spelled(f"SELECT {text}", replaces=replaces) == f"SELECT {becomes}"


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("value || 'x'", "(string(\"value\") || 'x')"),
        ("key || value", '("key" || "value")'),
        ("concat(topic, 1, key)", '((topic || 1) || string("key"))'),
        ("concat_ws(' ', key, value)", 'concat_ws(\' \', string("key"), string("value"))'),
        ("r.raw LIKE 'a%'", "(string(r.raw) ~~ 'a%')"),
        ("upper(value)", 'upper(string("value"))'),
        ("7 ^ 2", "xor(7, 2)"),
    ],
)
def test_what_both_engines_have_means_what_spark_means(text: str, becomes: str) -> None:
    assert _spelled(f"SELECT {text}") == f"SELECT {becomes}"
    assert becomes not in _spelled(f"SELECT {text}", replaces=False) or text == "key || value"


@pytest.mark.parametrize("text", ["headers[0].key", "headers[i]", "hash(topic)"])
def test_what_duckdb_cannot_be_made_to_mean_needs_a_choice(text: str) -> None:
    with pytest.raises(WrongQueryError, match="is not the same in DuckDB and in Spark: choose one"):
        _spelled(f"SELECT * FROM (SELECT {text} FROM records)")
    assert _spelled(f"SELECT {text}", replaces=False).startswith("SELECT ")


@pytest.mark.parametrize("pattern", ["QQ", "yyyyy", "VV", "SS"])
def test_pattern_of_times_that_duckdb_lacks_is_refused(pattern: str) -> None:
    with pytest.raises(WrongQueryError, match=f"cannot write {pattern} of a pattern of times"):
        _spelled(f"SELECT date_format(t, '{pattern}')")
