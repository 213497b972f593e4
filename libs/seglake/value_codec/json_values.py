"""Typed values as JSON, without loss.

| type | JSON |
| --- | --- |
| bool, integers, strings, floats | as JSON has them; integers exact, floats widened to double |
| other floats | `{"$float": "NaN"}`, `"Infinity"`, `"-Infinity"` |
| binary | `{"$bytes": "<base64>"}` |
| decimal | `{"$decimal": "-12.30"}`, all digits of its scale |
| date | `{"$date": <days since 1970>}` |
| timestamp of UTC | `{"$ts": <number since 1970>, "unit": "ms"}`, also `"us"`, `"ns"` |
| timestamp without a zone | `{"$local": <number>, "unit": "ms"}` |
| time of day | `{"$time": <number>, "unit": "ms"}` |
| struct, list | object, array |
| map | `{"$map": [[<key>, <value>], ...]}`, in the order of the bytes, keys twice included |
"""

import base64
import json
import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pyarrow as pa

from seglake.value_codec.decoded import ArrowArray


def json_scalar(arrow: pa.DataType) -> Callable[[Any], str]:
    """Return the function that writes a value of a type without parts; the value is not null.

    The function's argument is an integer for dates, timestamps and times, else what Arrow gives.

    >>> json_scalar(pa.timestamp("ms", "UTC"))(5)
    '{"$ts": 5, "unit": "ms"}'
    """
    types = pa.types
    if types.is_boolean(arrow):
        return lambda value: "true" if value else "false"
    if types.is_integer(arrow):
        return str
    if types.is_floating(arrow):
        return _float
    if types.is_decimal(arrow):
        return lambda value: json.dumps({"$decimal": format(value, "f")})
    if types.is_binary(arrow) or types.is_large_binary(arrow) or types.is_fixed_size_binary(arrow):
        return lambda value: json.dumps({"$bytes": base64.b64encode(value).decode()})
    if types.is_date32(arrow):
        return lambda value: json.dumps({"$date": value})
    if isinstance(arrow, pa.TimestampType):
        return _with_unit("$ts" if arrow.tz else "$local", arrow.unit)
    if isinstance(arrow, pa.Time32Type | pa.Time64Type):
        return _with_unit("$time", arrow.unit)
    return lambda value: json.dumps(value, ensure_ascii=False)


def _float(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return json.dumps({"$float": name})


def _with_unit(name: str, unit: str) -> Callable[[int], str]:
    return lambda value: json.dumps({name: value, "unit": unit})


def json_texts(values: ArrowArray) -> list[str]:
    """Return each value as a text of JSON.

    >>> json_texts(pa.array([{"a": 1, "b": b"x"}, None]))
    ['{"a": 1, "b": {"$bytes": "eA=="}}', 'null']
    """
    found = _texts(values)
    if not values.null_count:
        return found
    valid = values.is_valid().to_pylist()
    return [text if is_valid else "null" for text, is_valid in zip(found, valid, strict=True)]


# Any: pyarrow's stubs have no methods of the arrays of one type.
def _texts(values: Any) -> list[str]:
    """Return the JSON text of each value; for a null, any text."""
    arrow, types = values.type, pa.types
    if types.is_null(arrow):
        return ["null"] * len(values)
    if types.is_struct(arrow):
        return _structs(values)
    if types.is_map(arrow):
        pairs = _lists(values.keys, values.items, values.offsets)
        return ['{"$map": ' + text + "}" for text in pairs]
    if types.is_list(arrow) or types.is_large_list(arrow):
        return _lists(None, values.values, values.offsets)
    if types.is_temporal(arrow):
        values = values.view(pa.int32() if arrow.bit_width == 32 else pa.int64())
    write = json_scalar(arrow)
    return ["null" if value is None else write(value) for value in values.to_pylist()]


def _structs(values: Any) -> list[str]:
    names = [json.dumps(field.name, ensure_ascii=False) + ": " for field in values.type]
    if not names:
        return ["{}"] * len(values)
    columns = [json_texts(values.field(number)) for number in range(len(names))]
    return [
        "{" + ", ".join(map("".join, zip(names, row, strict=True))) + "}"
        for row in zip(*columns, strict=True)
    ]


def _lists(keys: Any, items: Any, offsets: Any) -> list[str]:
    texts = json_texts(items)
    if keys is not None:
        pairs = zip(json_texts(keys), texts, strict=True)
        texts = [f"[{key}, {text}]" for key, text in pairs]
    bounds = offsets.to_pylist()
    return ["[" + ", ".join(texts[start:stop]) + "]" for start, stop in pairwise(bounds)]
