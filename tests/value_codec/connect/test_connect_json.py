"""Kafka Connect's JSON: each message's schema types its payload, and nothing of it is lost."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from seglake.value_codec.bodies import Bodies, bodies_of_bytes
from seglake.value_codec.connect.connect_schemas import ConnectSchemaError, connect_schema
from seglake.value_codec.connect.envelopes import envelopes
from seglake.value_codec.json.value_reader import JsonReader
from seglake.value_codec.json_values import json_texts
from seglake.value_codec.reject_reasons import RejectReason
from support.lakes import read_table
from support.typed_disk import oracle_records, typed_lake

_STRUCT = {"type": "struct", "fields": []}


def read(*messages: bytes) -> list[Any]:
    """Each payload in the oracle's form, or the reason and position why it is rejected."""
    bodies = bodies_of_bytes(messages)
    found = envelopes(bodies)
    outcomes: list[Any] = []
    for row, number in enumerate(found.schemas.tolist()):
        if number < 0:
            reason = RejectReason.of_code(int(found.reasons[row]))
            outcomes.append((reason, int(found.positions[row])))
            continue
        reader = JsonReader(connect_schema(found.texts[number]).shape)
        payload = found.starts[row : row + 1], found.ends[row : row + 1]
        decoded = reader.read(Bodies(bodies.data, *payload))
        assert not decoded.reasons.any()
        outcomes.append(json.loads(json_texts(decoded.values)[0]))
    return outcomes


def message(schema: Any, payload: str) -> bytes:
    return b'{"schema":%s,"payload":%s}' % (json.dumps(schema).encode(), payload.encode())


def value(row: Any) -> Any:
    """The value that a row stands for: columns, or the whole text."""
    whole = row.pop("value__json")
    return row if whole is None else json.loads(whole)


def test_each_key_and_value_of_a_real_topic_is_what_the_oracle_says(tmp_path: Path) -> None:
    rows = {
        row["offset"]: row for row in read_table(typed_lake(tmp_path, "connect_json"), "records")
    }
    for record in oracle_records("connect_json"):
        for part in ("key", "value"):
            outcome, body = record[part], rows[record["offset"]][part]
            if "null" in outcome:
                assert body is None
                continue
            [found] = read(body)
            if "reject" in outcome:
                assert found[0] == outcome["reject"]
            else:
                found = value(found)
                assert outcome["ok"] in (found, found and found.get("value")), record


def field(name: str, kind: str, logical: str | None = None, **members: Any) -> Any:
    return {"field": name, "type": kind, "optional": True, "name": logical, **members}


@pytest.mark.parametrize(
    ("kind", "payload", "expected"),
    [
        ({"type": "int8"}, "-128", -128),
        ({"type": "int16"}, "32767", 32767),
        ({"type": "int64"}, "9223372036854775807", 9223372036854775807),
        ({"type": "double"}, "0.1", 0.1),
        ({"type": "float"}, "0.1", 0.10000000149011612),
        ({"type": "float"}, "0.10000000149011612", 0.10000000149011612),
        ({"type": "float"}, "1.17549435E-38", 1.1754943508222875e-38),
        ({"type": "boolean"}, "false", False),
        ({"type": "string"}, '"\\u0041"', "A"),
        ({"type": "bytes"}, '"AAE="', {"$bytes": "AAE="}),
        ({"type": "bytes"}, '""', {"$bytes": ""}),
        (
            {"type": "int64", "name": "io.debezium.time.NanoTimestamp"},
            "-5",
            {"$ts": -5, "unit": "ns"},
        ),
        ({"type": "int64", "name": "io.debezium.time.MicroTime"}, "7", {"$time": 7, "unit": "us"}),
        ({"type": "int64", "name": "io.debezium.time.NanoTime"}, "7", {"$time": 7, "unit": "ns"}),
        ({"type": "int32", "name": "io.debezium.time.Date"}, "-1", {"$date": -1}),
        (
            {"type": "string", "name": "io.debezium.time.ZonedTimestamp"},
            '"2026-01-01T00:00:00Z"',
            "2026-01-01T00:00:00Z",
        ),
        ({"type": "int64", "name": "io.debezium.time.MicroDuration"}, "8", 8),
        (
            {"type": "map", "keys": {"type": "string"}, "values": {"type": "int8"}},
            '{"a": 1, "a": 2, "\\n": null}',
            {"$map": [["a", 1], ["a", 2], ["\n", None]]},
        ),
        (
            {"type": "array", "items": {"type": "map", "keys": {"type": "string"},
             "values": {"type": "array", "items": {"type": "string"}}}},
            '[{}, null, {"k": ["x", null]}]',
            [{"$map": []}, None, {"$map": [["k", ["x", None]]]}],
        ),
    ],
)  # fmt: skip
def test_a_payload_has_the_type_of_its_schema(kind: Any, payload: str, expected: Any) -> None:
    assert read(message(kind, payload)) == [{"value": expected, "value__json": None}]


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ({"type": "int8"}, "128"),
        ({"type": "int32"}, "1.5"),
        ({"type": "int32"}, '"1"'),
        ({"type": "float"}, "1e39"),
        ({"type": "float"}, "1e-50"),
        ({"type": "float"}, "0.1234567891"),
        ({"type": "struct", "fields": [field("a", "int8"), field("\ud800", "int8")]},
         '{"a": 1, "\\ud800": 2}'),
        ({"type": "bytes"}, '"A"'),
        ({"type": "bytes"}, '"AB=="'),
        ({"type": "int32", "name": "org.apache.kafka.connect.data.Date"}, "2932897"),
        (
            {"type": "int64", "name": "org.apache.kafka.connect.data.Timestamp"},
            "253402300800000",
        ),
        ({"type": "array", "items": {"type": "int8"}}, "[1, 300]"),
        ({"type": "map", "keys": {"type": "string"}, "values": {"type": "int8"}}, '{"a": 300}'),
        ({"type": "map", "keys": {"type": "string"}, "values": {"type": "int8"}},
         '{"\\ud800": 3}'),
        ({"type": "map", "keys": {"type": "string"}, "values": {"type": "int8"}},
         '{"\\ud800": null}'),
        ({"type": "map", "keys": {"type": "int8"}, "values": {"type": "int8"}}, "[[1, 2]]"),
        ({"type": "int8"}, '{"a": 1}'),
        ({"type": "struct", "fields": [field("a", "int8")]}, '{"a": 1, "b": 2}'),
        ({"type": "struct", "fields": [field("a", "int8")]}, "[1]"),
    ],
)  # fmt: skip
def test_what_its_type_does_not_hold_stays_json_text(kind: Any, payload: str) -> None:
    [row] = read(message(kind, payload))
    assert row["value__json"] == payload


