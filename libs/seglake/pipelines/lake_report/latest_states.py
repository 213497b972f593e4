"""Reads which tables of latest state a lake has, and how current they are."""

from datetime import UTC, datetime
from typing import NamedTuple

from seglake.grouping import grouped
from seglake.lake.app_versions import app_id
from seglake.lake.delta_tables import LakeTables
from seglake.lake.errors import LatestTableError
from seglake.lake.foreign_changes import commit_of
from seglake.lake.latest_tables import latest_tables
from seglake.pipelines.lake_report.ledger import Ledger


class LatestTableState(NamedTuple):
    """A table of latest state.

    Attributes:
        table: name of the table.
        topic: its topic; the reason if the tables cannot be listed.
        lacks: number of commits with rows of its topic that it lacks; None if it is unknown.
        changed_at: time of its newest commit; None if its log does not say.
    """

    table: str
    topic: str
    lacks: int | None
    changed_at: datetime | None


def latest_states(tables: LakeTables, ledger: Ledger) -> tuple[LatestTableState, ...]:
    """Return the tables of latest state, those that lack most commits first.

    Args:
        tables: the lake.
        ledger: its ledger.
    """
    commits = grouped(
        (topic, (source, generation))
        for source, topic, generation in {
            (log.source_id, log.key.topic, row["generation"])
            for log, rows in ledger.rows.items()
            for row in rows
        }
    )
    try:
        there = latest_tables(tables)
    except LatestTableError as error:
        return (LatestTableState(error.table, str(error), None, None),)
    found = []
    for topic, table in there:
        state = tables.state(table)
        lacks = sum(
            generation > state.generation(app_id(source, topic))
            for source, generation in commits.get(topic, ())
        )
        at_ms = commit_of(tables, table, state.version).get("timestamp")
        changed = datetime.fromtimestamp(at_ms / 1000, UTC) if isinstance(at_ms, int) else None
        found.append(LatestTableState(table.name, topic, lacks, changed))
    return tuple(sorted(found, key=lambda each: (-(each.lacks or 0), each.table)))
