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

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.value_codec.reject_reasons import RejectReason

# Any: neither the library nor the values of fields have types.
Values = Sequence[Any]
Rows = NDArray[np.int64]
Faults = dict[int, RejectReason]
_FIRST_SECOND, _END_SECOND = -62_135_596_800, 253_402_300_800  # 0001-01-01 and 10000-01-01
_NANOS = 1_000_000_000
_NANOSECONDS = pa.decimal128(28, 0)  # type for the nanoseconds in any int64 number of seconds


class Converter(NamedTuple):
    """Way to make an Arrow array of values.

    Attributes:
        type: type of the array.
        build: returns the array of values, none of them None; gets the row of each value, and adds
            why a column cannot hold a value, which is null then, to the faults by row.
    """

    type: Any
    build: Callable[[Values, Rows, Faults], Any]


def of_each(arrow: Any, convert: Callable[[Any], Any]) -> Converter:
    """Return a converter that converts each value alone."""
    return Converter(arrow, lambda values, *_: pa.array([*map(convert, values)], arrow))


def _plain(arrow: Any) -> Converter:
    return Converter(arrow, lambda values, *_: pa.array(values, arrow))


def _decimals(values: Values, *_: Any) -> Any:
    found: Any = pa.array(values, pa.uint64())
    return found.cast(pa.decimal128(20, 0))


def of_scalar(field: Any) -> Converter:
    """Return the converter of a field that is neither a message nor a group."""
    match field.cpp_type:
        case field.CPPTYPE_BOOL:
            return _plain(pa.bool_())
        case field.CPPTYPE_FLOAT:
            return _plain(pa.float32())
        case field.CPPTYPE_DOUBLE:
            return _plain(pa.float64())
        case field.CPPTYPE_STRING:
            return _plain(pa.binary() if field.type == field.TYPE_BYTES else pa.string())
        case field.CPPTYPE_INT32:
            return _plain(pa.int32())
        case field.CPPTYPE_UINT64:
            return Converter(pa.decimal128(20, 0), _decimals)
        case field.CPPTYPE_ENUM:
            names = {number: v.name for number, v in field.enum_type.values_by_number.items()}
            return Converter(pa.string(), lambda values, *_: _names(values, names))
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
            return Converter(pa.timestamp("us", "UTC"), _timestamps)
        case "Duration":
            return of_each(_NANOSECONDS, lambda v: Decimal(v.seconds * _NANOS + v.nanos))
        case "Struct" | "Value" | "ListValue":
            return of_each(pa.string(), lambda v: json_text(json_value(v)))
        case "Any":
            pair = pa.struct([pa.field("type_url", pa.string()), pa.field("value", pa.binary())])
            return of_each(pair, lambda v: (v.type_url, v.value))
        case "FieldMask":
            return of_each(pa.string(), lambda v: ",".join(v.paths))
        case kind if kind.endswith("Value") and "value" in message.fields_by_name:
            inner = of_scalar(message.fields_by_name["value"])
            return inner._replace(
                build=lambda values, *rest: inner.build([v.value for v in values], *rest)
            )
    return None


def _timestamps(values: Values, rows: Rows, faults: Faults) -> Any:
    micros: list[int | None] = []
    for row, value in zip(rows.tolist(), values, strict=True):
        if _FIRST_SECOND <= value.seconds < _END_SECOND and 0 <= value.nanos < _NANOS:
            micros.append(value.seconds * 1_000_000 + value.nanos // 1000)
        else:
            micros.append(None)
            faults.setdefault(row, RejectReason.TIMESTAMP_RANGE)
    return pa.array(micros, pa.int64()).cast(pa.timestamp("us", "UTC"))


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
