"""Shapes of JSON values: the types of their parts, and the columns for them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias

import pyarrow as pa

Field: TypeAlias = "pa.Field[pa.DataType]"  # at run time the class takes no type arguments

TEXT_SUFFIX = "__json"
"""Suffix of a column with the JSON text of values that the typed column cannot hold."""

ROOT = "value"
"""Name of the column of values that are no objects."""

WHOLE = ROOT + TEXT_SUFFIX
"""Name of the column of whole values as JSON text; no member of a root has it."""

ROOT_NAME = f"{TEXT_SUFFIX}_"
"""Name, in notes, of the column of values that are no objects; no member has it."""

_OF_ROOT = f"{WHOLE}_"  # name of the text column of a root's member `value`
_LIKE_TEXT = re.compile(rf"{TEXT_SUFFIX}_*\Z")


class Kind(StrEnum):
    """Kinds of a value that have a column type."""

    NULL = "null"  # only nulls were found
    BOOLEAN = "boolean"
    INTEGER = "integer"  # a number that fits an int64
    NUMBER = "number"  # a number that a double holds exactly
    STRING = "string"
    BYTES = "bytes"  # a string in base64
    DECIMAL = "decimal"  # a number, or its unscaled bytes in base64
    LIST = "list"
    MAP = "map"  # an object whose keys are data, not names
    OBJECT = "object"
    TEXT = "text"  # any other value: it stays JSON text


_TYPES: Mapping[Kind, pa.DataType] = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.INTEGER: pa.int64(),
    Kind.NUMBER: pa.float64(),
    Kind.STRING: pa.string(),
    Kind.BYTES: pa.binary(),
}


@dataclass(frozen=True, slots=True)
class Shape:
    """Type and parts of the values at a place in JSON texts.

    Attributes:
        kind: kind of the typed column.
        members: shapes of an object's members, by key.
        items: shape of a list's items, or of a map's values.
        has_text: whether there are values that the typed column cannot hold.
        type: type of the column; None for the usual type of the kind.
        is_wide: whether integers were found that may not be exact as doubles.
    """

    kind: Kind
    members: Mapping[str, "Shape"] = field(default_factory=dict)
    items: "Shape | None" = None
    has_text: bool = False
    type: pa.DataType | None = None
    is_wide: bool = False


def merged_shapes(first: Shape, second: Shape) -> Shape:
    """Return the shape of values that have one of two shapes.

    If the kinds differ, the typed column has the first kind; but integers and numbers together
    become numbers.

    >>> merged_shapes(Shape(Kind.INTEGER), Shape(Kind.STRING)).has_text
    True
    """
    has_text = first.has_text or second.has_text
    kinds = {first.kind, second.kind}
    if first.kind in (Kind.NULL, Kind.TEXT):
        has_text |= first.kind is Kind.TEXT and second.kind is not Kind.NULL
        if second.kind is not Kind.NULL:
            return replace(second, has_text=has_text and second.kind is not Kind.TEXT)
        return first
    if second.kind is Kind.NULL:
        return replace(first, has_text=has_text)
    is_wide = first.is_wide or second.is_wide
    if kinds == {Kind.INTEGER, Kind.NUMBER}:
        return Shape(Kind.NUMBER, has_text=has_text or is_wide)
    if len(kinds) > 1:
        return replace(first, has_text=True)
    items = first.items
    if first.items and second.items:
        items = merged_shapes(first.items, second.items)
    return Shape(
        first.kind,
        {
            key: merged_shapes(first.members.get(key, _NOTHING), second.members.get(key, _NOTHING))
            for key in {**first.members, **second.members}
        },
        items,
        has_text,
        is_wide=is_wide,
    )


_NOTHING = Shape(Kind.NULL)


def settled(shape: Shape) -> Shape:
    """Return a settled shape: each part has a column, or becomes JSON text if it has no type.

    An object without typed or text members, a list whose items differ in kind, and a list whose
    items are all null become text. A member that is always null has no column.
    """
    if shape.kind is Kind.OBJECT:
        members = {key: settled(member) for key, member in shape.members.items()}
        if any(member.kind is not Kind.NULL for member in members.values()):
            return replace(shape, members=members)
        return Shape(Kind.TEXT)
    if shape.kind in (Kind.LIST, Kind.MAP):
        items = settled(shape.items or _NOTHING)
        if items.has_text or items.kind in (Kind.NULL, Kind.TEXT):
            return Shape(Kind.TEXT)
        return replace(shape, items=items)
    return shape


def arrow_type(shape: Shape) -> pa.DataType:
    """Return the Arrow type of a settled shape's typed column."""
    if shape.kind is Kind.OBJECT:
        return pa.struct(member_fields(shape.members))
    if shape.kind is Kind.LIST and shape.items is not None:
        return pa.list_(arrow_type(shape.items))
    if shape.kind is Kind.MAP and shape.items is not None:
        return pa.map_(pa.string(), arrow_type(shape.items))
    return shape.type or _TYPES[shape.kind]


