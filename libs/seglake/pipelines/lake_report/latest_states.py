"""Reads which tables of latest state a lake has, and how current they are."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from seglake.lake.app_versions import app_id
from seglake.lake.delta_tables import LakeTables
from seglake.lake.errors import LatestTableError
from seglake.lake.foreign_changes import commit_of
from seglake.lake.latest_tables import latest_tables
from seglake.lake.tables import CHECKPOINTS


class LatestTableState(NamedTuple):
    """A table of latest state.

    Attributes:
        table: name of the table.
        topic: its topic; the reason if the tables cannot be listed.
        lacks: number of published commits of its topic that it lacks; None if it is unknown.
        changed_at: time of its newest commit; None if its log does not say.
    """

    table: str
    topic: str
    lacks: int | None
    changed_at: datetime | None


def latest_states(tables: LakeTables, sources: Iterable[str]) -> tuple[LatestTableState, ...]:
    """Return the tables of latest state, those that lack most commits first.

    Args:
        tables: the lake.
        sources: its clusters.
    """
    clusters = [*sources]
    try:
        there = latest_tables(tables)
    except LatestTableError as error:
        return (LatestTableState(error.table, str(error), None, None),)
    found = []
    for topic, table in there:
        state, published = tables.state(table), tables.state(CHECKPOINTS)
        apps = [app_id(source, topic) for source in clusters]
        lacks = sum(max(0, published.generation(a) - state.generation(a)) for a in apps)
        at_ms = commit_of(tables, table, state.version).get("timestamp")
        changed = datetime.fromtimestamp(at_ms / 1000, UTC) if isinstance(at_ms, int) else None
        found.append(LatestTableState(table.name, topic, lacks, changed))
    return tuple(sorted(found, key=lambda each: (-(each.lacks or 0), each.table)))
