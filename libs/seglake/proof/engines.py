"""Engines that run queries over one state of a lake: DuckDB in this process, or Spark. Effect.

Memory: DuckDB holds `_MEMORY` and spills the rest; Spark has its executors' own limits.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, Self

import duckdb

from seglake.errors import SeglakeError
from seglake.lake.delta_tables import LakeTables
from seglake.lake.duckdb_sql import literal
from seglake.lake.duckdb_tables import DuckDBTables
from seglake.lake.tables import Table
from seglake.proof.queries import PROVED_TABLES, Purpose, Query
from seglake.spark_features import arrow_table

if TYPE_CHECKING:
    from pyspark import SparkContext

Row = Mapping[str, Any]  # Any: columns have values of many types
_MEMORY = "1GB"
SMALL_BYTES = 64 << 20
"""Data files below this size are a small lake: DuckDB is done before Spark has started."""
_INTERRUPTED = "nterrupted"  # part of DuckDB's messages after Ctrl-C
FILES = "{table}_files"
"""Name of a view: a table with the column `file_path`."""


class ProofFailedError(SeglakeError):
    """The engine could not run a query: a file cannot be read, or it lacked memory or space."""

    def __init__(self, reason: str) -> None:
        """Make the message.

        Args:
            reason: the engine's message, on one line.
        """
        self.reason = reason
        super().__init__(f"the tables could not be queried: {reason}")


class ProofEngine(Protocol):
    """An engine with one lake's tables."""

    def name_files(self, table: Table, paths: Sequence[str]) -> None:
        """Define a table with these data files, and its view with their paths.

        Args:
            table: the table to define.
            paths: its data files; may be empty.
        """

    def derive(self, name: str, sql: str) -> None:
        """Compute a table for later queries.

        Args:
            name: the table's name.
            sql: the query for its rows.
        """

    def rows(self, sql: str) -> Sequence[Row]:
        """Return the answer to a query.

        Args:
            sql: one query, without a semicolon.

        Raises:
            ProofFailedError: a file cannot be read, or the engine gave up.
        """


def answered(
    engine: ProofEngine,
    queries: Iterable[Query],
    files: Mapping[str, Sequence[str]],
    on_done: Callable[[], None] = lambda: None,
) -> dict[str, Sequence[Row]]:
    """Return the rows of all checks and facts, by query.

    Args:
        engine: runs the queries.
        queries: the queries, in an order in which they can run.
        files: data files of each proved table, by its name.
        on_done: called after each query.

    Raises:
        ProofFailedError: a file cannot be read, or the engine gave up.
    """
    for table in PROVED_TABLES:
        engine.name_files(table, files.get(table.name, ()))
    found: dict[str, Sequence[Row]] = {}
    for query in queries:
        if query.purpose is Purpose.DERIVE:
            engine.derive(query.name, query.sql)
        else:
            found[query.name] = engine.rows(query.sql)
        on_done()
    return found


class DuckDBProof:
    """DuckDB in this process; it ends with the `with` block."""

    def __init__(
        self, lake: LakeTables, topics: Iterable[str], *, spill_folder: str, is_small: bool
    ) -> None:
        """Start DuckDB.

        Args:
            lake: the lake's tables.
            topics: all topics of the lake.
            spill_folder: folder for data that exceeds the memory.
            is_small: use one thread; for a small lake more threads cost more time than they save.
        """
        self._connection = duckdb.connect(
            config={"temp_directory": spill_folder, "memory_limit": _MEMORY}
        )
        self._connection.execute("SET preserve_insertion_order = false")
        if is_small:
            self._connection.execute("SET threads = 1")
        self._tables = DuckDBTables(self._connection, lake)
        self._topics = [*topics]

    def __enter__(self) -> Self:
        """Return the engine itself."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Close DuckDB."""
        self._connection.close()

    def name_files(self, table: Table, paths: Sequence[str]) -> None:
        """Define a table with these data files, and its view with their paths."""
        with _failures_named():
            self._tables.name(table, paths, lambda: self._topics)
            listed = ", ".join(map(literal, self._tables.spelled(paths)))
            source = f"read_parquet([{listed}], filename = true, hive_partitioning = false)"
            view = f"*, filename AS file_path FROM {source}"
            view = view if paths else f"*, '' AS file_path FROM {table.name}"
            files = FILES.format(table=table.name)
            self._connection.execute(f"CREATE OR REPLACE TEMPORARY VIEW {files} AS SELECT {view}")

    def derive(self, name: str, sql: str) -> None:
        """Compute a table for later queries."""
        with _failures_named():
            self._connection.execute(f"CREATE OR REPLACE TEMPORARY TABLE {name} AS {sql}")

    def rows(self, sql: str) -> Sequence[Row]:
        """Return the answer to a query; see `ProofEngine.rows`."""
        with _failures_named():
            return self._connection.execute(sql).to_arrow_table().to_pylist()


@contextmanager
def _failures_named() -> Iterator[None]:
    try:
        yield
    except (duckdb.InterruptException, RuntimeError) as error:
        if _INTERRUPTED not in str(error):
            raise
        raise KeyboardInterrupt from None
    except (duckdb.Error, OSError) as error:
        raise ProofFailedError(" ".join(str(error).split())) from error


class SparkProof:
    """A running Spark, which reads the files itself: all nodes must reach the lake at its path."""

    def __init__(self, context: "SparkContext") -> None:
        """Open a session of its own.

        Args:
            context: a running Spark; its owner stops it.
        """
        from pyspark.sql import SparkSession

        self._session = SparkSession(context).newSession()

    def __enter__(self) -> Self:
        """Return the engine itself."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Do nothing: Spark drops tables that nothing refers to."""

    def name_files(self, table: Table, paths: Sequence[str]) -> None:
        """Define a table with these data files, and its view with their paths."""
        from pyspark.sql import functions as F
        from pyspark.sql.pandas.types import from_arrow_schema

        schema = from_arrow_schema(table.schema)
        if not paths:
            frame = self._session.createDataFrame([], schema)
            named = frame.withColumn("file_path", F.lit(""))
        else:
            folder = paths[0].partition(f"/{table.name}/")[0] + f"/{table.name}"
            reader = self._session.read.schema(schema).option("basePath", folder)
            with _spark_failures_named():
                frame = reader.parquet(*paths)
            named = frame.withColumn("file_path", F.col("_metadata.file_path"))
        frame.createOrReplaceTempView(table.name)
        named.createOrReplaceTempView(FILES.format(table=table.name))

    def derive(self, name: str, sql: str) -> None:
        """Compute a table for later queries."""
        # Without its plan: plans of tables that are made of each other grow without bounds.
        with _spark_failures_named():
            self._session.sql(sql).localCheckpoint().createOrReplaceTempView(name)

    def rows(self, sql: str) -> Sequence[Row]:
        """Return the answer to a query; see `ProofEngine.rows`."""
        with _spark_failures_named():
            found: Sequence[Row] = arrow_table(self._session.sql(sql)).to_pylist()
            return found


@contextmanager
def _spark_failures_named() -> Iterator[None]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise ProofFailedError(str(error).partition("\n")[0]) from error
