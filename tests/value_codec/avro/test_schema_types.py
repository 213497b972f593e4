"""The text of an Avro schema becomes types, or its fault is named."""

import json

import pytest

from seglake.value_codec.avro.schema_types import (
    AvroType,
    Kind,
    Logical,
    SchemaTextError,
    parsed_schema,
)


def parsed(schema: object, **imports: object) -> AvroType:
    texts = {name: json.dumps(text) for name, text in imports.items()}
    return parsed_schema(json.dumps(schema), texts)


def record(name: str, **fields: object) -> dict[str, object]:
    members = [{"name": field, "type": kind} for field, kind in fields.items()]
    return {"type": "record", "name": name, "fields": members}


def test_a_primitive_may_stand_bare_or_in_an_object() -> None:
    assert parsed_schema("string", {}).kind is Kind.STRING
    assert parsed("string").kind is Kind.STRING
    assert parsed({"type": {"type": "string"}}).kind is Kind.STRING


def test_names_are_found_in_the_namespace_around_them() -> None:
    inner = {"type": "enum", "name": "E", "symbols": ["A"]}
    found = parsed({**record("R", a=inner, b="E", c="n.E"), "namespace": "n"})
    assert found.name == "n.R"
    assert found.fields[0].type.name == "n.E"
    assert found.fields[0].type is found.fields[1].type is found.fields[2].type


def test_a_dot_in_a_name_begins_another_namespace() -> None:
    inner = record("m.S", a={"type": "fixed", "name": "F", "size": 2}, b="m.F")
    found = parsed({**record("R", s=inner), "namespace": "n"})
    assert found.fields[0].type.fields[0].type.name == "m.F"


def test_a_record_may_have_itself() -> None:
    found = parsed(record("R", next=["null", "R"]))
    assert found.fields[0].type.branches[1] is found
    assert not found.is_empty


def test_imports_are_known_by_their_names() -> None:
    found = parsed(record("R", a="x.M"), M=record("x.M", b="long"))
    assert found.fields[0].type.fields[0].type.kind is Kind.LONG


def test_one_schema_may_be_imported_by_two_names() -> None:
    found = parsed(record("R", a="x.M"), M=record("x.M", b="long"), N=record("x.M", b="long"))
    assert found.fields[0].type.name == "x.M"


@pytest.mark.parametrize(
    ("schema", "logical"),
    [
        ({"type": "int", "logicalType": "date"}, Logical.DATE),
        ({"type": "long", "logicalType": "date"}, None),
        ({"type": "long", "logicalType": "timestamp-micros"}, Logical.TIMESTAMP_MICROS),
        ({"type": "long", "logicalType": "of-tomorrow"}, None),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4}, Logical.DECIMAL),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 5}, None),
        ({"type": "bytes", "logicalType": "decimal", "precision": "4"}, None),
        ({"type": "string", "logicalType": "decimal", "precision": 4}, None),
        ({"type": "int", "logicalType": ["date"]}, None),
    ],
)
def test_a_logical_type_counts_if_its_base_can_have_it(
    schema: object, logical: Logical | None
) -> None:
    assert parsed(schema).logical is logical


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (17, "17 is no type"),
        ({}, "an object has no type"),
        ("Unknown", "Unknown is the name of no type"),
        ({"type": "record", "name": "R"}, "record R has no fields"),
        ({"type": "record", "fields": []}, "a type record has no name"),
        (record("R", a="Later"), "Later is the name of no type"),
        ({"type": "record", "name": "R", "fields": [{"type": "int"}]}, "a field without a name"),
        ({"type": "enum", "name": "E"}, "an enum has no symbols"),
        ({"type": "fixed", "name": "F", "size": -1}, "the size of a fixed is no number of bytes"),
        ({"type": "array"}, "a type array has no items"),
        ({"type": "map"}, "a type map has no values"),
        ([record("R", a="int"), record("R", a="int")], "R is defined twice"),
    ],
)
def test_what_is_no_schema_has_a_reason(schema: object, why: str) -> None:
    with pytest.raises(SchemaTextError, match=why):
        parsed(schema)


def test_a_field_twice_and_a_broken_text_are_no_schema() -> None:
    field = {"name": "a", "type": "int"}
    with pytest.raises(SchemaTextError, match="record R has a field twice"):
        parsed({"type": "record", "name": "R", "fields": [field, field]})
    for text in ("{", "", "[" * 100_000, "\ud800"):
        with pytest.raises(SchemaTextError, match="the schema is no JSON"):
            parsed_schema(text, {})


def test_deep_nesting_is_refused() -> None:
    schema: object = "int"
    for _ in range(201):
        schema = {"type": "array", "items": schema}
    with pytest.raises(SchemaTextError, match="the schema is nested too deeply"):
        parsed(schema)


def test_a_schema_of_too_many_types_is_refused() -> None:
    fields = {f"f{number}": "int" for number in range(19_999)}
    assert len(parsed(record("R", **fields)).fields) == 19_999
    with pytest.raises(SchemaTextError, match="too many types"):
        parsed(record("R", **fields, last="int"))
