"""Defines the tables with fixed names that `deserialize` writes.

| table | rows |
| --- | --- |
| `value_rejects` | each key and each value that does not decode |
| `typed_checkpoints` | each partition and commit of `records` that is decoded: the ledger |
| `typed_columns` | each column of the typed tables, and each field of a struct in one |
| `schemas` | each schema that the registries ever had |
"""

import pyarrow as pa

from seglake.lake.tables import (
    Table,
    bigint_columns,
    binary_columns,
    boolean_columns,
    int_columns,
    list_of,
    string_columns,
    timestamp_columns,
)

VALUE_REJECTS = Table.of(
    "value_rejects",
    *string_columns("source_id topic_id topic"),
    *int_columns("partition"),
    *bigint_columns("offset"),
    *timestamp_columns("timestamp"),
    *string_columns("part reason"),
    *bigint_columns("position"),
    *int_columns("schema_id"),
    *string_columns("schema_guid"),
    *binary_columns("raw"),
    *boolean_columns("raw_is_complete"),
    *bigint_columns("record_generation"),
    *string_columns("resolution run_id"),
    *bigint_columns("generation"),
    partition_by=("topic",),
    statistics="partition offset timestamp record_generation",
)

TYPED_CHECKPOINTS = Table.of(
    "typed_checkpoints",
    *string_columns("source_id topic_id topic"),
    *int_columns("partition"),
    *bigint_columns("record_generation records typed_rows value_rejects key_rejects"),
    *string_columns("run_id attempt_id"),
    *timestamp_columns("committed_at"),
    *bigint_columns("generation"),
    partition_by=("topic",),
    statistics="partition record_generation committed_at generation",
)

# Leads from names of columns back to schemas. A row is added when a column or another field of it
# appears.
TYPED_COLUMNS = Table.of(
    "typed_columns",
    *string_columns("source_id topic table part column"),
    pa.field("path", list_of(pa.string())),
    *string_columns("type since_schema"),
    *int_columns("since_schema_id"),
    *boolean_columns("is_apart"),
    *string_columns("run_id"),
    *timestamp_columns("added_at"),
    partition_by=("topic",),
    statistics="since_schema_id added_at",
    topics=frozenset(),
)

SCHEMAS = Table.of(
    "schemas",
    *string_columns("source_id registry context"),
    *int_columns("schema_id"),
    *string_columns("guid subject"),
    *int_columns("version"),
    *string_columns("schema_type schema references deletion problem"),
    *boolean_columns("is_encrypting"),
    *bigint_columns("offset timestamp_ms"),
    *string_columns("run_id"),
    *timestamp_columns("written_at"),
    statistics="schema_id version offset",
    topics=frozenset(),
)

VALUE_TABLES = (VALUE_REJECTS, TYPED_CHECKPOINTS, TYPED_COLUMNS, SCHEMAS)
"""Tables of decoded values; the first two take part in commits, in this order."""
