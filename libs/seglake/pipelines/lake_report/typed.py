"""Reads how many records of each topic are decoded, and why others are rejected."""

from collections.abc import Sequence
from typing import NamedTuple

from seglake.grouping import grouped
from seglake.lake.delta_tables import LakeTables
from seglake.lake.errors import TypedTableError
from seglake.lake.table_view import read_snapshots
from seglake.lake.typed_tables import typed_tables
from seglake.lake.value_tables import TYPED_CHECKPOINTS, VALUE_REJECTS
from seglake.printable import show_count
from seglake.proof.engines import ProofEngine, Row, answers_of
from seglake.proof.queries import TYPED_QUERIES, queries
from seglake.value_codec.reject_reasons import RejectReason

_DERIVED = ("typed_attempts", "typed_sources")


class Rejects(NamedTuple):
    """Keys or values of a topic that do not decode for one reason."""

    part: str
    reason: str
    number: int

    @property
    def to_do(self) -> str:
        """Return what a person can do about them."""
        return RejectReason(self.reason).to_do if self.reason in list(RejectReason) else ""


class TypedTopic(NamedTuple):
    """A topic of one cluster that has decoded commits.

    Attributes:
        tables: names of the topic's typed tables.
        records: number of records in decoded commits.
        typed_rows: number of these records with a typed row.
        waiting: number of records that no run has decoded yet.
        rejects: standing rejects of current records, the most frequent first.
    """

    source_id: str
    topic: str
    tables: tuple[str, ...]
    records: int
    typed_rows: int
    waiting: int
    rejects: tuple[Rejects, ...]

    @property
    def share(self) -> str:
        """Return the share of the decoded commits' records that have a typed row."""
        if self.typed_rows == self.records:
            return "all"
        return f"{1000 * self.typed_rows // self.records / 10} %"  # never 100 if one is missing


class TypedReport(NamedTuple):
    """The typed tables of a lake, by topic.

    Attributes:
        problem: why the typed tables cannot be listed; "" if they can.
    """

    topics: tuple[TypedTopic, ...] = ()
    problem: str = ""

    @property
    def reject_count(self) -> int:
        """Return the number of keys and values that do not decode."""
        return sum(found.number for each in self.topics for found in each.rejects)

    @property
    def waiting(self) -> int:
        """Return the number of records of decoded topics that no run has decoded yet."""
        return sum(each.waiting for each in self.topics)

    def lines(self) -> list[str]:
        """Return the typed tables in two lines at most, for the head of the page."""
        lines = [f"typed tables: {self.problem}"] if self.problem else []
        if self.topics:
            rows = show_count(sum(each.typed_rows for each in self.topics), "typed row")
            text = f"{rows} of {show_count(len(self.topics), 'topic')}"
            if self.reject_count:
                text += f"; rejected keys and values: {self.reject_count}"
            if self.waiting:
                text += f"; {show_count(self.waiting, 'record')} not decoded yet"
            lines.append(text)
        return lines


def read_typed(tables: LakeTables, proof: ProofEngine) -> TypedReport:
    """Return what a lake's typed tables hold; empty if nothing was ever decoded.

    Args:
        tables: the lake.
        proof: an engine that has the table `checkpoints`.
    """
    if not (tables.has(VALUE_REJECTS) and tables.has(TYPED_CHECKPOINTS)):
        return TypedReport()
    snapshots = read_snapshots(tables, (VALUE_REJECTS, TYPED_CHECKPOINTS))
    for table in (VALUE_REJECTS, TYPED_CHECKPOINTS):
        proof.name_files(table, [file.path for file in snapshots[table.name].files])
    derived = [query for query in queries(name=TYPED_QUERIES) if query.name in _DERIVED]
    answers = answers_of(proof, [*derived, *queries(__package__, "typed.sql")])
    try:
        names = grouped((each.topic, each.table.name) for each in typed_tables(tables))
    except TypedTableError as error:
        return TypedReport(_topics(answers, {}), str(error))
    return TypedReport(_topics(answers, names))


def _topics(
    answers: "dict[str, Sequence[Row]]", names: dict[str, list[str]]
) -> tuple[TypedTopic, ...]:
    rejects = grouped(
        ((row["source_id"], row["topic"]), Rejects(row["part"], row["reason"], row["number"]))
        for row in answers["typed_rejects"]
    )
    return tuple(
        TypedTopic(
            source_id=row["source_id"],
            topic=row["topic"],
            tables=tuple(names.get(row["topic"], ())),
            records=row["records"],
            typed_rows=row["typed_rows"],
            waiting=row["waiting"],
            rejects=tuple(rejects.get((row["source_id"], row["topic"]), ())),
        )
        for row in answers["typed_counts"]
    )
