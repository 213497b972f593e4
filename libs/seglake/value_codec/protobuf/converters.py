"""Arrow arrays of the values of one Protobuf type: numbers, texts, enums, well-known types.

| Protobuf | Arrow |
| --- | --- |
| bool, float, double, string, bytes | bool, float, double, string, binary |
| int32 kinds, int64 kinds | int32, int64 |
| uint32, fixed32 | int64 |
| uint64, fixed64 | decimal(20, 0) |
| enum | string; a number without a name as text |
| Timestamp | timestamp in microseconds, UTC; nanoseconds are cut off |
| Duration | decimal(28, 0), nanoseconds: the longest legal ones do not fit an int64 |
| wrappers, as Int64Value | the value, or null |
| Struct, Value, ListValue | string, JSON |
| Any | struct of type_url and value |
| FieldMask | string, paths joined by commas |
"""

import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa

from seglake.value_codec.reject_reasons import RejectReason

# Any: neither the library nor the values of fields have types.
Values = Sequence[Any]
_FIRST_SECOND, _END_SECOND = -62_135_596_800, 253_402_300_800  # 0001-01-01 and 10000-01-01
_NANOS = 1_000_000_000
_NANOSECONDS = pa.decimal128(28, 0)  # type for the nanoseconds in any int64 number of seconds


class Converter(NamedTuple):
    """Way to make an Arrow array of values.

    Attributes:
        type: type of the array.
        convert: returns the array of values, none of them null.
        check: returns why a column cannot hold a value; None if it can, or if there is no check.
    """

    type: Any
    convert: Callable[[Values], Any]
    check: Callable[[Any], RejectReason | None] | None = None


def _plain(arrow: Any) -> Converter:
    return Converter(arrow, lambda values: pa.array(values, arrow))


def _decimals(values: Values) -> Any:
    found: Any = pa.array(values, pa.uint64())
    return found.cast(pa.decimal128(20, 0))


def of_scalar(field: Any) -> Converter:
    """Return the converter of a field that is neither a message nor a group."""
    match field.type:
        case field.TYPE_BOOL:
            return _plain(pa.bool_())
        case field.TYPE_FLOAT:
            return _plain(pa.float32())
        case field.TYPE_DOUBLE:
            return _plain(pa.float64())
        case field.TYPE_STRING:
            return _plain(pa.string())
        case field.TYPE_BYTES:
            return _plain(pa.binary())
        case field.TYPE_INT32 | field.TYPE_SINT32 | field.TYPE_SFIXED32:
            return _plain(pa.int32())
        case field.TYPE_UINT64 | field.TYPE_FIXED64:
            return Converter(pa.decimal128(20, 0), _decimals)
        case field.TYPE_ENUM:
            names = {number: v.name for number, v in field.enum_type.values_by_number.items()}
            return Converter(pa.string(), lambda values: _names(values, names))
    return _plain(pa.int64())


def _names(values: Values, names: Mapping[int, str]) -> Any:
    """Return the names of an enum's numbers; of numbers without a name, the number."""
    texts = {number: names.get(number) or str(number) for number in {*values}}
    return pa.array([texts[value] for value in values], pa.string())


def of_well_known(message: Any) -> Converter | None:
    """Return the converter of a well-known message; None for other messages."""
    name = message.full_name
    if not name.startswith("google.protobuf."):
        return None
    match name.removeprefix("google.protobuf."):
        case "Timestamp":
            return Converter(pa.timestamp("us", "UTC"), _timestamps, _timestamp_fault)
        case "Duration":
            return Converter(_NANOSECONDS, _durations)
        case "Struct" | "Value" | "ListValue":
            return Converter(pa.string(), _json_texts)
        case "Any":
            return Converter(
                pa.struct([pa.field("type_url", pa.string()), pa.field("value", pa.binary())]),
                _any_structs,
            )
        case "FieldMask":
            return Converter(
                pa.string(),
                lambda values: pa.array([",".join(v.paths) for v in values], pa.string()),
            )
        case kind if kind.endswith("Value") and "value" in message.fields_by_name:
            inner = of_scalar(message.fields_by_name["value"])
            return Converter(inner.type, lambda values: inner.convert([v.value for v in values]))
    return None


def _timestamps(values: Values) -> Any:
    micros = [v.seconds * 1_000_000 + v.nanos // 1000 for v in values]
    return pa.array(micros, pa.int64()).cast(pa.timestamp("us", "UTC"))


def _timestamp_fault(value: Any) -> RejectReason | None:
    is_sound = _FIRST_SECOND <= value.seconds < _END_SECOND and 0 <= value.nanos < _NANOS
    return None if is_sound else RejectReason.TIMESTAMP_RANGE


def _durations(values: Values) -> Any:
    return pa.array([Decimal(v.seconds * _NANOS + v.nanos) for v in values], _NANOSECONDS)


def _any_structs(values: Values) -> Any:
    urls: Any = pa.array([v.type_url for v in values], pa.string())
    contents: Any = pa.array([v.value for v in values], pa.binary())
    return pa.StructArray.from_arrays([urls, contents], ["type_url", "value"])


def _json_texts(values: Values) -> Any:
    return pa.array([json_text(json_value(v)) for v in values], pa.string())


def json_text(value: Any) -> str:
    """Return a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def json_value(message: Any) -> Any:
    """Return a Struct, a Value or a ListValue as a value of JSON; NaN and infinity as texts."""
    match message.DESCRIPTOR.name:
        case "Struct":
            return {key: json_value(v) for key, v in sorted(message.fields.items())}
        case "ListValue":
            return [json_value(v) for v in message.values]
    match message.WhichOneof("kind"):
        case "number_value":
            return json_number(message.number_value)
        case "string_value":
            return message.string_value
        case "bool_value":
            return message.bool_value
        case "struct_value":
            return json_value(message.struct_value)
        case "list_value":
            return json_value(message.list_value)
    return None


def json_number(value: float) -> float | str:
    """Return a number for JSON, which has no NaN and no infinity: these are texts."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return value


# Any: google.protobuf has no type hints.
def unknown_bytes(message: Any) -> bytes:
    """Return the fields of a message that its schema does not have, in the bytes as written."""
    rest = type(message)()
    rest.CopyFrom(message)
    for field in message.DESCRIPTOR.fields:
        rest.ClearField(field.name)
    found: bytes = rest.SerializePartialToString()
    return found
