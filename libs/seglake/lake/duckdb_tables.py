"""Registers a lake's tables in a DuckDB connection, on any storage. Effect: reads the lake."""

from collections.abc import Callable, Iterable, Sequence

import duckdb

from seglake.lake.delta_tables import LakeTables
from seglake.lake.duckdb_sql import SCHEME, below, is_plain, no_rows, no_view, view_of_files
from seglake.lake.tables import Table


class DuckDBTables:
    """Tables of a connection that show a lake's data files.

    Attributes:
        folder: the folder that DuckDB must be allowed to read.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, lake: LakeTables) -> None:
        """Make the lake's files readable for a connection.

        Args:
            connection: the connection; borrowed.
            lake: the lake; DuckDB opens its files itself below a plain path, else through its
                storage.
        """
        self._connection = connection
        self._lake_path = lake.lake_path
        self.folder = lake.lake_path
        if not is_plain(lake.lake_path):
            from seglake.lake.storage_files import StorageFiles  # fsspec: 0.1 s

            self.folder = f"{SCHEME}://"
            connection.register_filesystem(StorageFiles(lake.storage, lake.lake_path))

    def name(self, table: Table, paths: Sequence[str], topics: Callable[[], Iterable[str]]) -> None:
        """Create or replace a table of the connection that shows these data files.

        Args:
            table: the table of the lake, which gives name and columns.
            paths: its data files; may be empty.
            topics: returns all topics of the lake.
        """
        if not paths:
            self._connection.execute(no_view(table.name))
            self._connection.register(table.name, table.schema.empty_table())
            return
        if table.added:
            self._connection.register(no_rows(table), table.schema.empty_table())
        self._connection.execute(view_of_files(table, self.spelled(paths), topics))

    def spelled(self, paths: Sequence[str]) -> list[str]:
        """Return data files' paths as DuckDB opens them."""
        if is_plain(self._lake_path):
            return [*paths]
        return [below(path, self._lake_path) for path in paths]
