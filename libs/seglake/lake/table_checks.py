"""Whether columns are those of a table. Pure."""

from collections.abc import Iterable

import pyarrow as pa

from seglake.lake.errors import SchemaError
from seglake.lake.tables import Table


def check(table: Table, found: pa.Schema) -> None:
    """Refuse columns that are not those of the table's data files, before they are written.

    Binary views and dictionaries pass for the plain type that they stand for: a file stores that.

    Raises:
        SchemaError: lists every difference.
    """
    _refuse(table, _differences(table.file_schema, [(f.name, plain_type(f.type)) for f in found]))


def check_whole(table: Table, found: pa.Schema) -> None:
    """Refuse columns that are not those of the table as its readers see it.

    Raises:
        SchemaError: lists every difference.
    """
    differences = _differences(table.schema, [(f.name, f.type) for f in found])
    differences += [f"column {f.name} must be nullable" for f in found if not f.nullable]
    _refuse(table, differences)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values, whatever the form in which Arrow holds them."""
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if pa.types.is_binary_view(kind):
        return pa.binary()
    return kind


def _refuse(table: Table, differences: list[str]) -> None:
    if differences:
        raise SchemaError(table=table.name, differences=differences)


def _differences(expected: pa.Schema, found: Iterable[tuple[str, pa.DataType]]) -> list[str]:
    columns = list(found)
    names = [name for name, _ in columns]
    kinds = dict(columns)
    lines = [f"column {name} is missing" for name in expected.names if name not in kinds]
    lines += [f"column {name} is not expected" for name in names if name not in expected.names]
    lines += [f"column {name} comes twice" for name in kinds if names.count(name) > 1]
    for field in expected:
        kind = kinds.get(field.name, field.type)
        if kind != field.type:
            lines.append(f"column {field.name} is {kind}, expected {field.type}")
    if not lines and names != expected.names:
        lines.append(f"columns are in the order {names}, expected {expected.names}")
    return lines
