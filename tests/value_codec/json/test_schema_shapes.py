"""A JSON Schema gives the columns of its values, and what they do not hold stays JSON text."""

import json
from pathlib import Path
from typing import Any

import pytest

from seglake.lake.delta_tables import LakeTables
from seglake.log_tables.registry_rows import lake_registries
from seglake.storage.local_storage import LocalStorage
from seglake.value_codec.bodies import bodies_of_bytes
from seglake.value_codec.json.schema_shapes import JsonSchemaError, json_schema
from seglake.value_codec.json.value_reader import JsonReader
from seglake.value_codec.reject_reasons import RejectReason
from seglake.value_codec.schema_readers import SchemaReaders
from support.json_values import oracle_value, rebuilt, same
from support.lakes import read_table
from support.typed_disk import oracle_records, typed_lake

_NODE = {"properties": {"v": {"type": "integer"}, "next": {"$ref": "#"}}}


def columns(schema: Any, **references: Any) -> str:
    """The columns of a schema's values, without the one of whole values."""
    others = {name: json.dumps(other) for name, other in references.items()}
    found: Any = JsonReader(json_schema(json.dumps(schema), others).shape).type
    return ", ".join(f"{field.name} {field.type}" for field in list(found)[:-1])


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "integer"}, "value int64"),
        ({"type": ["null", "string"]}, "value string"),
        ({"type": ["integer", "number"]}, "value double"),
        ({"type": ["string", "integer"]}, ""),
        ({"type": "null"}, ""),
        (True, ""),
        ({}, ""),
        ({"type": "object"}, ""),
        ({"type": "array", "items": {"type": "boolean"}}, "value list<item: bool>"),
        ({"type": "array"}, ""),
        ({"type": "array", "items": [{"type": "string"}]}, ""),
        ({"properties": {"a": {"type": "number"}, "b": {}}}, "a double, b__json string"),
        ({"title": "\ud800", "properties": {"\udfff": {}, "b": {"const": 1}}}, "b int64"),
        ({"properties": {"a": {"enum": ["x", None]}, "b": {"const": 1}}}, "a string, b int64"),
        ({"properties": {"a": {"enum": ["x", 1]}}}, "a__json string"),
        ({"properties": {"a": {"oneOf": [{"type": "null"}, {"type": "string"}]}}}, "a string"),
        (
            {"properties": {"a": {"anyOf": [{"type": "integer"}, {"type": "string"}]}}},
            "a__json string",
        ),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
            },
            "a string",
        ),
        (
            {
                "allOf": [
                    {"properties": {"a": {"type": "string"}}},
                    {"$ref": "#/$defs/b~1c"},
                ],
                "$defs": {"b/c": {"properties": {"d": {"$ref": "#D"}}}, "e": {"$id": "#D"}},
            },
            "a string, d__json string",
        ),
        (
            {
                "properties": {"d": {"$ref": "#D"}},
                "definitions": {"e": {"$anchor": "D", "type": "boolean"}},
            },
            "d bool",
        ),
        ({"properties": {"a": {"$ref": "nowhere.json"}}}, "a__json string"),
        ({"properties": {"a": {"$ref": "#/nowhere/1"}}}, "a__json string"),
        ({"$ref": "#"}, ""),
        (
            _NODE,
            "v int64, next struct<v: int64, next: struct<v: int64, next: "
            "struct<v: int64, next__json: string>>>",
        ),
    ],
)
def test_columns_are_those_of_the_schema(schema: Any, expected: str) -> None:
    assert columns(schema) == expected


def test_references_lead_to_other_schemas() -> None:
    other = {"$defs": {"n": {"type": "integer"}}, "$id": "http://x/o.json", "type": "string"}
    schema = {
        "properties": {
            "a": {"$ref": "other.json"},
            "b": {"$ref": "other.json#/$defs/n"},
            "c": {"$ref": "http://x/o.json#/$defs/n"},
        }
    }
    assert columns(schema, **{"other.json": other}) == "a string, b int64, c int64"


def test_schemas_that_lead_into_each_other_end() -> None:
    names = [f"n{number}" for number in range(60)]
    every = {name: {"$ref": f"#/$defs/{name}"} for name in names}
    schema = {"$defs": {name: {"properties": every} for name in names}, "$ref": "#/$defs/n0"}
    found = JsonReader(json_schema(json.dumps(schema), {}).shape)
    text = b'{"n7": {"n3": {"n1": {"n0": {"n1": {"n2": {"n0": {"n5": 1}}}}}}}}'
    [row] = found.read(bodies_of_bytes([text])).values.to_pylist()
    assert "n5" in json.dumps(row)


@pytest.mark.parametrize("text", ["", "{", "3", "[]", '"string"', "null"])
def test_what_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(JsonSchemaError):
        json_schema(text, {})


def test_each_value_of_a_real_topic_is_what_the_oracle_says(tmp_path: Path) -> None:
    lake = typed_lake(tmp_path / "lake", "_schemas", "json_schema_users")
    [found] = lake_registries(LakeTables(str(lake), LocalStorage()), "_schemas")
    readers = SchemaReaders(found.registry)
    rows = {row["offset"]: row["value"] for row in read_table(lake, "records")
            if row["topic"] == "json_schema_users"}  # fmt: skip
    for record in oracle_records("json_schema_users"):
        outcome, value = record["value"], rows[record["offset"]]
        if "schema_id" not in outcome:
            continue
        reader = readers.of_id(".", outcome["schema_id"]).reader
        assert isinstance(reader, JsonReader)
        bodies = bodies_of_bytes([value[5:]])
        decoded = reader.read(bodies)
        if "ok" in outcome:
            assert same(rebuilt(decoded.values[0].as_py()), oracle_value(outcome["ok"]))
            assert not decoded.reasons.any()
        else:
            assert decoded.values[0].as_py() is None
            assert RejectReason.of_code(int(decoded.reasons[0])) == outcome["reject"]
