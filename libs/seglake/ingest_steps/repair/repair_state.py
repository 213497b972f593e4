"""The lake's gaps and damage before a repair, and the copies to search. Reads tables."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from seglake.grouping import grouped
from seglake.ingest_steps.repair.resolutions import (
    QUARANTINE_COLUMNS,
    region_of,
    unresolved,
)
from seglake.ingest_steps.run_context import RunContext, published
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.lake.tables import GAPS, QUARANTINE
from seglake.log_tables.batch_lookup import IngestedBatches
from seglake.log_tables.current_gaps import (
    GAP_COLUMNS,
    CurrentGap,
    GapPiece,
    fillable_gaps,
    fillable_rows,
    gap_pieces,
    standing_gaps,
)
from seglake.log_tables.source_ledger import SourceLedger

Rows = list[Mapping[str, Any]]  # Any: columns have many types


@dataclass(frozen=True)
class RepairState:
    """State of the lake before a repair, and the copies of its partitions.

    Attributes:
        context: the run.
        generations: commit counter (generation) of each topic, read before all other data.
        ledger: the lake's ledger.
        gap_rows: all rows of the source in `gaps`, with GAP_COLUMNS.
        gaps: gaps that another copy could fill.
        copies: all copies in the sources, by partition.
    """

    context: RunContext
    generations: dict[str, int]
    ledger: SourceLedger
    gap_rows: pa.Table
    gaps: Mapping[PartitionKey, Sequence[CurrentGap]]
    copies: Mapping[PartitionKey, Sequence[Replica]]

    @property
    def folders(self) -> set[str]:
        """Return the folders of all copies in the sources."""
        return {copy.folder for copies in self.copies.values() for copy in copies}

    @cached_property
    def readable(self) -> dict[PartitionKey, list[Replica]]:
        """Return the copies that have segments, except future replicas (copies for a move)."""
        found = {
            key: [copy for copy in copies if copy.segments and not copy.is_future]
            for key, copies in self.copies.items()
        }
        return {key: copies for key, copies in found.items() if copies}

    @cached_property
    def pieces(self) -> dict[PartitionKey, list[GapPiece]]:
        """Return all current gaps as arrays by partition, including compacted ones."""
        return gap_pieces(self.gap_rows, self.ledger)

    @cached_property
    def standing(self) -> dict[PartitionKey, list[CurrentGap]]:
        """Return all current gaps by rising offsets, including gaps left by the log cleaner."""
        return standing_gaps(self.pieces)

    def compacted(self, key: PartitionKey) -> list[OffsetRange]:
        """Return the offset ranges that the lake records as compacted in a partition, rising."""
        return sorted(
            offsets
            for piece in self.pieces.get(key, ())
            if piece.cause is GapCause.COMPACTED
            for offsets in zip(piece.starts.tolist(), piece.stops.tolist(), strict=True)
        )

    @cached_property
    def lake(self) -> IngestedBatches:
        """Return lookups of the lake's batches."""
        return IngestedBatches(self.context.tables, self.context.source_id, self.ledger)

    @cached_property
    def every_damage(self) -> dict[PartitionKey, Rows]:
        """Return all rows of `quarantine`, except those of lost elections.

        Resolved rows are included. The bytes are not read.
        """
        tables, found = self.context.tables, dict[PartitionKey, Rows]()
        for row in tables.rows(QUARANTINE, self.context.source_id, QUARANTINE_COLUMNS).to_pylist():
            log, start = self.ledger.of_row(row), region_of(row)[0]
            if start < log.counts_until(start, row["generation"]):
                found.setdefault(log.key, []).append({**row, "topic_id": log.key.topic_id})
        return found

    @cached_property
    def damage(self) -> dict[PartitionKey, Rows]:
        """Return the unresolved rows of `quarantine` of partitions with gaps."""
        return self.damage_of(self.gaps) if self.gaps else {}

    def damage_of(self, keys: Iterable[PartitionKey]) -> dict[PartitionKey, Rows]:
        """Return the unresolved rows of `quarantine` of these partitions."""
        found = {key: unresolved(self.every_damage.get(key, ())) for key in keys}
        return {key: rows for key, rows in found.items() if rows}

    def renewed(self) -> "RepairState":
        """Return the state after the last commits, for the same topics and copies."""
        copies = [copy for of_key in self.copies.values() for copy in of_key]
        return repair_state(self.context, self.generations, copies)

    @property
    def left_spans(self) -> dict[tuple[str, str], int]:
        """Return the number of unresolved damaged spans by partition and defect code."""
        return Counter(
            (str(key), row["defect_code"]) for key, rows in self.damage.items() for row in rows
        )

    @property
    def cut_spans(self) -> int:
        """Return the number of unresolved damaged spans whose bytes are incomplete in the lake."""
        return sum(not row["raw_is_complete"] for rows in self.damage.values() for row in rows)


def repair_state(
    context: RunContext, topics: Collection[str], replicas: Collection[Replica] = ()
) -> RepairState:
    """Return the state of some topics in the lake.

    Args:
        context: the run.
        topics: the topics.
        replicas: copies in the sources. Their folders supply a topic's id if the lake lacks it.
    """
    generations, ledger = published(context, sorted(topics))
    for topic, topic_id in _only_ids(replicas).items():
        ledger.adopt(topic, topic_id)
    copies = grouped((ledger.of_copy(replica).key, replica) for replica in replicas)
    gap_rows = context.tables.rows(GAPS, context.source_id, GAP_COLUMNS)
    requested = (row for row in fillable_rows(gap_rows) if row["topic"] in topics)
    gaps = fillable_gaps(requested, ledger)
    return RepairState(context, generations, ledger, gap_rows, gaps, copies)


def _only_ids(replicas: Iterable[Replica]) -> dict[str, str]:
    """Return the topic ids of topics whose folders all have the same id."""
    ids: dict[str, set[str]] = {}
    for replica in replicas:
        if replica.key.topic_id is not None and not replica.has_id_of_lake:
            ids.setdefault(replica.key.topic, set()).add(replica.key.topic_id)
    return {topic: found.pop() for topic, found in ids.items() if len(found) == 1}
