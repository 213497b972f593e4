"""Plans an update of latest state for one topic and cluster, from the ledger's new rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from seglake.kafka_log.replica import PartitionKey
from seglake.lake.latest_tables import LatestTable
from seglake.log_tables.ledger_layers import (
    FILLS,
    INGESTED,
    REMOVALS,
    RangeKind,
    removed_generation,
)
from seglake.log_tables.source_ledger import SourceLedger

Row = Mapping[str, Any]  # Any: the ledger's columns have many types
_ADDS_ROWS = (RangeKind.INGEST, *FILLS)
_HAS_ROWS = (*INGESTED, *FILLS)


class Log(NamedTuple):
    """Partition of a topic; its topic id is None if unknown."""

    known_id: str | None
    partition: int


class Span(NamedTuple):
    """Offsets [start, stop) of a partition; None as `stop` for no limit."""

    partition: int
    start: int
    stop: int | None


class Election(NamedTuple):
    """Range of the ledger whose rows lost an election, so that they no longer count."""

    known_id: str | None
    partition: int
    start_offset: int
    next_offset: int
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LatestWork:
    """Plan to update one cluster's rows in a table of latest state.

    Attributes:
        latest: the table.
        applied: generation of the newest commit that the table has.
        published: generation of the newest published commit.
        first_id: the topic's first known id; rows without an id belong to it.
        spans: offsets at which new rows may be.
        whole: partitions to compute from all their records.
        unnamed: numbers of partitions whose rows lack a topic id that is now known.
        elections: ranges that lost an election.
        is_rebuilt: whether all rows of the cluster are computed again.
    """

    latest: LatestTable
    source_id: str
    applied: int
    published: int
    first_id: str | None
    spans: tuple[Span, ...]
    whole: frozenset[Log]
    unnamed: frozenset[int]
    elections: tuple[Election, ...]
    is_rebuilt: bool

    @property
    def topic(self) -> str:
        """Return the name of the topic."""
        return self.latest.topic

    @property
    def is_first(self) -> bool:
        """Return whether the table has no rows of the cluster."""
        return self.applied == 0


def work_of(
    latest: LatestTable,
    source_id: str,
    rows: Iterable[Row],
    *,
    applied: int,
    published: int,
    rebuild: bool,
) -> LatestWork | None:
    """Return the plan for one cluster's rows; None if the ledger has no new row.

    A commit that neither adds nor removes records has no row in the ledger.

    Args:
        latest: the table.
        source_id: the cluster.
        rows: the ledger's rows of the cluster, folded or not, in any order.
        applied: generation of the newest commit that the table has.
        published: generation of the newest published commit.
        rebuild: whether to compute all partitions from all their records.
    """
    mine = [r for r in rows if r["topic"] == latest.topic and r["generation"] <= published]
    new = [row for row in mine if row["generation"] > applied]
    if not (new or (mine and rebuild)):
        return None
    ledger = SourceLedger(mine)
    logs = {_log(ledger, row) for row in mine}
    unnamed = _unnamed(mine, applied)
    if applied == 0:  # the first run: all rows are new
        whole = frozenset[Log]()
    elif rebuild:
        whole = frozenset(logs)
    else:
        changed = {_log(ledger, row) for row in new if _changes_rows(row, applied)}
        whole = frozenset(changed | {log for log in logs if log.partition in unnamed})
    return LatestWork(
        latest=latest,
        source_id=source_id,
        applied=applied,
        published=published,
        first_id=ledger.joined_key(PartitionKey(latest.topic, 0, None)).topic_id,
        spans=(*_spans(new), *(Span(log.partition, 0, None) for log in whole)),
        whole=whole,
        unnamed=unnamed,
        elections=tuple(_elections(ledger, mine)),
        is_rebuilt=rebuild,
    )


def _changes_rows(row: Row, applied: int) -> bool:
    """Return whether a ledger row may remove records that the table includes."""
    if row["kind"] in REMOVALS:
        removed = removed_generation(row)
        return removed is None or removed <= applied
    return row["kind"] not in _ADDS_ROWS


def _log(ledger: SourceLedger, row: Row) -> Log:
    key = ledger.key_of(row)
    return Log(key.topic_id, key.partition)


def _unnamed(rows: Sequence[Row], applied: int) -> frozenset[int]:
    """Return the partitions whose rows lack a topic id that is now known."""
    old = [row for row in rows if row["generation"] <= applied]
    is_named = any(row["topic_id"] is not None for row in rows)
    if not is_named or any(row["topic_id"] is not None for row in old):
        return frozenset()
    return frozenset(row["partition"] for row in old)


def _spans(new: Iterable[Row]) -> Iterator[Span]:
    for row in new:
        if row["kind"] in _HAS_ROWS:
            yield Span(row["partition"], row["start_offset"], row["next_offset"])


def _elections(ledger: SourceLedger, rows: Iterable[Row]) -> Iterator[Election]:
    for row in rows:
        if row["kind"] == RangeKind.SUPERSEDED:
            offsets = row["start_offset"], row["next_offset"]
            yield Election(*_log(ledger, row), *offsets, row["generation"])
