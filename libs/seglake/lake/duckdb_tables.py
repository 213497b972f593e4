"""Makes a lake's tables queryable in DuckDB, on any storage. Reads the lake."""

from collections.abc import Callable, Iterable, Sequence

import duckdb

from seglake.lake.delta_tables import LakeTables
from seglake.lake.duckdb_sql import SCHEME, below, is_plain, no_rows, view, view_of_files
from seglake.lake.tables import Table


class DuckDBTables:
    """Tables of a DuckDB connection over a lake's data files.

    Attributes:
        folder: the folder that DuckDB must be allowed to read.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, lake: LakeTables) -> None:
        """Make the lake's files readable for a connection.

        Args:
            connection: the connection, which the caller closes.
            lake: the lake. DuckDB opens files below a plain local path directly, and all other
                files through the lake's storage.
        """
        self._connection = connection
        self._lake_path = lake.lake_path
        self.folder = lake.lake_path
        if not is_plain(lake.lake_path):
            from seglake.lake.storage_files import StorageFiles  # imports fsspec, which takes 0.1 s

            self.folder = f"{SCHEME}://"
            connection.register_filesystem(StorageFiles(lake.storage, lake.lake_path))

    def name(
        self,
        table: Table,
        paths: Sequence[str],
        topics: Callable[[], Iterable[str]],
        name: str | None = None,
    ) -> None:
        """Create or replace a table of the connection over these data files.

        Args:
            table: the table of the lake, which determines the columns.
            paths: data files of the table; may be empty.
            topics: returns all topics of the lake.
            name: name in SQL; by default the table's.
        """
        table = table if name is None else table._replace(name=name)
        self._connection.execute(named_view(self._connection, table, self.spelled(paths), topics))

    def spelled(self, paths: Sequence[str]) -> list[str]:
        """Return the paths of data files in the form in which DuckDB opens them."""
        if is_plain(self._lake_path):
            return [*paths]
        return [below(path, self._lake_path) for path in paths]


def named_view(
    connection: duckdb.DuckDBPyConnection,
    table: Table,
    paths: Sequence[str],
    topics: Callable[[], Iterable[str]],
) -> str:
    """Return the statement that creates a view of a table's data files, or of no rows.

    Args:
        connection: any connection; it names DuckDB's types, and does not change.
        table: the table.
        paths: data files as DuckDB opens them; may be empty.
        topics: returns all topics of the lake.
    """
    if paths and not table.added:  # from_arrow imports pyarrow.dataset, which takes 0.05 s
        return view_of_files(table, paths, topics, empty="")
    empty = connection.from_arrow(table.schema.empty_table())
    query = no_rows(zip(empty.columns, map(str, empty.types), strict=True))
    return view_of_files(table, paths, topics, query) if paths else view(table.name, query)
