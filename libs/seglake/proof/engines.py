"""Runs queries over one version of a lake, in DuckDB or Spark.

Memory: DuckDB uses up to `_MEMORY` and spills the rest; Spark has its executors' limits.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, Self

import duckdb
import pyarrow as pa

from seglake.errors import SeglakeError
from seglake.lake.delta_tables import LakeTables
from seglake.lake.duckdb_sql import literal
from seglake.lake.duckdb_tables import DuckDBTables
from seglake.lake.tables import Table
from seglake.proof.queries import PROVED_TABLES, Purpose, Query, any_problem, first_problems
from seglake.spark_features import arrow_table

if TYPE_CHECKING:
    from pyspark import SparkContext

Row = Mapping[str, Any]  # Any: columns have values of many types
_MEMORY = "1GB"
_BATCH_ROWS = 1024  # a batch of the longest values must fit in an array of 2 GiB
SMALL_BYTES = 64 << 20
"""Size of all data files in bytes below which a lake is small: DuckDB ends before Spark starts."""
_INTERRUPTED = "nterrupted"  # part of each message of DuckDB after Ctrl-C
FILES = "{table}_files"
"""Name of a table's view with the additional column `file_path`."""


class ProofFailedError(SeglakeError):
    """The engine could not run a query, because a file is unreadable or memory or disk is short."""

    def __init__(self, reason: str) -> None:
        """Make the message.

        Args:
            reason: the engine's message, on one line.
        """
        super().__init__(f"the tables could not be queried: {reason}")


class ProofEngine(Protocol):
    """Interface of an engine that queries the tables of a lake."""

    def name_files(self, table: Table, paths: Sequence[str], name: str = "") -> None:
        """Define a table over data files, and its view with the column `file_path`.

        Args:
            table: the table to define.
            paths: its data files; may be empty.
            name: name in SQL; by default the table's.
        """

    def define(self, name: str, sql: str) -> None:
        """Define a view for later queries.

        Args:
            name: name of the view.
            sql: query for its rows.
        """

    def derive(self, name: str, sql: str) -> None:
        """Compute a derived table for later queries.

        Args:
            name: name of the derived table.
            sql: query for its rows.
        """

    def rows(self, sql: str) -> Sequence[Row]:
        """Run a query and return its rows.

        Args:
            sql: one query, without a semicolon.

        Raises:
            ProofFailedError: a file is unreadable, or memory or disk space is short.
        """


def answered(
    engine: ProofEngine,
    queries: Iterable[Query],
    files: Mapping[str, Sequence[str]],
    on_done: Callable[[], None] = lambda: None,
) -> dict[str, Sequence[Row]]:
    """Run queries over the lake's tables, and return the rows by the query's name.

    Args:
        engine: runs the queries.
        queries: the queries; each comes after the derived tables that it uses.
        files: data files by the table's name.
        on_done: called after each query.

    Raises:
        ProofFailedError: a file is unreadable, or memory or disk space is short.
    """
    for table in PROVED_TABLES:
        engine.name_files(table, files.get(table.name, ()))
    return answers_of(engine, queries, on_done)


def answers_of(
    engine: ProofEngine, queries: Iterable[Query], on_done: Callable[[], None] = lambda: None
) -> dict[str, Sequence[Row]]:
    """Run queries over named tables, and return the rows by the query's name.

    The result does not include derived tables, and of checks only the first problems of each log.
    For the arguments see `answered`.
    """
    found: dict[str, Sequence[Row]] = {}
    for query in queries:
        if query.purpose is Purpose.DERIVE:
            engine.derive(query.name, query.sql)
        elif query.purpose is Purpose.CHECK:
            # Most checks find nothing, and are spared the search for the first problems.
            has_problem = engine.rows(any_problem(query))
            found[query.name] = engine.rows(first_problems(query)) if has_problem else ()
        else:
            found[query.name] = engine.rows(query.sql)
        on_done()
    return found


