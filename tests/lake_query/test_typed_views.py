"""`seglake sql` has a view for each typed table, whose name can mean no other table."""

from collections.abc import Callable
from pathlib import Path

import pytest

from seglake.lake.delta_tables import LakeTables
from seglake.pipelines.lake_query.answers import Answer
from seglake.pipelines.lake_query.duckdb_queries import DuckDBQueries
from seglake.pipelines.lake_query.errors import WrongQueryError
from seglake.pipelines.lake_query.lake_names import typed_tables_of
from seglake.pipelines.lake_query.named import known_names
from seglake.pipelines.lake_query.spark_queries import SparkQueries
from seglake.pipelines.lake_query.topic_views import OF_TYPED_TABLES
from seglake.storage.local_storage import LocalStorage
from support.lakes import retaken
from support.typed_disk import oracle_records, typed_lake
from support.typed_lakes import add_schemas, add_values, decoded, elected_lake, int_of, made

Rows = list[dict[str, object]]
Asked = Callable[[Path, str], Rows]


@pytest.fixture(params=["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def asked(request: pytest.FixtureRequest) -> Asked:
    """Asks a lake in DuckDB, or in Spark."""

    def answer(lake: Path, query: str) -> Rows:
        tables = LakeTables(str(lake), LocalStorage())
        if request.param == "spark":
            session = request.getfixturevalue("spark_session")
            return _rows(SparkQueries(session, str(lake), typed_tables_of(tables)).answer(query))
        with DuckDBQueries(tables, spill_folder="") as queries:
            return _rows(queries.answer(query))

    return answer


def _rows(answer: Answer) -> Rows:
    return [row for batch in answer.batches for row in batch.to_pylist()]


_VALUES = "SELECT _offset, value FROM {} ORDER BY _offset, value"


def test_a_view_has_the_rows_of_current_records_and_the_table_has_all(
    tmp_path: Path, asked: Asked
) -> None:
    lake, winner = elected_lake(tmp_path)

    def pairs(name: str) -> list[tuple[object, ...]]:
        return [tuple(row.values()) for row in asked(lake, _VALUES.format(name))]

    count = "SELECT count(*) AS n FROM {}"
    assert pairs("typed_t") == [(0, 1)]
    assert pairs("all_typed_t") == [(0, 1), (1, 2)]
    assert asked(lake, count.format("current_value_rejects")) == [{"n": 0}]
    retaken(lake, winner)
    decoded(lake, "t")
    assert pairs("typed_t") == [(0, 1), (1, 5), (2, 6)]
    assert pairs("all_typed_t") == [(0, 1), (1, 2), (1, 5), (2, 6)]
    assert asked(lake, count.format("value_rejects")) == [{"n": 1}]


def test_rows_of_before_a_later_column_have_nulls_in_it(tmp_path: Path, asked: Asked) -> None:
    lake = made(tmp_path, int_of(1))
    decoded(lake, "t")
    add_schemas(lake, tmp_path / "registry-2", '"string"')
    add_values(lake, tmp_path / "more", bytes(4) + b"\x02\x02x", start=1)
    decoded(lake, "t")
    query = "SELECT value, value__string FROM typed_t ORDER BY _offset"
    assert asked(lake, query) == [
        {"value": 1, "value__string": None},
        {"value": None, "value__string": "x"},
    ]


def test_show_lists_the_names_to_query_and_no_others(tmp_path: Path) -> None:
    lake = made(tmp_path, int_of(1))
    decoded(lake, "t")
    tables = LakeTables(str(lake), LocalStorage())
    with DuckDBQueries(tables, spill_folder="") as queries:
        shown = {row["name"] for row in _rows(queries.answer("SHOW TABLES"))}
    assert shown == {*known_names(), "all_typed_t", "typed_t", "topic__schemas", "topic_t"}


def test_a_lake_without_typed_tables_says_which_views_it_has(tmp_path: Path, asked: Asked) -> None:
    lake = made(tmp_path, int_of(1))
    with pytest.raises(WrongQueryError, match="no table or view typed_other"):
        asked(lake, "SELECT * FROM typed_other")
    assert asked(lake, "SELECT * FROM current_value_rejects") == []
    with pytest.raises(WrongQueryError, match="does not show the table erasures: its salted"):
        asked(lake, "SELECT * FROM erasures")


@pytest.mark.parametrize(
    ("tables", "names"),
    [
        (["orders", "a.b__com.acme.Order"], ["typed_a_b__com_acme_Order", "typed_orders"]),
        (["columns", "checkpoints"], ["typed_checkpoints_", "typed_columns_"]),
        (["a.b", "a-b"], ["typed_a_b_", "typed_a_b_"]),
    ],
    ids=["legal", "reserved", "alike"],
)
def test_a_name_is_legal_and_means_one_table(tables: list[str], names: list[str]) -> None:
    found = OF_TYPED_TABLES.views(tables)
    assert sorted(found.values()) == sorted(tables)
    assert all(each.isidentifier() for each in found)
    pairs = zip(found, names, strict=True)
    assert all(each.startswith(name) and len(each) - len(name) in (0, 8) for each, name in pairs)


def test_the_longest_names_fit_into_a_metastore_also_before_their_tables() -> None:
    longest = ["x" * 250, "X" * 250]
    assert max(len(f"newest_unwrapped_{name}") for name in OF_TYPED_TABLES.views(longest)) == 255


def test_envelopes_of_debezium_are_unwrapped(tmp_path: Path, asked: Asked) -> None:
    lake = typed_lake(tmp_path / "lake", "_schemas", "connect_json")
    decoded(lake)
    query = "SELECT _offset, _op, id, name, small FROM unwrapped_typed_connect_json"
    found = asked(lake, f"{query} ORDER BY _offset")
    expected = []
    for record in oracle_records("connect_json"):
        value = record["value"].get("ok")
        if value and "op" in value:
            row = value["before" if value["op"] == "d" else "after"]
            state = {name: row[name] for name in ("id", "name", "small")}
            expected.append({"_offset": record["offset"], "_op": value["op"], **state})
    assert {row["_op"] for row in expected} == {"c", "u", "d"}
    assert found == expected
