"""Answers statements over a lake with one engine, and warns of incomplete answers."""

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any, Protocol, TextIO

from seglake.pipelines.lake_query.answers import Answer, OutputFormat
from seglake.pipelines.lake_query.internal_notes import internal_notes


class QueryEngine(StrEnum):
    """Names of engines on the command line."""

    DUCKDB = "duckdb"
    SPARK = "spark"


class Queries(Protocol):
    """Interface of `duckdb_queries` and `spark_queries`, whose imports take a second."""

    survives_interrupts: bool

    def answer(self, statement: str) -> Answer:
        """Return the engine's answer to a statement."""

    def write(self, statement: str, form: OutputFormat, out: TextIO) -> None:
        """Write the engine's answer to a statement."""


class LakeQueries:
    """Answers of one engine, with notes on missing data.

    Attributes:
        survives_interrupts: whether the engine answers further statements after Ctrl-C.
    """

    def __init__(self, engine: Queries, note: Callable[[str], None], lake: str) -> None:
        """Store the parts.

        Args:
            engine: answers all statements.
            note: receives each note.
            lake: the lake's path or URI as the user typed it.
        """
        self._engine = engine
        self._note = note
        self._lake = lake
        self._noted: set[str] = set()
        self.survives_interrupts = engine.survives_interrupts

    def write(self, statement: str, form: OutputFormat, out: TextIO) -> None:
        """Write the answer to a statement, and warn about data that is missing from it."""
        self._engine.write(statement, form, out)
        self.note_what_is_lacking(statement)

    def answer(self, statement: str) -> Answer:
        """Return the answer to a statement.

        With Spark, all rows are computed before this returns.
        """
        return self._engine.answer(statement)

    def note_what_is_lacking(self, statement: str) -> None:
        """Warn about data that is missing from an answer.

        Call this after the answer's last row. Each warning is given only once.
        """
        for text in internal_notes(statement, self._lake, self._rows):
            if text not in self._noted:
                self._noted.add(text)
                self._note(text)

    def _rows(self, statement: str) -> Iterator[dict[str, Any]]:
        for batch in self.answer(statement).batches:
            yield from batch.to_pylist()
