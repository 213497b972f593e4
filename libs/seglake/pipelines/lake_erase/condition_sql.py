"""Runs the condition of an erasure in DuckDB, on rows in memory.

The connection cannot read files, fetch extensions or change its settings.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.lake.duckdb_sql import SYNTAX_TREE

PAYLOADS = ("key", "value")
"""Columns of bytes for which a condition has a column with their text."""

_SETTINGS = (
    "SET threads = 1",
    "SET TimeZone = 'UTC'",
    "SET python_enable_replacements = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


# Any: a syntax tree has values of many types.
def parsed(text: str) -> dict[str, Any]:
    """Return DuckDB's syntax tree of a query with the condition, or its error."""
    with duckdb.connect() as connection:
        statement = f"SELECT 1 FROM records WHERE ({text}\n)"
        ((found,),) = connection.execute(SYNTAX_TREE, [statement]).fetchall()
    tree: dict[str, Any] = json.loads(found)
    return tree


def type_of(text: str, no_rows: pa.Table) -> str:
    """Return the type of a condition over no rows; raise DuckDB's error if it refuses it."""
    with _connected(no_rows) as connection:
        relation = _relation(no_rows.column_names)
        connection.execute(f"SELECT 1 FROM {relation} WHERE ({text}\n)")
        described = connection.execute(f"DESCRIBE SELECT ({text}\n) FROM {relation}").fetchall()
    return str(described[0][1])


def matches(text: str, rows: pa.Table) -> NDArray[np.bool_]:
    """Return for each row whether a condition holds; raise DuckDB's error if it fails on a row."""
    with _connected(rows) as connection:
        found = connection.execute(
            f"SELECT coalesce(({text}\n), false) AS found FROM {_relation(rows.column_names)}"
        ).fetchnumpy()
    return np.asarray(found["found"], np.bool_)


@contextmanager
def _connected(rows: pa.Table) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a DuckDB in which the rows are the table `given`."""
    with duckdb.connect() as connection:
        for setting in _SETTINGS:
            connection.execute(setting)
        connection.register("given", rows)
        yield connection


def _relation(columns: Sequence[str]) -> str:
    """Return the SQL of the rows for a condition, with the payloads also as text."""
    texts = [f"try(decode({name})) AS {name}_text" for name in PAYLOADS if name in columns]
    return f"(SELECT {', '.join(('*', *texts))} FROM given) AS records"
