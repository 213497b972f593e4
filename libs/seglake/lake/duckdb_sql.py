"""DuckDB setup statements: settings and views."""

import posixpath
import re
from collections.abc import Callable, Iterable, Sequence

from seglake.lake.parquet_files import MOST_IN_A_FOLDER, folder_value
from seglake.lake.tables import Table

SCHEME = "seglake"
"""URI scheme under which DuckDB opens the lake's files through `storage_files`."""

SYNTAX_TREE = "SELECT json_serialize_sql(?)"
TEXT_OF_TREE = "SELECT json_deserialize_sql(?)"

_AS_SPARK = ("TimeZone = 'UTC'", "default_null_order = 'nulls_first_on_asc_last_on_desc'")
# Paths without characters that are special in globs or in partition folders.
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
    """Return whether DuckDB can open files below a path directly.

    It can if the path is local and has no glob characters.
    """
    return _PLAIN_PATH.fullmatch(path) is not None


def below(path: str, folder: str) -> str:
    """Return the URI by which DuckDB opens a file through `storage_files`."""
    return f"{SCHEME}://{posixpath.relpath(path, folder)}"


def settings(folder: str) -> list[str]:
    """Return SET statements that give Spark's semantics, and forbid writes and reads elsewhere."""
    allowed = f"allowed_directories = [{literal(folder)}]"
    return [f"SET {setting}" for setting in (*_AS_SPARK, allowed, *_LOCKS)]


def view(name: str, text: str) -> str:
    """Return the statement that creates or replaces a view."""
    return f"CREATE OR REPLACE VIEW {name} AS {text}"


def view_of_files(
    table: Table, paths: Iterable[str], topics: Callable[[], Iterable[str]], empty: str
) -> str:
    """Return the statement that creates a view of a table's data files.

    Partition values come from the folders' names.

    Args:
        table: the table.
        paths: at least one data file, as DuckDB opens it.
        topics: returns all topics of the lake, to restore names that folders have truncated.
        empty: query with the table's columns and no rows. It gives columns their types that older
            files lack, because they were added later.
    """
    types = ", ".join(f"{name}: VARCHAR" for name in table.partition_by)
    added = f"{empty} UNION ALL BY NAME SELECT * " if table.added else ""
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


def no_rows(columns: Iterable[tuple[str, str]]) -> str:
    """Return a query without rows, given its columns' names and DuckDB types."""
    fields = ", ".join(f'CAST(NULL AS {kind}) AS "{name}"' for name, kind in columns)
    return f"SELECT {fields} WHERE false"


def literal(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'{}'".format(text.replace("'", "''"))


def _by_reading(
    table: Table, paths: Sequence[str], topics: Callable[[], Iterable[str]]
) -> dict[str | None, list[str]]:
    """Group files by topic; the key is None if DuckDB gets the topic right from the folder's name.

    DuckDB reads some folder names as NULL, and cannot know which names are truncated.
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
