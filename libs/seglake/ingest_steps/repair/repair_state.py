"""The lake's gaps and damage before a repair. Effect: reads tables."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from seglake.ingest_steps.repair.resolutions import (
    QUARANTINE_COLUMNS,
    region_of,
    unresolved,
)
from seglake.ingest_steps.run_context import RunContext, published
from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.lake.tables import GAPS, QUARANTINE
from seglake.log_tables.current_gaps import (
    GAP_COLUMNS,
    CurrentGap,
    fillable_gaps,
    not_compacted,
)
from seglake.log_tables.source_ledger import SourceLedger

Rows = list[Mapping[str, Any]]  # Any: the columns of a row have many types


@dataclass(frozen=True, slots=True)
class RepairState:
    """State of the lake that a repair is based on.

    Attributes:
        generations: published generation of each topic; read before the rest.
        gap_rows: all rows of the source in `gaps`, with GAP_COLUMNS.
        damage: unresolved rows of `quarantine` by partition, without bytes, and without those of a
            log that lost an election there.
    """

    generations: dict[str, int]
    ledger: SourceLedger
    gaps: Mapping[PartitionKey, Sequence[CurrentGap]]
    damage: Mapping[PartitionKey, Rows]
    gap_rows: pa.Table

    @property
    def left_spans(self) -> dict[tuple[str, str], int]:
        """Count the unresolved damaged spans, by partition and defect code."""
        return Counter(
            (str(key), row["defect_code"]) for key, rows in self.damage.items() for row in rows
        )

    @property
    def cut_spans(self) -> int:
        """Count the unresolved damaged spans that the lake holds only in part."""
        return sum(not row["raw_is_complete"] for rows in self.damage.values() for row in rows)


def repair_state(
    context: RunContext, topics: Iterable[str], replicas: Iterable[Replica] = ()
) -> RepairState:
    """Read the gaps of some topics that a copy could fill, and the damage that made them.

    Args:
        replicas: a topic whose id the lake does not know takes the one that these name.
    """
    wanted = set(topics)
    generations, ledger = published(context, sorted(wanted))
    for topic, topic_id in _only_ids(replicas).items():
        ledger.adopt(topic, topic_id)
    gap_rows = context.tables.rows(GAPS, context.source_id, GAP_COLUMNS)
    rows = not_compacted(gap_rows)
    gaps = fillable_gaps((row for row in rows if row["topic"] in wanted), ledger)
    damage: Mapping[PartitionKey, Rows] = {}
    if gaps:
        rows_of = damage_rows(context, ledger)
        damage = {key: found for key in gaps if (found := unresolved(rows_of.get(key, ())))}
    return RepairState(generations, ledger, gaps, damage, gap_rows)


def damage_rows(context: RunContext, ledger: SourceLedger) -> dict[PartitionKey, Rows]:
    """Read the rows of `quarantine` by partition, without bytes, and without those of a log that
    lost an election there."""
    found: dict[PartitionKey, Rows] = {}
    for row in context.tables.rows(QUARANTINE, context.source_id, QUARANTINE_COLUMNS).to_pylist():
        log, start = ledger.of_row(row), region_of(row)[0]
        if start < log.counts_until(start, row["generation"]):
            found.setdefault(log.key, []).append({**row, "topic_id": log.key.topic_id})
    return found


def _only_ids(replicas: Iterable[Replica]) -> dict[str, str]:
    """Return the topic ids of folders, of topics for which they name one and no other."""
    ids: dict[str, set[str]] = {}
    for replica in replicas:
        if replica.key.topic_id is not None and not replica.takes_id_of_lake:
            ids.setdefault(replica.key.topic, set()).add(replica.key.topic_id)
    return {topic: found.pop() for topic, found in ids.items() if len(found) == 1}
