"""`seglake sql` has views with the newest row of each decoded key, and of Debezium's tables."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from seglake.lake.delta_tables import LakeTables
from seglake.pipelines.lake_deserialize.deserialize_choice import Again
from seglake.pipelines.lake_query.duckdb_queries import DuckDBQueries
from seglake.pipelines.lake_query.lake_names import latest_tables_of, typed_tables_of
from seglake.pipelines.lake_query.spark_queries import SparkQueries
from seglake.storage.local_storage import LocalStorage
from support import debezium_avro as avro
from support.lakes import ingested
from support.latest_state import updated
from support.typed_disk import Json, Pair, manifest, schema_pair, typed_lake, write_registry
from support.typed_lakes import add_values, decoded, int_of
from support.typed_oracle import ingested_records
from support.typed_rows import table_rows, typed_names

Rows = list[dict[str, Any]]
Asked = Callable[[Path, str], Rows]


@pytest.fixture(params=["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def asked(request: pytest.FixtureRequest) -> Asked:
    """Asks a lake in DuckDB, or in Spark."""

    def answer(lake: Path, query: str) -> Rows:
        tables = LakeTables(str(lake), LocalStorage())
        if request.param == "spark":
            session = request.getfixturevalue("spark_session")
            own_tables = typed_tables_of(tables), latest_tables_of(tables)
            found = SparkQueries(session, str(lake), *own_tables).answer(query)
            return [row for batch in found.batches for row in batch.to_pylist()]
        with DuckDBQueries(tables, spill_folder="") as queries:
            return [row for batch in queries.answer(query).batches for row in batch.to_pylist()]

    return answer


# Spark is given the same text. That it runs shows a view of decoded keys and one of a captured
# table.
_SPARK_IS_MATRIX = pytest.mark.parametrize(
    "asked",
    ["duckdb", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.matrix])],
    indirect=True,
)


# --- decoded keys ---------------------------------------------------------------------------------


def test_a_key_of_two_schema_ids_has_two_rows_of_bytes_and_one_decoded_row(
    tmp_path: Path, asked: Asked
) -> None:
    lake = tmp_path / "lake"
    ids = [schema_pair("t-value", 1, 1), schema_pair("t-key", 1, 2), schema_pair("t-key", 2, 3)]
    ingested(write_registry(tmp_path / "registry", [(0, ids)]), lake)

    def key(schema_id: int, number: int) -> bytes:
        return b"\0" + schema_id.to_bytes(4, "big") + bytes([number * 2])

    keys = [key(2, 7), key(3, 7), key(2, 8), key(2, 9), key(3, 9), key(2, 8)]
    values = [int_of(1), int_of(2), int_of(3), int_of(4), None, b"bad"]
    add_values(lake, tmp_path / "values", *values, keys=keys)
    decoded(lake, "t")
    updated(lake, "t")
    query = "SELECT offset, is_deleted FROM all_latest_t ORDER BY offset"
    found = [(0, False), (1, False), (3, False), (4, True), (5, False)]
    assert [tuple(row.values()) for row in asked(lake, query)] == found
    # The newest value of 8 does not decode.
    query = "SELECT _key, _offset, value FROM newest_typed_t"
    assert asked(lake, query) == [{"_key": 7, "_offset": 1, "value": 2}]


@_SPARK_IS_MATRIX
def test_newest_rows_of_all_forms_are_those_of_the_oracle(tmp_path: Path, asked: Asked) -> None:
    lake = typed_lake(tmp_path / "lake", "*", "_schemas")
    decoded(lake)
    updated(lake, "*")
    topics = [topic for topic in manifest()["topics"] if typed_names(lake, topic)]
    assert len(topics) > 12
    expected, queries = dict[str, list[tuple[int, int]]](), list[str]()
    for topic in topics:
        newest: dict[str, Json] = {}
        for record in ingested_records(lake, topic):
            if "null" not in record["key"]:
                newest[_key(record)] = record
        places = {
            (record["partition"], record["offset"])
            for record in newest.values()
            if "null" not in record["value"]
        }
        for name in typed_names(lake, topic):
            view = f"newest_typed_{name.replace('.', '_')}"
            rows = table_rows(lake, f"typed/{name}")
            there = {(row["_partition"], row["_offset"]) for row in rows}
            expected[view] = sorted(places & there)
            queries.append(f"SELECT '{view}' AS name, _partition, _offset FROM {view}")
    found: dict[str, list[tuple[int, int]]] = {view: [] for view in expected}
    for row in asked(lake, " UNION ALL ".join(queries)):
        found[row["name"]].append((row["_partition"], row["_offset"]))
    assert {view: sorted(places) for view, places in found.items()} == expected
    assert sum(map(len, found.values())) > 500


def _key(record: Json) -> str:
    """Return the partition and the decoded key of a record; undecoded ones are all different."""
    part = record["key"]
    chosen = part.get("ok", part.get("raw", record["offset"]))
    return json.dumps([record["partition"], chosen], sort_keys=True)


# --- Debezium -------------------------------------------------------------------------------------


def test_a_captured_table_has_its_rows_as_the_oracle_says(tmp_path: Path, asked: Asked) -> None:
    lake = typed_lake(tmp_path / "lake", "_schemas", "connect_json")
    decoded(lake)
    updated(lake, "connect_json")
    newest = {_key(record): record for record in ingested_records(lake, "connect_json")}
    expected = []
    for record in newest.values():
        value = record["value"].get("ok")
        if value and value.get("op", "d") != "d":
            row = {name: value["after"][name] for name in ("id", "name", "small")}
            expected.append({"_op": value["op"], **row})
    query = "SELECT _op, id, name, small FROM newest_unwrapped_typed_connect_json ORDER BY id"
    found = asked(lake, query)
    assert len(found) > 10
    assert found == sorted(expected, key=lambda row: row["id"])


def envelope(op: str, number: int, name: str | None = None) -> Pair:
    """A change of Debezium, with Connect's schemas; a deletion without a tombstone."""
    columns = [{"field": "id", "type": "int32"}, {"field": "name", "type": "string"}]
    state = {"type": "struct", "optional": True, "fields": columns}
    fields = [{**state, "field": "before"}, {**state, "field": "after"}]
    schema = {"type": "struct", "fields": [*fields, {"field": "op", "type": "string"}]}
    row = {"id": number, "name": name}
    states = {"before": row if op == "d" else None, "after": row if op in "cru" else None}
    key = {"schema": {"type": "struct", "fields": columns[:1]}, "payload": {"id": number}}
    value = {"schema": schema, "payload": {"op": op, **states}}
    return None if op == "t" else json.dumps(key).encode(), json.dumps(value).encode()


