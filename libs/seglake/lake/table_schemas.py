"""Parses the schemas of tables, once in a process: it opens the same few tables again and again."""

from collections.abc import Iterable
from functools import lru_cache

import pyarrow as pa

_KEPT = 64  # schemas


@lru_cache(_KEPT)
def columns_of(schema_text: str) -> tuple[pa.Schema, dict[str, Iterable[str]]]:
    """Return a table's columns, and the keys of each column's metadata.

    Args:
        schema_text: the schema as Delta's JSON.
    """
    from deltalake import Schema

    schema = Schema.from_json(schema_text)
    columns = pa.schema(schema.to_arrow())  # type: ignore[arg-type]  # via Arrow's C interface
    return columns, {field.name: [*field.metadata] for field in schema.fields}


@lru_cache(_KEPT)
def is_schema(text: str) -> bool:
    """Return whether delta-rs can parse a text as a table's schema."""
    from deltalake import Schema

    try:
        Schema.from_json(text)
    except (ValueError, TypeError):
        return False
    return True
