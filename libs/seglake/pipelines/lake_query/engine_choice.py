"""Which engine answers a statement: DuckDB, in this process, or Spark, which has to start first."""

from collections.abc import Callable
from enum import StrEnum
from typing import Protocol, TextIO

from seglake.pipelines.lake_query.answers import Answer, OutputFormat, write
from seglake.pipelines.lake_query.errors import NotForDuckDBError


class QueryEngine(StrEnum):
    """What may be asked for by name."""

    DUCKDB = "duckdb"
    SPARK = "spark"


class Spark(Protocol):
    """What `spark_queries` has; importing that takes a second."""

    def answer(self, statement: str) -> Answer: ...

    def write(self, statement: str, form: OutputFormat, out: TextIO) -> None: ...


class DuckDB(Protocol):
    """What `duckdb_queries` has."""

    def answer(self, statement: str) -> Answer: ...


class LakeQueries:
    """Answers each statement by the engine that can.

    Args:
        duckdb: None leaves everything to Spark.
        spark: starts it, or gives the one that runs; None leaves everything to DuckDB.
        note: is told why, where Spark answers in DuckDB's place.
    """

    def __init__(
        self,
        duckdb: DuckDB | None,
        spark: Callable[[], Spark] | None,
        note: Callable[[str], None],
    ) -> None:
        self._duckdb = duckdb
        self._spark = spark
        self._note = note

    def write(self, statement: str, form: OutputFormat, out: TextIO) -> None:
        """Write the answer to a statement, as `spark_queries` and `duckdb_queries` say."""
        engine = self._engine(statement)
        if isinstance(engine, Answer):
            write(engine, form, out)
        else:
            engine.write(statement, form, out)

    def answer(self, statement: str) -> Answer:
        """The answer to a statement; from Spark, all of it."""
        engine = self._engine(statement)
        return engine if isinstance(engine, Answer) else engine.answer(statement)

    def _engine(self, statement: str) -> Answer | Spark:
        """The answer of DuckDB, or else Spark."""
        if self._duckdb is not None:
            try:
                return self._duckdb.answer(statement)
            except NotForDuckDBError as error:
                if self._spark is None:
                    raise
                self._note(f"Spark answers: {error}")
        if self._spark is None:
            raise NotForDuckDBError("there is no engine")
        return self._spark()
