"""Debezium's envelopes are unwrapped by a query: the state after each change."""

import duckdb
import pyarrow as pa
import pytest

from seglake.value_codec.connect.debezium import unwrapped_sql

_STATE = pa.struct([("id", pa.int32()), ("_offset", pa.string())])
_OTHER = pa.struct([("id", pa.int32()), ('a"b', pa.string())])


def envelopes() -> pa.Table:
    return pa.table(
        {
            "_offset": [1, 2, 3, 4],
            "before": pa.array([None, (1, "x"), (1, "y"), None], _OTHER),
            "after": pa.array([(1, "x"), (1, "y"), None, None], _STATE),
            "op": ["c", "u", "d", None],
        }
    )


def test_rows_are_the_state_after_each_change_and_before_a_deletion() -> None:
    found = envelopes()
    query = unwrapped_sql("found", list(found.schema))
    assert query is not None
    rows = duckdb.sql(f"{query} ORDER BY _offset").fetchall()
    assert duckdb.sql(query).columns == ["_offset", "id", "_offset_", 'a"b', "_op"]
    assert rows == [(1, 1, "x", None, "c"), (2, 1, "y", None, "u"), (3, 1, None, "y", "d")]


@pytest.mark.parametrize("missing", ["before", "after", "op"])
def test_what_is_no_envelope_has_no_query(missing: str) -> None:
    table = envelopes()
    others = [column for column in table.schema if column.name != missing]
    assert unwrapped_sql("found", others) is None
    assert unwrapped_sql("found", [*others, pa.field(missing, pa.int8())]) is None or (
        missing == "op"
    )
