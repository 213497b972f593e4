"""Defines the tables with fixed names that `deserialize` writes.

| table | rows |
| --- | --- |
| `value_rejects` | each key and each value that does not decode |
| `typed_checkpoints` | each partition and commit of `records` that is decoded: the ledger |
| `typed_columns` | each column of the typed tables, and each field of a struct in one |
| `schemas` | each schema that the registries ever had |
"""

from typing import Any, TypeAlias

import pyarrow as pa

from seglake.lake.tables import Table

_Field: TypeAlias = "pa.Field[Any]"  # at run time the class takes no arguments
_TIMESTAMP = pa.timestamp("us", tz="UTC")


def _fields(kind: pa.DataType, names: str) -> list[_Field]:
    """Return columns of one type; `names` are separated by blanks."""
    return [pa.field(name, kind) for name in names.split()]


VALUE_REJECTS = Table(
    name="value_rejects",
    schema=pa.schema(
        [
            *_fields(pa.string(), "source_id topic_id topic"),
            *_fields(pa.int32(), "partition"),
            *_fields(pa.int64(), "offset"),
            *_fields(_TIMESTAMP, "timestamp"),
            *_fields(pa.string(), "part reason"),
            *_fields(pa.int64(), "position"),
            *_fields(pa.int32(), "schema_id"),
            *_fields(pa.string(), "schema_guid"),
            *_fields(pa.binary(), "raw"),
            *_fields(pa.bool_(), "raw_is_complete"),
            *_fields(pa.int64(), "record_generation"),
            *_fields(pa.string(), "resolution run_id"),
            *_fields(pa.int64(), "generation"),
        ]
    ),
    partition_by=("topic",),
    statistics_columns=("partition", "offset", "timestamp", "record_generation"),
)

TYPED_CHECKPOINTS = Table(
    name="typed_checkpoints",
    schema=pa.schema(
        [
            *_fields(pa.string(), "source_id topic_id topic"),
            *_fields(pa.int32(), "partition"),
            *_fields(pa.int64(), "record_generation records typed_rows value_rejects key_rejects"),
            *_fields(pa.string(), "run_id attempt_id"),
            *_fields(_TIMESTAMP, "committed_at"),
            *_fields(pa.int64(), "generation"),
        ]
    ),
    partition_by=("topic",),
    statistics_columns=("partition", "record_generation", "committed_at", "generation"),
)

# Leads from names of columns back to schemas. A row is added when a column or another field of it
# appears.
TYPED_COLUMNS = Table(
    name="typed_columns",
    schema=pa.schema(
        [
            *_fields(pa.string(), "source_id topic table part column"),
            pa.field("path", pa.list_(pa.field("element", pa.string()))),
            *_fields(pa.string(), "type since_schema"),
            *_fields(pa.int32(), "since_schema_id"),
            *_fields(pa.bool_(), "is_apart"),
            *_fields(pa.string(), "run_id"),
            *_fields(_TIMESTAMP, "added_at"),
        ]
    ),
    partition_by=("topic",),
    statistics_columns=("since_schema_id", "added_at"),
    topics=frozenset(),
)

SCHEMAS = Table(
    name="schemas",
    schema=pa.schema(
        [
            *_fields(pa.string(), "source_id registry context"),
            *_fields(pa.int32(), "schema_id"),
            *_fields(pa.string(), "guid subject"),
            *_fields(pa.int32(), "version"),
            *_fields(pa.string(), "schema_type schema references deletion problem"),
            *_fields(pa.bool_(), "is_encrypting"),
            *_fields(pa.int64(), "offset timestamp_ms"),
            *_fields(pa.string(), "run_id"),
            *_fields(_TIMESTAMP, "written_at"),
        ]
    ),
    partition_by=(),
    statistics_columns=("schema_id", "version", "offset"),
    topics=frozenset(),
)

VALUE_TABLES = (VALUE_REJECTS, TYPED_CHECKPOINTS, TYPED_COLUMNS, SCHEMAS)
"""Tables of decoded values; the first two take part in commits, in this order."""