def member_fields(members: Mapping[str, Shape], *, is_root: bool = False) -> list[Field]:
    """Return the fields of an object's members: typed columns by key, and columns of JSON text.

    Args:
        members: the members of a settled shape, by key.
        is_root: whether they are the members of whole values.
    """
    fields = []
    for key, member in members.items():
        if member.kind not in (Kind.NULL, Kind.TEXT):
            fields.append(pa.field(typed_name(key), arrow_type(member)))
        if member.has_text or member.kind is Kind.TEXT:
            fields.append(pa.field(text_name(key, is_root=is_root), pa.string()))
    return fields


def is_text(name: object) -> bool:
    """Return whether a name can be UTF-8: it has no half of a surrogate pair.

    >>> is_text("a"), is_text(chr(0xD800))
    (True, False)
    """
    return isinstance(name, str) and not any("\ud800" <= char <= "\udfff" for char in name)


def typed_name(key: str) -> str:
    """Return the name of a member's typed column, which no column of JSON text has.

    The name depends only on the key, so keys that are found later rename no column.

    >>> typed_name("a"), typed_name("a__json")
    ('a', 'a__json__')
    """
    return f"{key}__" if _LIKE_TEXT.search(key) else key


def text_name(key: str, *, is_root: bool) -> str:
    """Return the name of a member's column of JSON text.

    >>> text_name("a", is_root=True), text_name("value", is_root=True)
    ('a__json', 'value__json_')
    """
    return _OF_ROOT if is_root and key == ROOT else key + TEXT_SUFFIX


def keys_of(path: Sequence[str], root: int) -> tuple[list[str], bool]:
    """Return the keys that lead to a column's values, and whether the column has their JSON text.

    Columns of whole values keep their names.

    Args:
        path: names of the fields of a `JsonReader`, outermost first.
        root: index of the name that is of a member of the whole value.

    >>> keys_of(["a", "b__json"], 0), keys_of(["value__json"], 0)
    ((['a', 'b'], True), (['value__json'], True))
    """
    found = [key_of(name, is_root=index == root) for index, name in enumerate(path)]
    keys = [key for key, _ in found]
    if len(path) > root and path[root] in (WHOLE, ROOT_NAME):
        keys[root] = WHOLE if path[root] == WHOLE else ROOT
    return keys, found[-1][1]


def key_of(name: str, *, is_root: bool) -> tuple[str, bool]:
    """Return the key of a member's column, and whether the column has its JSON text.

    >>> key_of("a__json", is_root=True), key_of("a__json__", is_root=True)
    (('a', True), ('a__json', False))
    """
    if is_root and name == _OF_ROOT:
        return ROOT, True
    if name.endswith(TEXT_SUFFIX):
        return name.removesuffix(TEXT_SUFFIX), True
    return (name if name == ROOT_NAME or not _LIKE_TEXT.search(name) else name[:-2]), False
