"""Checks that a table's columns, protocol and properties are as seglake creates them."""

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from seglake.lake.errors import SchemaError
from seglake.lake.tables import Table

READER_VERSION = 1
WRITER_VERSION = 2

# Table properties that writers must support specially, or that make Delta delete generations.
_REFUSED_SETTINGS = (
    "delta.columnMapping.mode",
    "delta.constraints.",
    "delta.setTransactionRetentionDuration",
    "delta.enableChangeDataFeed",
    "delta.enableDeletionVectors",
    "delta.enableIcebergCompat",
    "delta.enableTypeWidening",
)


def check(table: Table, found: pa.Schema) -> None:
    """Check the columns of rows before they are written to a data file.

    Binary views and dictionaries count as the type of their values, which is the type in the file.

    Raises:
        SchemaError: columns differ; the error has all differences.
    """
    _refuse(table, _differences(table.file_schema, [(f.name, plain_type(f.type)) for f in found]))


def check_whole(table: Table, found: pa.Schema) -> None:
    """Check the columns of a table.

    Raises:
        SchemaError: columns differ; the error has all differences.
    """
    if found.equals(table.schema):  # fast path, because a run checks some twenty tables
        return
    differences = _differences(table.schema, [(f.name, f.type) for f in found])
    differences += [f"column {f.name} must be nullable" for f in found if not f.nullable]
    _refuse(table, differences)


def foreign_features(
    table: Table,
    *,
    protocol: tuple[int, int],
    partition_by: Sequence[str],
    settings: Iterable[str],
    columns: Mapping[str, Iterable[str]],
) -> list[str]:
    """Return how a table's protocol and metadata differ from what seglake writes, as text.

    Args:
        table: definition of the table.
        protocol: lowest versions of a reader and of a writer.
        partition_by: the table's partition columns.
        settings: names of the table's properties.
        columns: metadata keys of each column, such as for generated, identity or renamed columns.
    """
    reasons = []
    if protocol != (READER_VERSION, WRITER_VERSION):
        reasons.append(
            f"its protocol is reader {protocol[0]}, writer {protocol[1]}, "
            f"expected {READER_VERSION} and {WRITER_VERSION}"
        )
    if tuple(partition_by) != table.partition_by:
        reasons.append(f"it is partitioned by {[*partition_by]}")
    reasons += [
        f"it has the setting {name}" for name in settings if name.startswith(_REFUSED_SETTINGS)
    ]
    reasons += [
        f"column {name} has {key}"
        for name, keys in columns.items()
        for key in keys
        if key.startswith("delta.")
    ]
    return reasons


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values that a dictionary or a binary view has."""
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if pa.types.is_binary_view(kind):
        return pa.binary()
    return kind


def _refuse(table: Table, differences: list[str]) -> None:
    """Raise SchemaError if there are differences."""
    if differences:
        raise SchemaError(table=table.name, differences=differences)


def _differences(expected: pa.Schema, found: Iterable[tuple[str, pa.DataType]]) -> list[str]:
    """Return all differences between expected and found columns, as text."""
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
