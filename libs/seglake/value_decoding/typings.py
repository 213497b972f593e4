"""Columns of a topic's keys or values: the type of each schema, and the merged type."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from seglake.lake.typed_tables import PLACE_FIELDS
from seglake.value_codec.column_notes import Field, is_of_key
from seglake.value_codec.json.shapes import ROOT, WHOLE, keys_of
from seglake.value_codec.json.value_reader import JsonReader
from seglake.value_codec.merging import MergedColumn, MergedType, NamedType, merged
from seglake.value_codec.registry.schemas import SchemaType
from seglake.value_codec.schema_readers import SchemaUse

KEY_COLUMN, VALUE_COLUMN = "_key", "value"
_OWN_COLUMNS = tuple(field.name for field in PLACE_FIELDS)


class Typing(NamedTuple):
    """Type of the keys or the values in a table.

    Attributes:
        numbers: index of each schema's type in the merged type, by the schema's name in frames.
        spread: the schemas whose values have several columns instead of `column`.
        column: column of the values; None if they are records, whose fields are the columns.
        merged: the merged type of all schemas.
        is_json: whether all values are JSON.
    """

    numbers: Mapping[str, int]
    spread: frozenset[str]
    column: str | None
    merged: MergedType
    is_json: bool

    # Any: pyarrow's stubs make fields and arrays generic.
    @property
    def fields(self) -> list[Any]:
        """Return the Arrow fields of all columns."""
        return [*self.merged.type]

    def path_of(self, column: MergedColumn) -> tuple[list[str], bool]:
        """Return the path to a column's values in the schemas, and whether the column is apart."""
        if not self.is_json:
            return [*column.path], column.is_apart
        keys, is_text = keys_of(column.path, 0 if self.column is None else 1)
        return keys, column.is_apart or is_text

    # Any: pyarrow's stubs make arrays generic.
    def conformed(self, name: str, values: Any) -> Any:
        """Return decoded values of one schema as structs with the columns of all schemas."""
        number = self.numbers[name]
        if self.column is not None:
            kind = _in_column(values.type, self.column, is_spread=name in self.spread)
            parts = values.flatten() if name in self.spread else [values]
            values = pa.StructArray.from_arrays(parts, fields=[*kind])
        return self.merged.conformed(values, number)


def key_typing(uses: Iterable[tuple[str, SchemaUse]], there: Sequence[Field]) -> Typing:
    """Return the typing of keys: one column, or one for each kind of type.

    Args:
        uses: the schemas, by rising id.
        there: columns of keys and of values in the existing table.
    """
    keys = [column for column in there if is_of_key(column)]
    others = [column.name for column in there if not is_of_key(column)]
    return _typing(uses, KEY_COLUMN, (*_OWN_COLUMNS, *others), keys)


def value_typing(
    uses: Iterable[tuple[str, SchemaUse]], keys: Iterable[str], there: Iterable[Field]
) -> Typing:
    """Return the typing of one table's values, which are either all records or no records.

    Args:
        uses: the schemas, by rising id; schemas without a reader are omitted.
        keys: columns of the keys.
        there: columns of keys and of values in the existing table.
    """
    named = [(name, use) for name, use in uses if use.reader is not None]
    column = None if all(is_record(use) for _, use in named) else VALUE_COLUMN
    values = [column for column in there if not is_of_key(column)]
    return _typing(named, column, (*_OWN_COLUMNS, *keys), values)


def _typing(
    uses: Iterable[tuple[str, SchemaUse]],
    column: str | None,
    reserved: Iterable[str],
    there: Sequence[Field],
) -> Typing:
    numbers: dict[str, int] = {}
    types: list[NamedType] = []
    spread: set[str] = set()
    is_json = True
    for name, use in uses:
        if use.reader is not None:
            is_json &= isinstance(use.reader, JsonReader)
            is_scalar = isinstance(use.reader, JsonReader) and not use.reader.is_object
            spread |= {name} if is_scalar else set()
            kind: Any = use.reader.type
            kind = kind if column is None else _in_column(kind, column, is_spread=is_scalar)
            numbers[name] = len(types)
            schema = " ".join(name.split(" ")[:2])  # the name without its Protobuf message
            types.append(NamedType(schema, kind))
    found = merged(types, tuple(reserved), there)
    return Typing(numbers, frozenset(spread), column, found, bool(numbers) and is_json)


# Any: pyarrow's stubs have no types with parts.
def _in_column(kind: Any, column: str, *, is_spread: bool) -> Any:
    """Return the type of values in a column.

    Args:
        kind: the type of the values.
        column: the column.
        is_spread: whether the values already have columns, as for JSON that is no object.
    """
    if not is_spread:
        return pa.struct([pa.field(column, kind)])
    names = {ROOT: column, WHOLE: column + WHOLE.removeprefix(ROOT)}
    return pa.struct([pa.field(names[field.name], field.type) for field in kind])


def is_record(use: SchemaUse) -> bool:
    """Return whether values of a schema are records."""
    is_struct = use.reader is not None and pa.types.is_struct(use.reader.type)
    return is_struct and use.name != f"{SchemaType.AVRO} union"
