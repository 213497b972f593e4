"""Merges the types of many schemas, and converts values to the merged type.

Fields are merged by name, in the order of the schemas, so that a later schema only adds columns or
widens them. Types are promoted by `type_promotion`. A type that cannot be promoted gets a separate
column: `<name>__<type>`. A field that is always null has no column. Columns that a table has come
first and stay as they are: what would widen one of them becomes a column of its own, too.

| type | is stored as |
| --- | --- |
| struct without fields, in any of the schemas | it has a field `_present`, which is true |
| list or map of nulls, or nothing but nulls | of string |
| values that are not all structs | a struct with a column `value` |
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa

from seglake.value_codec.column_names import ColumnNames
from seglake.value_codec.column_notes import (
    Field,
    column_of_field,
    field_name,
    is_presence,
    presence_column,
)
from seglake.value_codec.decoded import ArrowArray, made, validity
from seglake.value_codec.type_groups import TypeGroup, type_groups
from seglake.value_codec.type_promotion import converted, nulls, stored, type_name

PRESENT = "_present"
"""Field of a struct without other fields, since Delta stores no empty struct."""

VALUE = "value"
"""Name of the column of values that are not structs."""

_types = pa.types


class NamedType(NamedTuple):
    """Type of the values of one schema, with a name for messages.

    Attributes:
        name: name of the schema for a person, such as `id 31`.
        type: Arrow type of its reader.
    """

    name: str
    type: pa.DataType


class MergedColumn(NamedTuple):
    """A column, or a field inside a column.

    Attributes:
        path: names in the schemas, outermost first; `element`, `key` and `value` are the parts of
            lists and maps.
        column: names in the table.
        type: stored type.
        first: name of the first schema that has it; "" if only the table has it.
        is_apart: whether its type could not be promoted to an earlier type of the field.
    """

    path: tuple[str, ...]
    column: tuple[str, ...]
    type: pa.DataType
    first: str
    is_apart: bool


@dataclass(frozen=True, slots=True)
class MergedType:
    """Type of the values of all schemas.

    Attributes:
        type: a struct; its fields are the columns.
        columns: all fields of the struct, at every depth.
        is_wrapped: whether the values are no structs, and are in the column `value`.
    """

    type: pa.StructType
    columns: tuple[MergedColumn, ...]
    is_wrapped: bool
    _root: "_Node"

    def conformed(self, values: ArrowArray, number: int) -> ArrowArray:
        """Return values as the merged type; a null stays null.

        Args:
            values: the values of one schema's reader.
            number: index of the schema's type among those that were merged.
        """
        if not self.is_wrapped:
            return self._root.conformed(values, number)
        wrapped = made(pa.struct([(VALUE, values.type)]), len(values), [_bitmap(values)], [values])
        return self._root.conformed(wrapped, number)


def merged(
    types: Sequence[NamedType], reserved: Sequence[str] = (), there: Sequence[Field] = ()
) -> MergedType:
    """Return the type that holds the values of all types.

    Args:
        types: the types, by rising id.
        reserved: names of the table's other columns, which no column may get.
        there: columns of the values that the table has, with their notes.

    >>> found = merged([NamedType("id 1", pa.int32()), NamedType("id 2", pa.string())])
    >>> found.type
    StructType(struct<value: int32, value__string: string>)
    """
    are_null = all(_types.is_null(t) for _, t in types)
    is_wrapped = are_null or not all(_types.is_struct(t) or _types.is_null(t) for _, t in types)
    sources = {n: each.type for n, each in enumerate(types) if not _types.is_null(each.type)}
    if is_wrapped:
        whole = [pa.string() if are_null else each.type for each in types]
        sources = {number: pa.struct([(VALUE, each)]) for number, each in enumerate(whole)}
    root = _struct(sources, there, reserved)
    columns = tuple(root.columns_within((), (), [name for name, _ in types]))
    return MergedType(cast("pa.StructType", root.type), columns, is_wrapped, root)


@dataclass(frozen=True, slots=True)
class _Node:
    """Part of a merged type.

    Attributes:
        type: stored type.
        convert: converts the array of a type, given by its number, to the stored type.
        parts: fields of a struct, or the parts of a list or a map.
    """

    type: pa.DataType
    convert: Callable[[Any, int], ArrowArray]
    parts: tuple["_Part", ...] = ()

    def conformed(self, values: ArrowArray, number: int) -> ArrowArray:
        """Return the array of a type, given by its number, as the stored type."""
        if _types.is_null(values.type):
            return nulls(len(values), self.type)
        return self.convert(values, number)

    def columns_within(
        self, path: tuple[str, ...], column: tuple[str, ...], schemas: Sequence[str]
    ) -> Iterator[MergedColumn]:
        """Yield the fields at every depth."""
        for part in self.parts:
            inner = (*path, part.source or PRESENT), (*column, part.name)
            if part.numbers is not None:
                first = schemas[min(part.numbers)] if part.numbers else ""
                yield MergedColumn(*inner, part.node.type, first, part.is_apart)
            yield from part.node.columns_within(*inner, schemas)


class _Part(NamedTuple):
    """Field of a merged struct, or a part of a list or map.

    Attributes:
        source: name in the schemas; None for PRESENT.
        name: name in the table.
        node: its type.
        array: name in the arrays of values.
        numbers: numbers of the types that have the field; None for a part of a list or map.
        is_apart: whether its type could not be promoted to an earlier one.
    """

    source: str | None
    name: str
    node: _Node
    array: str = ""
    numbers: frozenset[int] | None = None
    is_apart: bool = False


# Any: pyarrow's stubs have no types with parts.
def _node(types: Mapping[int, Any], known: Any, there: Any) -> _Node:
    """Return the merge of types, as a node of the merged tree.

    Args:
        types: the types, by number.
        known: the type that they are promoted to; the fields of structs do not count.
        there: type of the column that holds them; None for a new one.
    """
    if _types.is_struct(known):
        return _struct(types, () if there is None else [*there])
    if _types.is_map(known):
        keys = {number: each.key_type for number, each in types.items()}
        items = {number: each.item_type for number, each in types.items()}
        of_key, of_item = (None, None) if there is None else (there.key_type, there.item_type)
        return _map(_item(keys, known.key_type, of_key), _item(items, known.item_type, of_item))
    if _types.is_list(known):
        items = {number: each.value_type for number, each in types.items()}
        of_item = None if there is None else there.value_type
        return _list(_item(items, known.value_type, of_item))
    return _Node(stored(known), lambda values, _: converted(values, known))


# Any: pyarrow's stubs have no types with parts.
def _item(sources: Mapping[int, Any], known: Any, there: Any) -> _Node:
    """Return the merged type of a required part; a part with only nulls is stored as strings."""
    typed = {number: each for number, each in sources.items() if not _types.is_null(each)}
    return _node(typed, pa.string() if _types.is_null(known) else known, there)


def _struct(
    group: Mapping[int, pa.DataType], there: Sequence[Field], reserved: Sequence[str] = ()
) -> _Node:
    """Return the merge of structs, field by field.

    Args:
        group: the structs, by number.
        there: columns or fields that the table has.
        reserved: names that no other field may get.
    """
    names = ColumnNames([*reserved, *(column.name for column in there)])
    fields, columns = [], []
    for name, array, each, is_apart in _placed_groups(group, there):
        node = _node(each.types, each.known, None if each.there is None else each.there.type)
        wish = f"{array}__{type_name(node.type)}" if is_apart else array
        legal = names.add(wish) if each.there is None else each.there.name
        fields.append(_Part(name, legal, node, array, frozenset(each.types), is_apart))
        columns.append(column_of_field(legal, node.type, name, each.known))
    empty = [n for n, s in group.items() if all(_types.is_null(f.type) for f in _fields(s))]
    presence = next((column for column in there if is_presence(column)), None)
    if empty or presence is not None:
        node = _Node(pa.bool_(), lambda values, _: values)
        legal = names.add(PRESENT) if presence is None else presence.name
        fields.append(_Part(None, legal, node, numbers=frozenset(empty)))
        columns.append(presence_column(legal))
    arrow = pa.struct(columns)

    def convert(values: Any, number: int) -> ArrowArray:
        children = [_child(values, field, number) for field in fields]
        return made(arrow, len(values), [_bitmap(values)], children)

    return _Node(arrow, convert, tuple(fields))


def _placed_groups(
    group: Mapping[int, pa.DataType], there: Sequence[Field]
) -> list[tuple[str, str, TypeGroup, bool]]:
    """Return the groups of types of the fields of structs, in the order of their columns.

    Each group has its field's name, the name in arrays, and whether the field has a separate
    column. Later types neither move nor rename what the table or earlier types have.
    """
    by_name: dict[str, dict[int, pa.DataType]] = {}
    columns: dict[str, list[Field]] = {}
    for column in there:
        if not is_presence(column):
            columns.setdefault(field_name(column), []).append(column)
            by_name.setdefault(field_name(column), {})
    arrays = {}
    for number, source in group.items():
        for field in _fields(source):
            arrays[field_name(field)] = field.name
            by_name.setdefault(field_name(field), {})[number] = field.type
    found = [
        (name, arrays.get(name, name), each, position > 0)
        for name, types in by_name.items()
        for position, each in enumerate(type_groups(types, columns.get(name, ())))
    ]
    places = {column.name: place for place, column in enumerate(there)}

    def order(each: TypeGroup) -> tuple[bool, int]:
        is_new = each.there is None
        return is_new, min(each.types) if each.there is None else places[each.there.name]

    return sorted(found, key=lambda each: order(each[2]))


def _fields(arrow: pa.DataType) -> "list[pa.Field[Any]]":
    return list(cast("pa.StructType", arrow))


# Any: pyarrow's stubs have no methods of the arrays of one type.
def _child(values: Any, field: _Part, number: int) -> ArrowArray:
    """Return a struct's field as an array."""
    count = len(values)
    if field.numbers is None or number not in field.numbers:
        return nulls(count, field.node.type)
    if field.source is None:
        return pa.array(np.ones(count, np.bool_))
    index = values.type.get_field_index(field.array)
    return field.node.conformed(values.field(index), number)


