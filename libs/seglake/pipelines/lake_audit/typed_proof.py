"""Runs the proof of typed tables after the proof of the lake, in the same engine."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pyarrow as pa

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.lake.duckdb_sql import literal
from seglake.lake.typed_tables import PLACE_FIELDS
from seglake.lake.value_tables import TYPED_CHECKPOINTS, VALUE_REJECTS
from seglake.pipelines.lake_audit.problems import log_problems
from seglake.pipelines.lake_audit.typed_state import TypedState
from seglake.printable import show_count
from seglake.proof.engines import ProofEngine, ProofFailedError, Row, answers_of
from seglake.proof.queries import TYPED_QUERIES, queries, typed_places

_KINDS = {str(kind): kind for kind in (FindingKind.TYPED_ROWS, FindingKind.TYPED_SUMS)}
_NOT_ERASED = "; complete the erasure of the topic first, which has not ended"


class TypedAudit(NamedTuple):
    """Result of the proof of a lake's typed tables."""

    findings: Sequence[Finding] = ()
    topics: Sequence[Row] = ()
    notes: Sequence[str] = ()

    def total(self, name: str) -> int:
        """Return the sum over all topics of one of the counts."""
        return sum(int(row[name]) for row in self.topics)

    def line(self) -> str:
        """Return the counts of all typed tables as one line of text."""
        if not self.topics:
            return "typed: no record is decoded yet"
        typed = show_count(self.total("typed_rows"), "typed row")
        topics = show_count(len(self.topics), "topic")
        values = show_count(self.total("value_rejects"), "value")
        keys = show_count(self.total("key_rejects"), "key")
        text = f"typed: {typed} of {topics}; rejected: {values}, {keys}"
        if waiting := self.total("waiting"):
            records = show_count(waiting, "record")
            text += f"; {records} of these topics not decoded yet: run seglake deserialize"
        return text

    # Any: the types that JSON can hold.
    def to_mapping(self) -> dict[str, Any]:
        """Return the counts of each topic for JSON."""
        return {"topics": [dict(row) for row in self.topics]}


def prove_typed(engine: ProofEngine, state: TypedState) -> TypedAudit:
    """Run the queries over the typed tables.

    Args:
        engine: the engine that ran the proof of the lake, since it has the lake's tables.
        state: the files to prove.
    """
    if state.problems:
        return _failed(state.problems)
    try:
        return _proved(engine, state)
    except ProofFailedError as error:
        return _failed([str(error)])


def _failed(reasons: Iterable[str]) -> TypedAudit:
    """Return the result for typed tables that cannot be proved, with the reasons as findings."""
    kind = FindingKind.TYPED_ROWS
    return TypedAudit([Finding(kind, f"typed tables: {reason}") for reason in reasons])


def _proved(engine: ProofEngine, state: TypedState) -> TypedAudit:
    for table in (VALUE_REJECTS, TYPED_CHECKPOINTS):
        engine.name_files(table, state.files[table.name])
    _define_places(engine, state)
    answers = answers_of(engine, queries(name=TYPED_QUERIES))
    topics = answers.pop("typed_topics")
    found = [
        finding
        for name, rows in answers.items()
        for finding in _findings(_KINDS[name], rows, state)
    ]
    return TypedAudit(found, topics, [*state.unsettled.values()])


def _define_places(engine: ProofEngine, state: TypedState) -> None:
    """Define the view that locates the rows of all typed tables."""
    topics = {}
    for number, each in enumerate(state.tables):
        name = f"typed_table_{number}"
        places = each.table._replace(schema=pa.schema(PLACE_FIELDS), added=frozenset())
        engine.name_files(places, state.files[each.table.name], name)
        topics[name] = literal(each.topic)
    engine.define("typed_places", typed_places(topics))


def _findings(kind: FindingKind, rows: Iterable[Row], state: TypedState) -> Iterator[Finding]:
    """Yield a finding for each log with problems, except where a commit is unfinished."""
    for finding in log_problems(kind, rows):
        topic = finding.place.rpartition("-")[0]
        if (finding.facts["source_id"], topic) not in state.unsettled:
            is_erasing = kind is FindingKind.TYPED_ROWS and topic in state.erasing
            yield replace(finding, text=finding.text + _NOT_ERASED) if is_erasing else finding
