"""Texts of an answer's values by their Arrow type: for JSON, for CSV, and for a person.

This module writes the answers of both engines, so equal values have equal texts.
"""

import base64
import unicodedata
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from json.encoder import encode_basestring
from math import isfinite
from typing import Any

import pyarrow as pa
from pyarrow import types

from seglake.printable import on_one_line

# Any: values of all types.
Text = Callable[[Any], str]


def json_text(kind: pa.DataType) -> Text:
    """Return a function that writes values as JSON: bytes as base64, times in UTC with µs."""
    inner = _json_of(kind)
    return lambda value: "null" if value is None else inner(value)


def csv_text(kind: pa.DataType) -> Text:
    """Return a function that writes values like JSON without quotes; null is empty."""
    inner = _plain_of(kind)
    return lambda value: "" if value is None else inner(value)


def printed_text(kind: pa.DataType) -> Text:
    """Return a function that writes values on one line for a terminal; printable bytes as text."""
    inner = _printed_of(kind)
    return lambda value: "NULL" if value is None else on_one_line(inner(value))


def is_number(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is a type of numbers."""
    return types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)


def _json_of(kind: pa.DataType) -> Text:
    if types.is_boolean(kind):
        return lambda value: "true" if value else "false"
    if types.is_floating(kind):
        return lambda value: repr(value) if isfinite(value) else f'"{_float_text(value)}"'
    if is_number(kind):
        return _plain_of(kind)
    if isinstance(kind, pa.StructType):
        texts = {field.name: json_text(field.type) for field in kind}
        return lambda value: _object((name, text(value[name])) for name, text in texts.items())
    if isinstance(kind, pa.MapType):
        key_text, item_text = csv_text(kind.key_type), json_text(kind.item_type)
        return lambda value: _object((key_text(key), item_text(item)) for key, item in value)
    if isinstance(kind, pa.ListType | pa.LargeListType | pa.FixedSizeListType):
        element_text = json_text(kind.value_type)
        return lambda value: f"[{','.join(map(element_text, value))}]"
    plain = _plain_of(kind)
    return lambda value: encode_basestring(plain(value))


def _object(fields: Iterable[tuple[str, str]]) -> str:
    return f"{{{','.join(f'{encode_basestring(name)}:{text}' for name, text in fields)}}}"


def _plain_of(kind: pa.DataType) -> Text:
    if types.is_timestamp(kind):
        return _time_text
    if _is_binary(kind):
        return lambda value: base64.b64encode(value).decode("ascii")
    if types.is_decimal(kind):
        return "{:f}".format
    if types.is_floating(kind):
        return _float_text
    if types.is_boolean(kind) or types.is_nested(kind):
        return _json_of(kind)
    return str


def _printed_of(kind: pa.DataType) -> Text:
    if types.is_timestamp(kind):
        return lambda value: _time_text(value).replace("T", " ").rstrip("Z").rstrip("0").rstrip(".")
    if _is_binary(kind):
        return _printed_bytes
    return _plain_of(kind)


def _time_text(value: datetime) -> str:
    if value.tzinfo is None:
        return value.isoformat(timespec="microseconds")
    return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _float_text(value: float) -> str:
    if isfinite(value):
        return repr(value)
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def _printed_bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return "".join(map(_byte_text, value))


def _byte_text(byte: int) -> str:
    return chr(byte) if 0x20 <= byte < 0x7F and byte != 0x5C else f"\\x{byte:02X}"


def width(text: str) -> int:
    """Return the width of a text on a terminal, in columns."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) > 0 for character in text)


def _is_binary(kind: pa.DataType) -> bool:
    return types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