@_SPARK_IS_MATRIX
def test_snapshots_deletions_tombstones_and_truncations_count(tmp_path: Path, asked: Asked) -> None:
    lake, query = tmp_path / "lake", "SELECT id, name, _op FROM newest_unwrapped_typed_rows"
    log = [envelope("r", 1, "a"), envelope("r", 2, "b"), envelope("c", 3, "c")]
    log += [envelope("u", 1, "d"), envelope("d", 2, "b"), envelope("d", 3, "c")]
    log += [(envelope("d", 3)[0], None), envelope("c", 4, "e"), envelope("c", 2, "f")]
    log += [envelope("d", 4, "e"), envelope("c", 5, "g")]
    more = [envelope("t", 0), envelope("r", 1, "new")]
    before = {1: ("d", "u"), 2: ("f", "c"), 5: ("g", "c")}
    for batches, expected in (([(0, log)], before), ([(0, log), (0, more)], {1: ("new", "r")})):
        ingested(write_registry(tmp_path / "disk", batches, topic="rows"), lake)
        decoded(lake, "rows")
        updated(lake, "rows")
        assert {row["id"]: (row["name"], row["_op"]) for row in asked(lake, query)} == expected


_OLD, _LONGER = (avro.KEY, avro.LONGER_VALUE), (avro.WIDE_KEY, avro.LONGER_VALUE)
_CHANGES = (
    (
        *(avro.Change("r", number, {"name": f"row {number}"}) for number in range(1, 6)),
        avro.Change("u", 1, {"name": None}),
        *(avro.Change("d", 2, {"name": "row 2"}), avro.Change("", 2)),
        avro.Change("d", 3, {"name": "row 3"}),
        *(avro.Change("c", 6, {"name": "six"}), avro.Change("c", 2, {"name": "again"})),
    ),
    (
        avro.Change("u", 4, {"name": "four", "mail": "4@x"}, _OLD),
        avro.Change("u", 5, {"name": "five", "mail": None}, _LONGER),
        avro.Change("d", 6, {"name": "six", "mail": None}, _LONGER),
        avro.Change("", 6, {}, _LONGER),
        avro.Change("c", 7, {"name": "seven", "mail": "7@x"}, _LONGER),
    ),
    (
        avro.Change("t", 0, {}, _LONGER),
        avro.Change("c", 1, {"name": "new", "mail": None}, _LONGER),
        avro.Change("u", 1, {"name": "newer", "mail": None}, _OLD),
    ),
)


def _captured(changes: Iterable[avro.Change]) -> dict[int, Json]:
    """The rows of the captured table after all changes."""
    rows: dict[int, Json] = {}
    for each in changes:
        rows.pop(each.number, None)
        if each.op == "t":
            rows.clear()
        elif each.op in ("c", "r", "u"):
            rows[each.number] = {**each.columns, "_op": each.op}
    return rows


@_SPARK_IS_MATRIX
def test_a_table_captured_in_avro_has_its_rows_also_after_its_schemas_have_changed(
    tmp_path: Path, asked: Asked
) -> None:
    lake, query = tmp_path / "lake", "SELECT * FROM newest_unwrapped_typed_rows"
    ids = ((avro.KEY, avro.VALUE), (avro.WIDE_KEY, avro.LONGER_VALUE), ())
    registry, log = list[tuple[int, list[Pair]]](), list[tuple[int, list[Pair]]]()
    done: list[avro.Change] = []
    for schema_ids, changes in zip(ids, _CHANGES, strict=True):
        registry += [(0, avro.registered(*schema_ids))] if schema_ids else []
        log.append((0, [each.pair(len(done) + at) for at, each in enumerate(changes)]))
        done += changes
        ingested(write_registry(tmp_path / "registry", registry), lake)
        ingested(write_registry(tmp_path / "disk", log, topic="rows"), lake)
        assert decoded(lake, "rows").exit_code == 0
        updated(lake, "rows")
        names = ("name", "_op") if len(log) == 1 else ("name", "mail", "_op")
        assert {row["id"]: {n: row[n] for n in names} for row in asked(lake, query)} == {
            number: {n: row.get(n) for n in names} for number, row in _captured(done).items()
        }
    decoded(lake, "rows", again=Again(everything=True))
    assert {row["id"] for row in asked(lake, query)} == {1}
