"""Shapes of payloads, as the schemas in Kafka Connect's messages state them. Pure.

| type | column |
| --- | --- |
| int8 to int64, float, double, boolean, string | the same |
| bytes | binary |
| struct, array | struct, list |
| map whose keys are strings | map; with other keys JSON text |
| `org.apache.kafka.connect.data.Decimal` | decimal; JSON text if its scale is not 0 to 38 |
| `…data.Date`, `io.debezium.time.Date` | date |
| `…data.Timestamp`; Debezium's `Timestamp`, `MicroTimestamp`, `NanoTimestamp` | timestamp |
| `…data.Time`; Debezium's `Time`, `MicroTime`, `NanoTime` | time |
| others of `io.debezium.time` and of other names | as without the name |

Sources: ConnectSchema and JsonSchema of Kafka 4.3.0, io.debezium.time of Debezium 3.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from seglake.value_codec.json.shapes import Kind, Shape, is_text

_MOST_DIGITS = 38
_MOST_LEVELS = 100

_TYPES: Mapping[str, Shape] = {
    "int8": Shape(Kind.INTEGER, type=pa.int8()),
    "int16": Shape(Kind.INTEGER, type=pa.int16()),
    "int32": Shape(Kind.INTEGER, type=pa.int32()),
    "int64": Shape(Kind.INTEGER),
    "float": Shape(Kind.NUMBER, type=pa.float32()),
    "double": Shape(Kind.NUMBER),
    "boolean": Shape(Kind.BOOLEAN),
    "string": Shape(Kind.STRING),
    "bytes": Shape(Kind.BYTES),
}
_CONNECT, _DEBEZIUM = "org.apache.kafka.connect.data.", "io.debezium.time."
_DECIMAL = f"{_CONNECT}Decimal"
_DATE, _MS = Shape(Kind.INTEGER, type=pa.date32()), pa.timestamp("ms", "UTC")
_LOGICAL: Mapping[tuple[str, str], Shape] = {
    (f"{_CONNECT}Date", "int32"): _DATE,
    (f"{_CONNECT}Time", "int32"): Shape(Kind.INTEGER, type=pa.time32("ms")),
    (f"{_CONNECT}Timestamp", "int64"): Shape(Kind.INTEGER, type=_MS),
    (f"{_DEBEZIUM}Date", "int32"): _DATE,
    (f"{_DEBEZIUM}Time", "int32"): Shape(Kind.INTEGER, type=pa.time32("ms")),
    (f"{_DEBEZIUM}MicroTime", "int64"): Shape(Kind.INTEGER, type=pa.time64("us")),
    (f"{_DEBEZIUM}NanoTime", "int64"): Shape(Kind.INTEGER, type=pa.time64("ns")),
    (f"{_DEBEZIUM}Timestamp", "int64"): Shape(Kind.INTEGER, type=_MS),
    (f"{_DEBEZIUM}MicroTimestamp", "int64"): Shape(Kind.INTEGER, type=pa.timestamp("us", "UTC")),
    (f"{_DEBEZIUM}NanoTimestamp", "int64"): Shape(Kind.INTEGER, type=pa.timestamp("ns", "UTC")),
}

# Any: the types that JSON can hold.
_Json = Any


class ConnectSchemaError(ValueError):
    """Error for a text that is no schema of Kafka Connect."""


class ConnectSchema(NamedTuple):
    """A schema of Kafka Connect.

    Attributes:
        name: its name, else its type.
        shape: the shape of its payloads.
    """

    name: str
    shape: Shape


def connect_schema(text: bytes) -> ConnectSchema:
    """Parse a schema in a message; the schema `null` leaves the payload's shape open.

    Raises:
        ConnectSchemaError: the text is no schema of Kafka Connect.

    >>> connect_schema(b'{"type": "int32", "name": "N"}').name
    'N'
    """
    try:
        root = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConnectSchemaError from error
    if root is None:
        return ConnectSchema("without a schema", Shape(Kind.TEXT))
    shape = _shape(root, 0)
    name = root.get("name")
    return ConnectSchema(str(name) if is_text(name) else root["type"], shape)


def _shape(schema: _Json, level: int) -> Shape:
    """Return the shape of the payloads that a schema describes."""
    if not isinstance(schema, dict) or level > _MOST_LEVELS:
        raise ConnectSchemaError
    kind, name = schema.get("type"), schema.get("name")
    if not isinstance(kind, str):
        raise ConnectSchemaError
    match kind:
        case "struct":
            return Shape(Kind.OBJECT, _members(schema.get("fields"), level))
        case "array":
            return Shape(Kind.LIST, items=_shape(schema.get("items"), level + 1))
        case "map":
            keys = _shape(schema.get("keys"), level + 1)
            values = _shape(schema.get("values"), level + 1)
            is_object = keys == _TYPES["string"]
            return Shape(Kind.MAP, items=values) if is_object else Shape(Kind.TEXT)
    if kind not in _TYPES:
        raise ConnectSchemaError
    if name == _DECIMAL and kind == "bytes":
        return _decimal(schema.get("parameters"))
    return _LOGICAL.get((name, kind), _TYPES[kind]) if isinstance(name, str) else _TYPES[kind]


def _members(fields: _Json, level: int) -> Mapping[str, Shape]:
    """Return the shapes of a struct's fields, by name."""
    if not isinstance(fields, list):
        raise ConnectSchemaError
    members = {}
    for field in fields:
        shape = _shape(field, level + 1)
        if not isinstance(field.get("field"), str):
            raise ConnectSchemaError
        # A column's name must be UTF-8; the whole value's text has the field.
        if is_text(field["field"]):
            members[field["field"]] = shape
    return members


def _decimal(parameters: _Json) -> Shape:
    """Return the shape of Connect's decimals with these parameters."""
    try:
        scale = int(parameters["scale"])
        precision = int(parameters.get("connect.decimal.precision", _MOST_DIGITS))
    except (TypeError, KeyError, ValueError, OverflowError, AttributeError) as error:
        raise ConnectSchemaError from error
    if not 0 <= scale <= _MOST_DIGITS:
        return Shape(Kind.TEXT)
    digits = precision if max(scale, 1) <= precision <= _MOST_DIGITS else _MOST_DIGITS
    return Shape(Kind.DECIMAL, type=pa.decimal128(digits, scale))
