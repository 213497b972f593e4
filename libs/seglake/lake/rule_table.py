"""Defines the table of erasure rules.

The table takes no part in topics' commits. The first erasure creates it, so most lakes lack it.
"""

from seglake.lake.tables import (
    Table,
    bigint_columns,
    binary_columns,
    int_columns,
    string_columns,
    timestamp_columns,
)

ERASURES = Table.of(
    "erasures",
    *string_columns("topic kind"),
    *int_columns("partition"),
    *bigint_columns("offset"),
    *binary_columns("salt hash"),
    *string_columns("reason run_id"),
    *timestamp_columns("erased_at"),
    statistics="partition offset erased_at",
    topics=frozenset(),
)
