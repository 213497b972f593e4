"""Values for the benchmark of typed tables: orders of 8 fields in Avro, JSON and Protobuf."""

import io
import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

import fastavro

DISTINCT = 200_000
AVRO_HEAD, PROTOBUF_HEAD = b"\0\0\0\0\x01", b"\0\0\0\0\x01\0"
_PLACE = {
    "type": "record",
    "name": "Place",
    "fields": [{"name": "lat", "type": "float"}, {"name": "lon", "type": "float"}],
}
_KINDS: Mapping[str, Any] = {
    "id": "long",
    "customer": "string",
    "amount": "double",
    "kind": {"type": "enum", "name": "Kind", "symbols": ["A", "B", "C"]},
    "note": ["null", "string"],
    "tags": {"type": "array", "items": "string"},
    "place": _PLACE,
    "at": {"type": "long", "logicalType": "timestamp-millis"},
}
AVRO: Mapping[str, Any] = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": name, "type": kind} for name, kind in _KINDS.items()],
}
JSON_TYPES = (
    "id BIGINT, customer STRING, amount DOUBLE, kind STRING, note STRING, tags ARRAY<STRING>, "
    "place STRUCT<lat: DOUBLE, lon: DOUBLE>, at BIGINT"
)
PROTOBUF = """
syntax = "proto3";
message Order {
  int64 id = 1; string customer = 2; double amount = 3; Kind kind = 4; optional string note = 5;
  repeated string tags = 6; Place place = 7; int64 at = 8;
  enum Kind { A = 0; B = 1; C = 2; }
  message Place { float lat = 1; float lon = 2; }
}
"""


def orders() -> list[dict[str, Any]]:
    """The distinct values."""
    chance = random.Random(1)
    return [
        {
            "id": chance.getrandbits(40),
            "customer": f"customer-{chance.randrange(10_000)}",
            "amount": chance.random(),
            "kind": chance.choice("ABC"),
            "note": chance.choice([None, f"note {number}"]),
            "tags": [f"t{tag}" for tag in range(chance.randrange(3))],
            "place": {"lat": chance.uniform(-90, 90), "lon": chance.uniform(-180, 180)},
            "at": 1_700_000_000_000 + number,
        }
        for number in range(DISTINCT)
    ]


def in_avro(values: Sequence[Mapping[str, Any]]) -> list[bytes]:
    """The values in Avro, behind Confluent's frame."""
    schema, found = fastavro.parse_schema(dict(AVRO)), []
    for value in values:
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, schema, value)
        found.append(AVRO_HEAD + stream.getvalue())
    return found


def in_json(values: Sequence[Mapping[str, Any]]) -> list[bytes]:
    """The values in JSON, without a frame."""
    return [json.dumps(value).encode() for value in values]


# Any: google.protobuf has no type hints.
def in_protobuf(values: Sequence[Mapping[str, Any]], message_class: Any) -> list[bytes]:
    """The values in Protobuf, behind Confluent's frame."""
    found = []
    for value in values:
        message = message_class(**{**value, "kind": "ABC".index(value["kind"])})
        found.append(PROTOBUF_HEAD + message.SerializeToString())
    return found
