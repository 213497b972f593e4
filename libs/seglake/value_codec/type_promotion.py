"""Promotion of Arrow types without parts, and the types that tables store them as.

| types | become |
| --- | --- |
| two integers | the wider one |
| int, float or double | double; a 64-bit integer is never made a double |
| integer, decimal | a decimal of all digits, up to 38 |
| two decimals | most digits before the point, most after it, up to 38 |
| timestamps of UTC up to microseconds | microseconds |
| times in milliseconds and microseconds | microseconds |

| type | stored as |
| --- | --- |
| integers up to 32 bits, uint32, uint64 | int, bigint, decimal(20,0) |
| timestamp of UTC | timestamp in microseconds; bigint if it counts nanoseconds |
| timestamp without a zone | bigint of its own unit, since its numbers have no bounds |
| time | int of milliseconds, bigint of microseconds or nanoseconds |
| duration | bigint |
| bytes of one size | binary |
"""

from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from seglake.value_codec.decoded import ArrowArray

_MOST_DIGITS = 38
_types = pa.types
_INTEGER_DIGITS = {32: 10, 64: 19}
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_NAMES = {
    "bool": "boolean",
    "int32": "int",
    "int64": "bigint",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "binary",
    "date32[day]": "date",
}


def simplified(arrow: pa.DataType) -> pa.DataType:
    """Return the simplified type of an Arrow type: one of fewer types, with the same values."""
    if isinstance(arrow, pa.DictionaryType):
        return simplified(arrow.value_type)
    if _types.is_uint64(arrow):
        return pa.decimal128(20, 0)
    if _types.is_integer(arrow):
        return pa.int64() if _types.is_int64(arrow) or _types.is_uint32(arrow) else pa.int32()
    if _types.is_large_string(arrow) or _types.is_string_view(arrow):
        return pa.string()
    is_fixed = _types.is_fixed_size_binary(arrow)
    if is_fixed or _types.is_large_binary(arrow) or _types.is_binary_view(arrow):
        return pa.binary()
    if isinstance(arrow, pa.TimestampType) and arrow.tz:
        return pa.timestamp("ns" if arrow.unit == "ns" else "us", "UTC")
    if isinstance(arrow, pa.Time32Type):
        return pa.time32("ms")
    return arrow


def promoted(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Return the type that holds all values of two simplified types; None if there is none.

    >>> promoted(pa.int64(), pa.decimal128(5, 2))
    Decimal128Type(decimal128(21, 2))
    """
    if one == other:
        return one
    kinds = {one, other}
    if kinds == {pa.int32(), pa.int64()}:
        return pa.int64()
    if kinds <= {pa.int32(), pa.float32(), pa.float64()}:
        return pa.float64()
    if kinds == {pa.time32("ms"), pa.time64("us")}:
        return pa.time64("us")
    digits, others = _digits(one), _digits(other)
    if digits and others:
        before, after = (max(pair) for pair in zip(digits, others, strict=True))
        return pa.decimal128(before + after, after) if before + after <= _MOST_DIGITS else None
    return None


def _digits(arrow: pa.DataType) -> tuple[int, int] | None:
    """Return how many digits an integer or decimal has before and after the decimal point."""
    if isinstance(arrow, pa.Decimal128Type):
        return arrow.precision - arrow.scale, arrow.scale
    return (_INTEGER_DIGITS[arrow.bit_width], 0) if _types.is_integer(arrow) else None


def stored(arrow: pa.DataType) -> pa.DataType:
    """Return the type in which a table stores values of a simplified type."""
    if _types.is_time32(arrow):
        return pa.int32()
    if isinstance(arrow, pa.TimestampType) and arrow.tz and arrow.unit == "us":
        return arrow
    is_number = _types.is_timestamp(arrow) or _types.is_time64(arrow) or _types.is_duration(arrow)
    return pa.int64() if is_number else arrow


def type_name(arrow: pa.DataType) -> str:
    """Return a stored type's name for use in column names, in Delta's words."""
    if _types.is_nested(arrow):
        return "struct" if _types.is_struct(arrow) else "map" if _types.is_map(arrow) else "array"
    if _types.is_decimal(arrow):
        return "decimal"
    return "timestamp" if _types.is_timestamp(arrow) else _NAMES.get(str(arrow), str(arrow))


# Any: pyarrow's stubs have no functions of arrays of any type.
def nulls(count: int, arrow: pa.DataType) -> ArrowArray:
    """Return an array of nulls of a type."""
    return cast("ArrowArray", cast("Any", pa).nulls(count, arrow))


def converted(values: Any, to: pa.DataType) -> ArrowArray:
    """Return values in the stored form of the simplified type to which they are promoted."""
    source: Any = values.type
    target = stored(to)
    if _types.is_null(source):
        return nulls(len(values), target)
    if isinstance(source, pa.DictionaryType):
        return converted(values.dictionary_decode(), to)
    unit = getattr(to, "unit", None)
    if _types.is_temporal(values.type) and not _types.is_date(values.type) and unit:
        numbers = values.view(pa.int32() if source.bit_width == 32 else pa.int64())
        factor = _PER_SECOND[unit] // _PER_SECOND[str(source.unit)]
        if factor > 1:
            numbers = pc.multiply(numbers.cast(pa.int64()), factor)
        numbers = numbers.cast(pa.int32() if target == pa.int32() else pa.int64())
        return cast("ArrowArray", numbers.view(target))
    return cast("ArrowArray", values if source == target else values.cast(target))
