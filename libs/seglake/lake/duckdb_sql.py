"""DuckDB setup statements: settings and views. Pure."""

import posixpath
import re
from collections.abc import Callable, Iterable, Sequence

from seglake.lake.parquet_files import MOST_IN_A_FOLDER, folder_value
from seglake.lake.tables import Table

SCHEME = "seglake"
"""Scheme of the names under which DuckDB opens files that it cannot reach by itself."""

SYNTAX_TREE = "SELECT json_serialize_sql(?)"
TEXT_OF_TREE = "SELECT json_deserialize_sql(?)"

_AS_SPARK = ("TimeZone = 'UTC'", "default_null_order = 'nulls_first_on_asc_last_on_desc'")
# Characters left out here have a meaning in a glob or in a partition's folder.
_PLAIN_PATH = re.compile(r"/[^*?\[\]{}=]*")
_AS_NULL = frozenset({"null", "__hive_default_partition__"})
_LOCKS = (
    "python_enable_replacements = false",
    "autoinstall_known_extensions = false",
    "autoload_known_extensions = false",
    "enable_external_access = false",
    "lock_configuration = true",
)


def is_plain(path: str) -> bool:
    """Return whether DuckDB can read below a path by itself: a local path without a pattern."""
    return _PLAIN_PATH.fullmatch(path) is not None


def below(path: str, folder: str) -> str:
    """Return DuckDB's name for a file that `storage_files` serves from below the folder."""
    return f"{SCHEME}://{posixpath.relpath(path, folder)}"


def settings(folder: str) -> list[str]:
    """Return the settings: Spark's semantics, reads below the folder only, no writes."""
    allowed = f"allowed_directories = [{literal(folder)}]"
    return [f"SET {setting}" for setting in (*_AS_SPARK, allowed, *_LOCKS)]


def view(name: str, text: str) -> str:
    """Return the statement that creates or replaces a view."""
    return f"CREATE OR REPLACE VIEW {name} AS {text}"


def no_view(name: str) -> str:
    """Return the statement that drops a view if it exists."""
    return f"DROP VIEW IF EXISTS {name}"


def view_of_files(table: Table, paths: Iterable[str], topics: Callable[[], Iterable[str]]) -> str:
    """Return the statement that creates a view of a table's data files.

    Folders name the partition values.

    Args:
        table: the table.
        paths: its data files, at least one, as DuckDB opens them.
        topics: returns all topics of the lake, to complete names that folders cut off.
    """
    types = ", ".join(f"{name}: VARCHAR" for name in table.partition_by)
    # Files of earlier versions lack added columns: these get their type from an empty table.
    added = f"FROM {no_rows(table)} UNION ALL BY NAME SELECT * " if table.added else ""
    by_name = ", union_by_name = true" if table.added else ""
    folders = f", hive_partitioning = true, hive_types = {{{types}}}" if types else ""
    selects = []
    for value, files in _by_reading(table, [*paths], topics).items():
        named = {} if value is None else dict.fromkeys(table.partition_by, f"{literal(value)} AS ")
        columns = ", ".join(f'{named.get(name, "")}"{name}"' for name in table.schema.names)
        listed = ", ".join(map(literal, files))
        files_sql = f"FROM read_parquet([{listed}]{folders}{by_name})"
        selects.append(f"SELECT {columns} {f'FROM ({added}{files_sql})' if added else files_sql}")
    return view(table.name, " UNION ALL ".join(selects))


def no_rows(table: Table) -> str:
    """Return the name of an empty relation with a table's columns."""
    return f"no_rows_of_{table.name}"


def literal(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'{}'".format(text.replace("'", "''"))


def _by_reading(
    table: Table, paths: Sequence[str], topics: Callable[[], Iterable[str]]
) -> dict[str | None, list[str]]:
    """Group files by the topic to name for DuckDB, or None if it reads the folder correctly.

    DuckDB reads some folder names as NULL, and a cut name as a whole one.
    """
    if not table.partition_by:
        return {None: [*paths]}
    values = {path: path.rsplit("/", 2)[-2].partition("=")[2] for path in paths}
    is_cut = any(len(value) == MOST_IN_A_FOLDER for value in values.values())
    whole = {folder_value(topic): topic for topic in topics()} if is_cut else {}
    found: dict[str | None, list[str]] = {}
    for path, value in values.items():
        topic = whole.get(value, value)
        is_misread = topic != value or value.casefold() in _AS_NULL
        found.setdefault(topic if is_misread else None, []).append(path)
    return found