def _list(item: _Node) -> _Node:
    """Return the merged type of several lists."""
    arrow = pa.list_(item.type)

    def convert(values: Any, number: int) -> ArrowArray:
        inner = item.conformed(values.values, number)
        return made(arrow, len(values), [_bitmap(values), _offsets(values)], [inner])

    return _Node(arrow, convert, (_Part("element", "element", item),))


def _map(key: _Node, item: _Node) -> _Node:
    """Return the merged type of several maps."""
    arrow = pa.map_(key.type, item.type)
    entries = pa.struct([arrow.key_field, arrow.item_field])

    def convert(values: Any, number: int) -> ArrowArray:
        inner = [key.conformed(values.keys, number), item.conformed(values.items, number)]
        pairs = made(entries, len(inner[0]), [None], inner)
        return made(arrow, len(values), [_bitmap(values), _offsets(values)], [pairs])

    return _Node(arrow, convert, (_Part("key", "key", key), _Part("value", "value", item)))


def _bitmap(values: ArrowArray) -> pa.Buffer | None:
    """Return the validity of values; None if none is null."""
    if not values.null_count:
        return None
    return validity(np.asarray(values.is_valid()))


def _offsets(values: Any) -> pa.Buffer:
    return pa.py_buffer(np.array(values.offsets, np.int32).data)
