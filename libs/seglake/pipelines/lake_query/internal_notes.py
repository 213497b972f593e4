"""Warns if a query reads internal topics that are missing or incomplete in the lake.

Without a warning, an empty view would look like a cluster without consumer groups, and an old
offset like a group that lags.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from seglake.findings.advised_commands import ingest_internal
from seglake.lake.tables import TABLES, Table
from seglake.pipelines.lake_query.named import fixed_tables_in
from seglake.pipelines.lake_query.statements import shows_names
from seglake.pipelines.lake_query.views import Dialect, query, views, views_of

# Any: the columns of a row have many types.
Rows = Iterable[Mapping[str, Any]]

_METADATA = "__cluster_metadata"
_MOST_NUMBERS = 5
_COLUMNS = frozenset(name for table in TABLES for name in table.schema.names)


def internal_notes(statement: str, lake: str, ask: Callable[[str], Rows]) -> Iterator[str]:
    """Yield warnings about the answer to a statement.

    Args:
        statement: the statement that was answered.
        lake: the lake's path or URI as the user typed it, for the commands in the warnings.
        ask: answers a query over the same lake.
    """
    topics = _topics_in(statement)
    if not topics:
        return
    listed = ", ".join(f"'{topic}'" for topic in topics)
    logs = [*ask(query("internal_logs", listed))]
    for topic in topics:
        found = [row for row in logs if row["topic"] == topic]
        parts = [*_parts(found)]
        if not found:
            bounds = [row["upper_bound"] for row in ask(query("newest_bound"))]
            yield _left_out(topic, ingest_internal(lake, [topic], bounds[0] if bounds else None))
        elif parts:
            why = "; ".join(parts)
            yield f"the lake has only parts of {topic}, so the answer may be old: {why}"


def _topics_in(statement: str) -> list[str]:
    """Return the internal topics whose decoded tables a statement reads, also through views."""
    if shows_names(statement):
        return []
    text = " ".join((statement, *views_of(statement.casefold(), views(Dialect.SPARK)).values()))
    read = [table for table in fixed_tables_in(statement, Dialect.SPARK) if _reads(text, table)]
    return sorted(topic for table in read for topic in table.topics or ())


def _reads(text: str, table: Table) -> bool:
    """Return whether SQL uses a name as a table's name, not only as a column's."""
    if table.name not in _COLUMNS:
        return True
    return re.search(rf"\b(from|join)\s+[`\"]?{table.name}\b", text, re.IGNORECASE) is not None


def _left_out(topic: str, command: str) -> str:
    where = "the brokers' disks"
    if topic == _METADATA:
        where = (
            "the disks of KRaft's brokers or controllers (those of ZooKeeper clusters have none)"
        )
    return (
        f"the lake has no {topic}, so its table and views are empty. If a run with --rescue or "
        f"--internal-topics has read {where}, the topic is not on them; otherwise ingest it: "
        f"{command}"
    )


def _parts(logs: Rows) -> Iterator[str]:
    """Yield texts on a topic's partitions and offsets that the lake lacks."""
    rows = [*logs]
    numbers = {row["partition"] for row in rows}
    unseen = [number for number in range(max(numbers, default=0)) if number not in numbers]
    if unseen:
        yield f"no disk had {_numbered(unseen)}"
    waiting = [row["partition"] for row in rows if _is_waiting(row)]
    if waiting:
        yield (
            f"{_numbered(waiting)} not ingested to the log's end (for a dead cluster, ingest with"
            " --upper-bound log_end)"
        )
    damaged = [row["partition"] for row in rows if row["gaps"]]
    if damaged:
        yield f"offsets of {_numbered(damaged)} missing or quarantined"


def _is_waiting(row: Mapping[str, Any]) -> bool:
    reached, end = row["next_offset"], row["log_end_offset"]
    return reached is None or end is None or reached < end


def _numbered(partitions: Iterable[int]) -> str:
    numbers = sorted(set(partitions))
    more = ", …" if len(numbers) > _MOST_NUMBERS else ""
    shown = ", ".join(map(str, numbers[:_MOST_NUMBERS]))
    return f"partition{'s' * (len(numbers) > 1)} {shown}{more}"
