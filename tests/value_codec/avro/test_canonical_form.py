"""Fingerprints are those of fastavro, which shares no code with them."""

import json
from typing import Any

import fastavro.schema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seglake.value_codec.avro.canonical_form import canonical_form, fingerprint
from seglake.value_codec.avro.schema_types import parsed_schema
from support.typed_disk import oracle_schemas

_BROKEN = (5002, 5003)  # ids of a text that is no schema, and of one with a lost reference
_AVRO = [
    s["schema"]
    for s in oracle_schemas()
    if "schemaType" not in s and "references" not in s and s["id"] not in _BROKEN
]


# Any: the types that JSON can hold.
def oracle(schema: Any) -> int:
    canonical = fastavro.schema.to_parsing_canonical_form(schema)
    digest = fastavro.schema.fingerprint(canonical, "CRC-64-AVRO")
    return int.from_bytes(bytes.fromhex(digest), "little")


@pytest.mark.parametrize("text", _AVRO)
def test_the_fingerprint_of_a_real_schema_is_fastavro_s(text: str) -> None:
    assert fingerprint(parsed_schema(text, {})) == oracle(fastavro.parse_schema(json.loads(text)))


def test_a_named_type_may_leave_its_namespace() -> None:
    inner = '{"type":"fixed","name":"B","namespace":"","size":1}'
    text = f'{{"type":"record","name":"x.A","fields":[{{"name":"b","type":{inner}}}]}}'
    assert '{"name":"B","type":"fixed","size":1}' in canonical_form(parsed_schema(text, {}))


_NAMES = st.sampled_from(["A", "B", "x.A", "x.y.C", "Ü"])
_SPACES = st.sampled_from([None, "x", "z.w"])  # fastavro ignores an empty namespace


@st.composite
def _schemas(draw: st.DrawFn) -> object:
    """A schema whose named types all have other names."""
    numbers = iter(range(1000))

    def schema(depth: int) -> object:
        kind = draw(st.sampled_from(["plain", "object", "enum", "fixed", "record", "array", "map"]))
        if kind == "plain" or depth == 0:
            return draw(st.sampled_from(["int", "null", "string"]))
        if kind == "object":
            return {"type": "long", "logicalType": "timestamp-millis", "doc": "d"}
        if kind == "array":
            return {"items": schema(depth - 1), "type": "array", "default": []}
        if kind == "map":
            return {"values": [schema(depth - 1), "boolean"], "type": "map"}
        named: dict[str, object] = {"doc": "d", "aliases": ["q"], "type": kind}
        named["name"] = f"{draw(_NAMES)}{next(numbers)}"
        space = draw(_SPACES)
        named |= {} if space is None else {"namespace": space}
        if kind == "enum":
            return named | {"symbols": ["S", "T"], "default": "S"}
        if kind == "fixed":
            return named | {"size": 4}
        fields = [{"name": f"f{n}", "type": schema(depth - 1), "order": "ignore"} for n in range(2)]
        fields.append({"name": "again", "type": ["null", named["name"]], "default": None})
        return named | {"fields": fields}

    return schema(3)


# Any: JSON of every shape.
@given(_schemas())
@settings(max_examples=300, deadline=None)
def test_the_fingerprint_of_any_schema_is_fastavro_s(schema: Any) -> None:
    try:
        parsed = fastavro.parse_schema(schema)
    except fastavro.schema.SchemaParseException:
        return
    assert fingerprint(parsed_schema(json.dumps(schema), {})) == oracle(parsed)


def test_a_type_of_another_schema_stands_where_it_is_first_used() -> None:
    money = '{"type":"record","namespace":"m","name":"Money","fields":[{"name":"n","type":"int"}]}'
    order = (
        '{"type":"record","name":"m.Order","fields":[{"name":"a","type":"Money"},'
        '{"name":"b","type":{"type":"array","items":"m.Money"}}]}'
    )
    assert canonical_form(parsed_schema(order, {"m.Money": money})) == (
        '{"name":"m.Order","type":"record","fields":[{"name":"a","type":{"name":"m.Money",'
        '"type":"record","fields":[{"name":"n","type":"int"}]}},'
        '{"name":"b","type":{"type":"array","items":"m.Money"}}]}'
    )
