"""Proves the tables of latest state, after the proof of the lake and in the same engine."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.grouping import grouped
from seglake.lake.app_versions import app_id
from seglake.lake.delta_tables import LakeTables
from seglake.lake.duckdb_sql import literal
from seglake.lake.errors import LatestTableError
from seglake.lake.latest_tables import LatestTable, latest_table, latest_tables
from seglake.pipelines.lake_audit.lake_state import LakeState, Topic
from seglake.pipelines.lake_audit.problems import log_problems
from seglake.printable import show_count
from seglake.proof.engines import ProofEngine, ProofFailedError, Row, answers_of
from seglake.proof.queries import LATEST_QUERIES, latest_compared, latest_states, queries


class LatestState(NamedTuple):
    """Tables of latest state at one moment.

    Attributes:
        files: data files of each table.
        applied: generation up to which a table has the records of a source and topic.
        problem: why the tables cannot be read; empty if they can.
    """

    files: Mapping[str, tuple[LatestTable, Sequence[str]]]
    applied: Mapping[Topic, int]
    problem: str = ""


class LatestAudit(NamedTuple):
    """Result of the proof of tables of latest state.

    Attributes:
        topics: counts of rows by topic, of tables that have any.
        tables: number of tables that were read.
    """

    findings: Sequence[Finding] = ()
    topics: Sequence[Row] = ()
    notes: Sequence[str] = ()
    tables: int = 0

    def line(self) -> str:
        """Return the counts of all tables as one line of text."""
        if not self.tables:
            return "latest state: no table was read"
        keys = sum(int(row["keys"]) for row in self.topics)
        deleted = sum(int(row["deleted"]) for row in self.topics)
        tables = show_count(self.tables, "table")
        return f"latest state: {show_count(keys, 'key')} in {tables}, {deleted} of them deleted"

    # Any: the types that JSON can hold.
    def to_mapping(self) -> dict[str, Any]:
        """Return the counts of each topic as a mapping for JSON."""
        return {"topics": [dict(row) for row in self.topics]}


def read_latest_state(tables: LakeTables, sources: Iterable[str]) -> LatestState | None:
    """Return the tables of latest state; None if there are none.

    It must be read before the ledger, so that no table is ahead of it.
    """
    try:
        found = latest_tables(tables)
    except LatestTableError as error:
        return LatestState({}, {}, str(error))
    files: dict[str, tuple[LatestTable, Sequence[str]]] = {}
    applied: dict[Topic, int] = {}
    for each in found:
        handle = tables.open(each.table)
        files[each.table.name] = each, tables.file_paths(each.table, handle=handle)
        for source in sources:
            number = tables.generation(each.table, handle, app_id(source, each.topic))
            if number:
                applied[source, each.topic] = number
    return LatestState(files, applied) if found else None


def prove_latest(engine: ProofEngine, state: LatestState, lake: LakeState) -> LatestAudit:
    """Compare the tables of latest state with the records.

    Args:
        engine: an engine that has run the proof of the lake, so that it has the lake's tables.
        state: the tables of latest state.
        lake: the state of the lake, read after them.
    """
    if state.problem:
        return LatestAudit([Finding(FindingKind.LATEST_ROWS, state.problem)])
    lacking = _lacking(state, lake)
    current = {
        topic: number
        for topic, number in state.applied.items()
        if not lacking[topic] and topic not in lake.unsettled
    }
    notes = [_lacking_note(topic, lacking[topic]) for topic in lacking if topic not in current]
    try:
        findings, topics = _proved(engine, state, current)
    except ProofFailedError as error:
        return LatestAudit([Finding(FindingKind.LATEST_ROWS, f"latest state: {error}")])
    return LatestAudit(findings, topics, notes, len(state.files))


def _lacking(state: LatestState, lake: LakeState) -> dict[Topic, int]:
    """Return the number of commits with rows in the ledger that a table lacks, by topic."""
    rows = grouped(
        ((partition.source_id, partition.key.topic), row["generation"])
        for partition, own in lake.rows.items()
        for row in own
    )
    return {
        topic: len({number for number in rows.get(topic, ()) if number > applied})
        for topic, applied in state.applied.items()
    }


def _lacking_note(topic: Topic, commits: int) -> str:
    """Return a note on a table that lags behind the lake, so that it is not compared."""
    waiting = show_count(commits, "commit")
    name = latest_table(topic[1]).table.name
    return f"{name} is not compared: it lacks {waiting} of {topic[0]}: run seglake latest"


def _proved(
    engine: ProofEngine, state: LatestState, current: Mapping[Topic, int]
) -> tuple[list[Finding], Sequence[Row]]:
    names = []
    for number, (each, paths) in enumerate(state.files.values()):
        names.append(f"latest_table_{number}")
        engine.name_files(each.table, paths, names[-1])
    engine.define("latest_states", latest_states(names))
    topics_sql = {(literal(source), literal(topic)): n for (source, topic), n in current.items()}
    engine.define("latest_compared", latest_compared(topics_sql))
    answers = answers_of(engine, queries(name=LATEST_QUERIES))
    topics = answers.pop("latest_topics")
    kind = FindingKind.LATEST_ROWS
    return [each for rows in answers.values() for each in log_problems(kind, rows)], topics
