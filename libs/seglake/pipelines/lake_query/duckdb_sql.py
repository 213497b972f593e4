"""What DuckDB is told beside the statements that it answers. Pure."""

from collections.abc import Iterable

from seglake.lake.tables import Table
from seglake.pipelines.lake_query.file_names import literal

SYNTAX_TREE = "SELECT json_serialize_sql(?)"

_AS_SPARK = ("TimeZone = 'UTC'", "default_null_order = 'nulls_first_on_asc_last_on_desc'")
_LOCKS = (
    "python_enable_replacements = false",
    "autoinstall_known_extensions = false",
    "autoload_known_extensions = false",
    "enable_external_access = false",
    "lock_configuration = true",
)


def settings(folder: str) -> list[str]:
    """Statements after which nothing but the folder can be read, and nothing written."""
    allowed = f"allowed_directories = [{literal(folder)}]"
    return [f"SET {setting}" for setting in (*_AS_SPARK, allowed, *_LOCKS)]


def view(name: str, text: str) -> str:
    return f"CREATE OR REPLACE VIEW {name} AS {text}"


def no_view(name: str) -> str:
    return f"DROP VIEW IF EXISTS {name}"


def view_of_files(table: Table, paths: Iterable[str]) -> str:
    """A view of a table's data files; what it is partitioned by stands in their folders' names."""
    columns = ", ".join(f'"{name}"' for name in table.schema.names)
    files = ", ".join(map(literal, paths))
    types = ", ".join(f"{name}: VARCHAR" for name in table.partition_by)
    folders = f", hive_partitioning = true, hive_types = {{{types}}}" if types else ""
    return view(table.name, f"SELECT {columns} FROM read_parquet([{files}]{folders})")
