"""Notes on a table's columns: the schema field in each column.

They are metadata of Arrow fields, and of the columns of Delta tables. A later run reads them, so
that a column keeps its name, its type and its meaning whatever schemas are added.

| note | says |
| --- | --- |
| `seglake.name` | name of the field, if the column has another name |
| `seglake.type` | types that are stored as others, such as times, with their places in it |
| `seglake.present` | the column is no field: it is true where a struct has no fields |
| `seglake.part` | `key`, if the column is one of the record's key |
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import pyarrow as pa

from seglake.value_codec.type_promotion import simplified, stored

Field: TypeAlias = "pa.Field[Any]"  # at run time the class takes no type arguments

_NAME, _TYPE, _PRESENT = "seglake.name", "seglake.type", "seglake.present"
_PART, _KEY = "seglake.part", "key"
_types = pa.types
_STORED_AS_OTHERS: Mapping[str, pa.DataType] = {
    str(kind): kind
    for kind in (
        *(pa.time32("ms"), pa.time64("us"), pa.time64("ns"), pa.timestamp("ns", "UTC")),
        *(pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns")),
        *(pa.duration("s"), pa.duration("ms"), pa.duration("us"), pa.duration("ns")),
    )
}


def named_field(column: str, kind: pa.DataType, name: str) -> Field:
    """Return a column for a field with another name."""
    return _noted(column, kind, {_NAME: name})


def column_of_field(column: str, kind: pa.DataType, name: str, known: pa.DataType) -> Field:
    """Return a column of a table, with notes on what its name and type do not show.

    Args:
        column: name of the column.
        kind: type that the table stores.
        name: name of the field.
        known: simplified type of the field's values.

    >>> column_of_field("a_b", pa.int32(), "a b", pa.time32("ms")).metadata
    {b'seglake.name': b'a b', b'seglake.type': b':time32[ms]'}
    """
    notes = {} if name == column else {_NAME: name}
    types = ";".join(f"{place}:{found}" for place, found in _stored_as_others(known, ""))
    return _noted(column, kind, notes | ({_TYPE: types} if types else {}))


def presence_column(column: str) -> Field:
    """Return the column that is true for each struct without fields."""
    return _noted(column, pa.bool_(), {_PRESENT: "true"})


def column_of_key(column: Field) -> Field:
    """Return the column with a note that it belongs to the record's key."""
    return _noted(column.name, column.type, {**_notes(column), _PART: _KEY})


def is_of_key(column: Field) -> bool:
    """Return whether a column belongs to the record's key."""
    return _notes(column).get(_PART) == _KEY


def field_name(column: Field) -> str:
    """Return the name of the field in a column."""
    return _notes(column).get(_NAME, column.name)


def is_presence(column: Field) -> bool:
    """Return whether a column only shows that a struct without fields exists."""
    return _PRESENT in _notes(column)


def known_type(column: Field) -> pa.DataType:
    """Return the simplified type of a column's values; a struct has no fields in it."""
    text = _notes(column).get(_TYPE, "")
    parts = [each.partition(":") for each in text.split(";")]
    return simple_type(column.type, {place: kind for place, _, kind in parts})


# Any: pyarrow's stubs have no types with parts.
def simple_type(kind: Any, types: Mapping[str, str] = {}, place: str = "") -> pa.DataType:
    """Return the type under which types are grouped: all structs are one, whatever their fields.

    Args:
        kind: the type.
        types: types that are stored as others, by their place.
        place: the place of `kind`.
    """
    if _types.is_struct(kind):
        return pa.struct([])
    if _types.is_map(kind):
        return pa.map_(
            simple_type(kind.key_type, types, f"{place}.key"),
            simple_type(kind.item_type, types, f"{place}.value"),
        )
    if _types.is_list(kind) or _types.is_large_list(kind):
        return pa.list_(simple_type(kind.value_type, types, f"{place}.element"))
    return _STORED_AS_OTHERS.get(types.get(place, ""), simplified(kind))


# Any: pyarrow's stubs have no types with parts.
def _stored_as_others(kind: Any, place: str) -> Iterator[tuple[str, pa.DataType]]:
    """Yield the place and the type of values that are stored as another type."""
    if _types.is_map(kind):
        yield from _stored_as_others(kind.key_type, f"{place}.key")
        yield from _stored_as_others(kind.item_type, f"{place}.value")
    elif _types.is_list(kind):
        yield from _stored_as_others(kind.value_type, f"{place}.element")
    elif not _types.is_struct(kind) and stored(kind) != kind:
        yield place, kind


def _noted(column: str, kind: pa.DataType, notes: Mapping[str, str]) -> Field:
    encoded: dict[bytes | str, bytes | str] = dict(notes.items())
    return pa.field(column, kind, metadata=encoded or None)


def _notes(column: Field) -> Mapping[str, str]:
    return {name.decode(): text.decode() for name, text in (column.metadata or {}).items()}
