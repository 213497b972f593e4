"""SQL of the views with the newest row of each decoded key of a typed table."""

from typing import Any

import pyarrow as pa

from seglake.lake.typed_tables import TypedTable
from seglake.pipelines.lake_query.topic_views import ALL_ROWS
from seglake.pipelines.lake_query.views import Dialect, query
from seglake.value_codec.column_notes import is_of_key
from seglake.value_codec.connect.debezium import unwrapped_sql

_KEY_BYTES, _UNDECODED = "state.key", "_key_raw"


def newest_typed_view(typed: TypedTable, view: str, latest: str, dialect: Dialect) -> str:
    """Return the SQL of the view with the newest row of each decoded key.

    Args:
        typed: the typed table.
        view: name of its view.
        latest: name of the view of its topic's latest state.
        dialect: the SQL to write.
    """
    mark = mark_of(dialect)
    fields = [*typed.table.schema]
    keys = [field for field in fields if is_of_key(field)]
    # Spark cannot compare maps.
    are_compared = not any(_has_map(field.type) for field in keys)
    chosen = [mark + field.name + mark for field in keys] if are_compared else [_KEY_BYTES]
    return query(
        "newest_typed",
        f"{ALL_ROWS}{view}",
        f"{ALL_ROWS}{latest}",
        ", ".join([*chosen, _UNDECODED]),
        ", ".join(mark + field.name + mark for field in fields),
    )


def newest_unwrapped_view(
    typed: TypedTable, view: str, newest: str, dialect: Dialect
) -> str | None:
    """Return the SQL of the view with the rows of a table that Debezium captured.

    Args:
        typed: the typed table.
        view: name of its view.
        newest: name of the view with the newest row of each decoded key.
        dialect: the SQL to write.

    Returns:
        The SQL; None if the table has no envelopes.
    """
    unwrapped = unwrapped_sql(newest, [*typed.table.schema], mark_of(dialect))
    return unwrapped and query("newest_unwrapped", unwrapped, view)


def mark_of(dialect: Dialect) -> str:
    """Return the mark around names in SQL."""
    return '"' if dialect is Dialect.DUCKDB else "`"


# Any: pyarrow's stubs have no types with parts.
def _has_map(kind: Any) -> bool:
    """Return whether a type is a map, or has one in it."""
    if pa.types.is_struct(kind):
        return any(_has_map(field.type) for field in kind)
    return pa.types.is_map(kind) or (pa.types.is_list(kind) and _has_map(kind.value_type))