@pytest.mark.parametrize(
    ("parameters", "payload", "expected"),
    [
        ({"scale": "2"}, '"AQ=="', "0.01"),
        ({"scale": "2"}, '"/w=="', "-0.01"),
        ({"scale": "0"}, '"AA=="', "0"),
        ({"scale": "3"}, "1.25", "1.250"),
        ({"scale": "1"}, "-12e1", "-120.0"),
        ({"scale": "2"}, "1.255", None),
        ({"scale": "2"}, '""', None),
        ({"scale": "2", "connect.decimal.precision": "3"}, '"A+c="', "9.99"),
        ({"scale": "2", "connect.decimal.precision": "3"}, '"A+g="', None),
        ({"scale": "0"}, '"S0y0yoYfqmGdmf3////////////="', None),
        ({"scale": "-3"}, '"AQ=="', None),
        ({"scale": "39"}, '"AQ=="', None),
        ({"scale": "2"}, "1e999999999", None),
        ({"scale": "2"}, "0e9999999999999999999", None),
        ({"scale": "2"}, "1e-9999999999999999999", None),
    ],
)
def test_decimals_have_all_digits(parameters: Any, payload: str, expected: str | None) -> None:
    name = "org.apache.kafka.connect.data.Decimal"
    [row] = read(message({"type": "bytes", "name": name, "parameters": parameters}, payload))
    if expected is None:
        assert row["value__json"] == payload
    else:
        assert row == {"value": {"$decimal": expected}, "value__json": None}


@pytest.mark.parametrize(("byte", "fits"), [(1, False), (255, True)])
def test_a_decimal_of_a_million_bytes_fits_if_they_are_only_its_sign(byte: int, fits: bool) -> None:
    name = "org.apache.kafka.connect.data.Decimal"
    schema = {"type": "bytes", "name": name, "parameters": {"scale": "2"}}
    [row] = read(message(schema, f'"{b64encode(bytes([byte]) * 1_000_000).decode()}"'))
    assert row["value"] == ({"$decimal": "-0.01"} if fits else None)
    assert (row["value__json"] is None) == fits


def test_messages_of_several_schemas_and_bad_ones_keep_their_places() -> None:
    first, second = {"type": "int8"}, {"type": "string"}
    assert read(
        message(first, "1"),
        b'{"payload": 1}',
        message(second, '"x"'),
        b"[1]",
        b'{"schema": null, "payload": 1, "other": 2}',
        b'{"schema": null, "schema": null}',
        message(None, '[1, "x"]'),
        b'{"schema": {"type": "int8"}, "payload": 01}',
        message(first, "2"),
        b'{"payload": 3, "schema": {"type": "int8"}}',
    ) == [
        {"value": 1, "value__json": None},
        (RejectReason.NO_FRAME, 0),
        {"value": "x", "value__json": None},
        (RejectReason.NO_FRAME, 0),
        (RejectReason.NO_FRAME, 0),
        (RejectReason.NO_FRAME, 0),
        {"value__json": '[1, "x"]'},
        (RejectReason.BAD_JSON, 41),
        {"value": 2, "value__json": None},
        {"value": 3, "value__json": None},
    ]


@pytest.mark.parametrize(
    "schema",
    [
        1,
        {},
        {"type": "int9"},
        {"type": "struct"},
        {"type": "struct", "fields": [{"type": "int8"}]},
        {"type": "array"},
        {"type": "map", "keys": {"type": "string"}},
        {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal"},
        {
            "type": "bytes",
            "name": "org.apache.kafka.connect.data.Decimal",
            "parameters": {"scale": 1e400},
        },
    ],
)
def test_what_is_no_schema_of_connect_is_refused(schema: Any) -> None:
    with pytest.raises(ConnectSchemaError):
        connect_schema(json.dumps(schema).encode())
