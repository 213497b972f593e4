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
    """Interface of `duckdb_queries` and `spark_queries`, which take a second to import."""

    survives_interrupts: bool

    def answer(self, statement: str) -> Answer:
        """Return the answer to a statement."""

    def write(self, statement: str, form: OutputFormat, out: TextIO) -> None:
        """Write the answer to a statement."""


class LakeQueries:
    """Answers of one engine, with notes on data that they lack.

    Attributes:
        survives_interrupts: another statement may be asked after Ctrl-C.
    """

    def __init__(self, engine: Queries, note: Callable[[str], None], lake: str) -> None:
        """Store the parts.

        Args:
            engine: answers all statements.
            note: receives each note.
            lake: the lake's path as the person gave it.
        """
        self._engine = engine
        self._note = note
        self._lake = lake
        self._noted: set[str] = set()
        self.survives_interrupts = engine.survives_interrupts

    def write(self, statement: str, form: OutputFormat, out: TextIO) -> None:
        """Write the answer to a statement, and note the data that it lacks."""
        self._engine.write(statement, form, out)
        self.note_what_is_lacking(statement)

    def answer(self, statement: str) -> Answer:
        """Return the answer to a statement; Spark computes all rows first."""
        return self._engine.answer(statement)

    def note_what_is_lacking(self, statement: str) -> None:
        """Note, once each, the data that an answer lacks; call it after the answer's last row."""
        for text in internal_notes(statement, self._lake, self._rows):
            if text not in self._noted:
                self._noted.add(text)
                self._note(text)

    def _rows(self, statement: str) -> Iterator[dict[str, Any]]:
        for batch in self.answer(statement).batches:
            yield from batch.to_pylist()
