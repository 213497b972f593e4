"""Which engine answers a statement: DuckDB, in this process, or Spark, which has to start first."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, Protocol, TextIO

from seglake.pipelines.lake_query.answers import Answer, OutputFormat, write
from seglake.pipelines.lake_query.errors import NotForDuckDBError
from seglake.pipelines.lake_query.internal_notes import internal_notes


class QueryEngine(StrEnum):
    """What may be asked for by name."""

    DUCKDB = "duckdb"
    SPARK = "spark"


class DuckDB(Protocol):
    """What `duckdb_queries` has."""

    def answer(self, statement: str) -> Answer: ...


class Spark(DuckDB, Protocol):
    """What `spark_queries` has; importing that takes a second."""

    def write(self, statement: str, form: OutputFormat, out: TextIO) -> None: ...


class LakeQueries:
    """Answers each statement by the engine that can.

    Args:
        duckdb: None leaves everything to Spark.
        spark: starts it, or gives the one that runs; None leaves everything to DuckDB.
        note: is told why, where Spark answers in DuckDB's place, and what an answer lacks.
        lake: as the person named it.

    Attributes:
        may_go_on: whether another statement may be asked. Not after Ctrl-C met Spark: it may have
            cut a conversation with the JVM in two.
    """

    def __init__(
        self,
        duckdb: DuckDB | None,
        spark: Callable[[], Spark] | None,
        note: Callable[[str], None],
        lake: str = "",
    ) -> None:
        self._lake = lake
        self._noted: set[str] = set()
        self._duckdb = duckdb
        self._spark = spark
        self._note = note
        self.may_go_on = True

    def write(self, statement: str, form: OutputFormat, out: TextIO) -> None:
        """Write the answer to a statement, as `spark_queries` and `duckdb_queries` say."""
        answer = self._by_duckdb(statement)
        if answer is not None:
            write(answer, form, out)
        else:
            with self._asking_spark() as spark:
                spark.write(statement, form, out)
        self.note_what_is_lacking(statement)

    def answer(self, statement: str) -> Answer:
        """The answer to a statement; from Spark, all of it."""
        answer = self._by_duckdb(statement)
        if answer is not None:
            return answer
        with self._asking_spark() as spark:
            return spark.answer(statement)

    def note_what_is_lacking(self, statement: str) -> None:
        """Note once what the answer to a statement lacks, after it was read to the end."""
        for text in internal_notes(statement, self._lake, self._rows):
            if text not in self._noted:
                self._noted.add(text)
                self._note(text)

    def _rows(self, statement: str) -> Iterator[dict[str, Any]]:
        for batch in self.answer(statement).batches:
            yield from batch.to_pylist()

    def _by_duckdb(self, statement: str) -> Answer | None:
        """None where Spark is to answer."""
        if self._duckdb is None:
            return None
        try:
            return self._duckdb.answer(statement)
        except NotForDuckDBError as error:
            if self._spark is None:
                raise
            self._note(f"Spark answers: {error}")
            return None

    @contextmanager
    def _asking_spark(self) -> Iterator[Spark]:
        if self._spark is None:
            raise ValueError
        try:
            yield self._spark()
        except KeyboardInterrupt:
            self.may_go_on = False
            raise
