"""Shapes of JSON in existing tables, and what later values add to them.

An existing column never changes its kind. Values of other kinds become JSON text beside it, and new
members become new columns.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from seglake.value_codec.column_notes import Field, field_name
from seglake.value_codec.json.shapes import (
    ROOT_NAME,
    WHOLE,
    Kind,
    Shape,
    key_of,
    settled,
)
from seglake.value_codec.kernels.json_operations import MOST_KEYS

MOST_COLUMNS = 10_000
"""Maximum number of columns and fields of a table; values beyond it stay JSON text."""

_NOTHING = Shape(Kind.NULL)
_types = pa.types


def shape_of_columns(columns: Iterable[Field]) -> Shape:
    """Return the shape of the values whose columns a table has."""
    members = _members(columns, is_root=True)
    return members.get(ROOT_NAME) or (Shape(Kind.OBJECT, members) if members else _NOTHING)


def shape_of_column(column: Field) -> Shape:
    """Return the shape of the values that are in one column."""
    return _shape(column.type, is_root=True)


def _members(columns: Iterable[Field], *, is_root: bool) -> Mapping[str, Shape]:
    """Return the shapes of members by key; ROOT_NAME for a value that is no object."""
    members: dict[str, Shape] = {}
    for column in columns:
        name = field_name(column)
        if is_root and name == WHOLE:
            continue
        key, is_text = key_of(name, is_root=is_root)
        known = members.get(key)
        if is_text:
            found = Shape(Kind.TEXT) if known is None else replace(known, has_text=True)
        else:
            found = replace(_shape(column.type, is_root=False), has_text=known is not None)
        members[key] = found
    return members


# Any: pyarrow's stubs have no types with parts.
def _shape(kind: Any, *, is_root: bool) -> Shape:
    """Return the JSON shape of a typed column's values."""
    if _types.is_struct(kind):
        return Shape(Kind.OBJECT, _members(kind, is_root=is_root))
    if _types.is_list(kind):
        return Shape(Kind.LIST, items=_shape(kind.value_type, is_root=False))
    kinds = {pa.bool_(): Kind.BOOLEAN, pa.int64(): Kind.INTEGER, pa.float64(): Kind.NUMBER}
    return Shape(kinds.get(kind, Kind.STRING))


def grown(there: Shape, found: Shape) -> Shape:
    """Return the shape of a table's values and of later values.

    Args:
        there: the shape of the table's columns; of a new table `Shape(Kind.NULL)`.
        found: the shape of the later values alone.
    """
    return _Growth(MOST_COLUMNS - _count(there)).of(there, settled(bounded(found)))


def bounded(shape: Shape) -> Shape:
    """Return a shape in which each object with more than 1,000 keys is JSON text."""
    if len(shape.members) > MOST_KEYS:
        return Shape(Kind.TEXT)
    return replace(
        shape,
        members={key: bounded(member) for key, member in shape.members.items()},
        items=shape.items and bounded(shape.items),
    )


def _count(shape: Shape) -> int:
    """Return how many columns and fields a shape needs."""
    below = sum(1 + _count(member) for member in shape.members.values())
    return below + (_count(shape.items) if shape.items else 0)


class _Growth:
    """Adds new members and types to the shape of a table while it may have more columns."""

    def __init__(self, room: int) -> None:
        self._room = room

    def of(self, there: Shape, found: Shape) -> Shape:
        """Return a shape with the new members and types."""
        has_text = there.has_text or found.has_text
        if found.kind is Kind.NULL:
            return there
        if there.kind in (Kind.NULL, Kind.TEXT):
            return self._new(found, has_text=has_text or there.kind is Kind.TEXT)
        if there.kind is not found.kind:
            is_held = there.kind is Kind.NUMBER and found.kind is Kind.INTEGER
            return replace(there, has_text=has_text or not is_held or found.is_wide)
        items = there.items
        if there.items and found.items:
            items = self.of(there.items, found.items)
            has_text |= items.has_text  # list items have no separate text column; the list has it
            items = replace(items, has_text=False)
        members = self._members(there, found)
        return replace(there, members=members, items=items, has_text=has_text)

    def _new(self, found: Shape, *, has_text: bool) -> Shape:
        """Return the shape of a new column; JSON text if no more columns are allowed."""
        shape = replace(found, has_text=has_text and found.kind is not Kind.TEXT)
        members = self._members(Shape(Kind.OBJECT), found)
        if found.kind is Kind.OBJECT and not any(m.kind is not Kind.NULL for m in members.values()):
            return Shape(Kind.TEXT)  # the table has no room for more columns
        items = found.items and self._new(found.items, has_text=False)
        return replace(shape, members=members, items=items)

    def _members(self, there: Shape, found: Shape) -> Mapping[str, Shape]:
        """Return the members of an object, the existing ones first."""
        members = {
            key: self.of(member, found.members.get(key, _NOTHING))
            for key, member in there.members.items()
        }
        for key, member in found.members.items():
            if key not in members and len(members) < MOST_KEYS and self._room > 0:
                self._room -= 1
                members[key] = self._new(member, has_text=member.has_text)
        return members
