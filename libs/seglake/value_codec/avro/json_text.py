"""Avro values as JSON texts, for types that are too deep for columns.

The forms are those of `json_values`; a union of several types is an object with the name of its
branch, and a record without bytes is `{}`. Nothing is checked: the kernel found the bytes sound.
"""

import json
import struct
from decimal import Context, Decimal
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from seglake.value_codec.avro.column_tree import MOST_DIGITS, scalar_type
from seglake.value_codec.avro.schema_types import AvroType, Kind, Logical
from seglake.value_codec.json_values import json_scalar

_EXACT = Context(prec=100_000)


class _Items(NamedTuple):
    """Unread items of an array or a map; `left` is the number of unread items in the block."""

    of: AvroType
    left: int
    is_first: bool


def json_text(of: AvroType, data: NDArray[np.uint8], start: int) -> str:
    """Return a value as JSON.

    Args:
        of: its type.
        data: the bytes.
        start: index of its first byte.
    """
    reader, texts = _Bytes(data, start), list[str]()
    # Types may form circles, so unwritten parts are on a stack, which is as deep as the value.
    due: list[AvroType | _Items | str] = [of]
    while due:
        match due.pop():
            case str(text):
                texts.append(text)
            case _Items() as items:
                due += _next_item(items, reader)
            case AvroType() as found:
                due += _parts(found, reader)
    return "".join(texts)


def _parts(of: AvroType, reader: "_Bytes") -> list[AvroType | _Items | str]:
    """Return the texts and types that make up the next value, the last one first."""
    match of.kind:
        case Kind.NULL:
            return ["null"]
        case Kind.RECORD:
            parts: list[AvroType | _Items | str] = ["{"]
            for number, (name, inner) in enumerate(() if of.is_empty else of.fields):
                comma = ", " if number else ""
                parts += [f"{comma}{json.dumps(name, ensure_ascii=False)}: ", inner]
            return [*parts, "}"][::-1]
        case Kind.UNION:
            branch = of.branches[reader.varlong()]
            others = sum(each.kind is not Kind.NULL for each in of.branches) > 1
            if branch.kind is Kind.NULL or not others:
                return [branch]
            name = json.dumps(f"member_{branch.name or branch.kind}", ensure_ascii=False)
            return ["}", branch, "{" + name + ": "]
        case Kind.ARRAY:
            return [_Items(of, 0, is_first=True), "["]
        case Kind.MAP:
            return ["}", _Items(of, 0, is_first=True), '{"$map": [']
    return [json_scalar(scalar_type(of))(reader.scalar(of))]


def _next_item(items: _Items, reader: "_Bytes") -> list[AvroType | _Items | str]:
    """Return the type of the next item and the parts after it, the last part first."""
    left = items.left or reader.block()
    if not left:
        return ["]"]
    [inner] = items.of.branches
    comma = "" if items.is_first else ", "
    rest = _Items(items.of, left - 1, is_first=False)
    if items.of.kind is Kind.ARRAY:
        return [rest, inner, comma]
    key = json.dumps(reader.take(reader.varlong()).decode(), ensure_ascii=False)
    return [rest, "]", inner, f"{comma}[{key}, "]


class _Bytes:
    """Cursor over the bytes of a valid Avro value."""

    def __init__(self, data: NDArray[np.uint8], place: int) -> None:
        """Store the bytes and the index of the next one."""
        self._data, self._place = data, place

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        self._place += count
        return self._data[self._place - count : self._place].tobytes()

    def varlong(self) -> int:
        """Return the next Avro int or long."""
        value = shift = 0
        while True:
            byte = int(self._data[self._place])
            self._place += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)
            shift += 7

    def block(self) -> int:
        """Return how many items the next block of an array or map has."""
        count = self.varlong()
        if count < 0:
            self.varlong()  # skip the block's size in bytes
        return abs(count)

    def scalar(self, of: AvroType) -> Any:
        """Return the next value of a type without parts, as `json_scalar` expects it."""
        match of.kind:
            case Kind.BOOLEAN:
                return self.take(1) == b"\x01"
            case Kind.FLOAT:
                return struct.unpack("<f", self.take(4))[0]
            case Kind.DOUBLE:
                return struct.unpack("<d", self.take(8))[0]
            case Kind.INT | Kind.LONG:
                return self.varlong()
            case Kind.ENUM:
                return of.symbols[self.varlong()]
        content = self.take(of.size if of.kind is Kind.FIXED else self.varlong())
        match of.logical:
            case Logical.DECIMAL if of.precision <= MOST_DIGITS:
                number = Decimal(int.from_bytes(content, "big", signed=True))
                return number.scaleb(-of.scale, _EXACT)
            case Logical.UUID if of.kind is Kind.FIXED:
                return str(UUID(bytes=content))
        return content.decode() if of.kind is Kind.STRING else content