class DuckDBProof:
    """Engine that runs DuckDB in this process; use it in a `with` block."""

    def __init__(
        self,
        lake: LakeTables,
        topics: Iterable[str],
        *,
        spill_folder: str,
        is_small: bool,
        keeps_join_order: bool = False,
    ) -> None:
        """Start DuckDB.

        Args:
            lake: the lake's tables.
            topics: all topics of the lake.
            spill_folder: folder for data that exceeds the memory.
            is_small: whether to use only one thread, since more threads are slower on a small lake.
            keeps_join_order: whether each join keeps its right side in memory, as it is written.
                DuckDB would choose a side by the number of rows, which it guesses from a few files.
        """
        self._connection = duckdb.connect(
            config={"temp_directory": spill_folder, "memory_limit": _MEMORY}
        )
        self._connection.execute("SET preserve_insertion_order = false")
        if is_small:
            self._connection.execute("SET threads = 1")
        if keeps_join_order:
            optimizers = "join_order,build_side_probe_side"
            self._connection.execute(f"SET disabled_optimizers = '{optimizers}'")
        self._tables = DuckDBTables(self._connection, lake)
        self._topics = [*topics]

    def __enter__(self) -> Self:
        """Return the engine itself."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Close DuckDB."""
        self._connection.close()

    def name_files(self, table: Table, paths: Sequence[str], name: str = "") -> None:
        """Define a table over data files, and its view with the column `file_path`."""
        table = table._replace(name=name) if name else table
        with _failures_named():
            self._tables.name(table, paths, lambda: self._topics)
            listed = ", ".join(map(literal, self._tables.spelled(paths)))
            source = f"read_parquet([{listed}], filename = true, hive_partitioning = false)"
            view = f"*, filename AS file_path FROM {source}"
            view = view if paths else f"*, '' AS file_path FROM {table.name}"
            files = FILES.format(table=table.name)
            self._connection.execute(f"CREATE OR REPLACE TEMPORARY VIEW {files} AS SELECT {view}")

    def define(self, name: str, sql: str) -> None:
        """Define a view for later queries."""
        with _failures_named():
            self._connection.execute(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {sql}")

    def derive(self, name: str, sql: str) -> None:
        """Compute a table from a query, for later queries."""
        with _failures_named():
            self._connection.execute(f"CREATE OR REPLACE TEMPORARY TABLE {name} AS {sql}")

    def rows(self, sql: str) -> Sequence[Row]:
        """Run a query and return its rows; see `ProofEngine.rows`."""
        with _failures_named():
            return self._connection.execute(sql).to_arrow_table().to_pylist()

    def reader(self, sql: str) -> pa.RecordBatchReader:
        """Run a query and return its rows as a stream, which must end before the next query."""
        with _failures_named():
            return self._connection.execute(sql).to_arrow_reader(_BATCH_ROWS)


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
    """Engine that runs Spark; all nodes must reach the lake at the same path."""

    def __init__(self, context: "SparkContext") -> None:
        """Open a new session.

        Args:
            context: a running Spark context, which the caller stops.
        """
        from pyspark.sql import SparkSession

        self._session = SparkSession(context).newSession()

    def __enter__(self) -> Self:
        """Return the engine itself."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Do nothing, since Spark removes tables without references."""

    def name_files(self, table: Table, paths: Sequence[str], name: str = "") -> None:
        """Define a table over data files, and its view with the column `file_path`."""
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
        frame.createOrReplaceTempView(name or table.name)
        named.createOrReplaceTempView(FILES.format(table=name or table.name))

    def define(self, name: str, sql: str) -> None:
        """Define a view for later queries."""
        with _spark_failures_named():
            self._session.sql(sql).createOrReplaceTempView(name)

    def derive(self, name: str, sql: str) -> None:
        """Compute a table from a query, for later queries."""
        # A checkpoint removes a table's plan; otherwise plans of derived tables would grow without
        # limit.
        with _spark_failures_named():
            self._session.sql(sql).localCheckpoint().createOrReplaceTempView(name)

    def rows(self, sql: str) -> Sequence[Row]:
        """Run a query and return its rows; see `ProofEngine.rows`."""
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
