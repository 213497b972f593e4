"""SQL dialects that register a lake, and results of `register`.

The module needs no engine and no catalog, so the command line can list the dialects at once.
"""

from enum import StrEnum
from typing import NamedTuple


class CatalogDialect(StrEnum):
    """SQL dialects of `--print`; for Unity Catalog and Databricks, use Spark's dialect.

    `DUCKDB` reads the newest state with the extension delta; `DUCKDB_FILES` reads the current
    files, and needs no extension.
    """

    SPARK = "spark"
    DUCKDB = "duckdb"
    DUCKDB_FILES = "duckdb-files"
    TRINO = "trino"
    ATHENA = "athena"

    @property
    def is_duckdb(self) -> bool:
        """Return whether DuckDB runs the statements."""
        return self in (CatalogDialect.DUCKDB, CatalogDialect.DUCKDB_FILES)


class Registration(NamedTuple):
    """Tables and views of a lake in a catalog after `register`.

    Attributes:
        database: name of the database; for Iceberg, its folder.
        lake: path of the lake.
        tables: names of all tables.
        views: names of all views; empty for Iceberg.
        new: names that the catalog did not have before.
        dropped: names of dropped views, since they have become ambiguous.
    """

    database: str
    lake: str
    tables: tuple[str, ...]
    views: tuple[str, ...]
    new: tuple[str, ...]
    dropped: tuple[str, ...] = ()

    def to_text(self) -> str:
        """Return one line for a person."""
        views = f" and {len(self.views)} views" if self.views else ""
        what = f"{len(self.tables)} tables{views} of {self.lake}"
        text = f"{what} are registered in {self.database}, {len(self.new)} of them are new"
        if not self.dropped:
            return text
        return f"{text}; dropped, since they could mean several topics: {', '.join(self.dropped)}"
