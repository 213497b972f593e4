"""SQL of the views with the newest row of each decoded key of a typed table."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from seglake.grouping import grouped
from seglake.lake.typed_tables import TypedTable
from seglake.pipelines.lake_query.topic_views import ALL_ROWS
from seglake.pipelines.lake_query.views import Dialect, query
from seglake.value_codec.column_notes import Field, field_name, is_of_key, known_type
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
    chosen = [*_compared(keys, "", mark)] if are_compared else [_KEY_BYTES]
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


def _compared(columns: Iterable[Field], place: str, mark: str) -> Iterator[str]:
    """Yield SQL expressions that tell keys apart.

    A field whose integers became wider has several columns, which are compared as one.

    Args:
        columns: columns of the key, or members of a struct in it.
        place: text before a column's name.
        mark: the mark around names.
    """
    for same in grouped((field_name(column), column) for column in columns).values():
        names = [f"{place}{mark}{column.name}{mark}" for column in same]
        if len(same) > 1 and all(pa.types.is_integer(known_type(column)) for column in same):
            yield f"coalesce({', '.join(names)})"
            continue
        for name, column in zip(names, same, strict=True):
            members = _members(column.type)
            inner = [*_compared(members, f"{name}.", mark)]
            is_plain = inner == [f"{name}.{mark}{member.name}{mark}" for member in members]
            yield from [name] if is_plain else [f"{name} IS NULL", *inner]


# Any: pyarrow's stubs have no types with parts.
def _members(kind: Any) -> list[Field]:
    """Return the fields of a struct; no fields of another type."""
    return [*kind] if pa.types.is_struct(kind) else []


# Any: pyarrow's stubs have no types with parts.
def _has_map(kind: Any) -> bool:
    """Return whether a type is a map, or has one in it."""
    if members := _members(kind):
        return any(_has_map(member.type) for member in members)
    return pa.types.is_map(kind) or (pa.types.is_list(kind) and _has_map(kind.value_type))
