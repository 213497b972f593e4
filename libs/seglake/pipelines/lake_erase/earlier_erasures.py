"""Locates records that earlier erasures removed from `records`.

Other tables may still have rows of these records: an erasure died before it removed the rows, or a
run that had read the records committed the rows meanwhile.
"""

from collections.abc import Collection, Iterable, Iterator
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from seglake.grouping import grouped
from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.offset_gaps import GapCause
from seglake.lake.tables import GAPS
from seglake.log_tables.current_gaps import GAP_COLUMNS
from seglake.log_tables.ledger_layers import RangeKind, removed_generation
from seglake.log_tables.partition_ledger import PartitionLedger, Row
from seglake.log_tables.source_ledger import SourceLedger
from seglake.pipelines.lake_erase.placed_rows import RecordPlaces


def erased_earlier(
    context: RunContext, topics: Collection[str], ledger: SourceLedger
) -> dict[str, RecordPlaces]:
    """Return the positions of erased records that had current rows in `records`, by topic.

    Args:
        context: the run, with the source.
        topics: the topics.
        ledger: the source's whole ledger.
    """
    logs = [ledger.of(key) for key in ledger.partitions() if key.topic in topics]
    erasures = [(log, row) for log in logs for row in log.rows if _is_erasure(row)]
    # Most lakes have no erasures, and need not read their gaps.
    rows = context.tables.rows(GAPS, context.source_id, GAP_COLUMNS).to_pylist() if erasures else []
    gaps = grouped((row["attempt_id"], row) for row in rows if row["cause"] == GapCause.ERASED)
    parts = grouped(
        (log.key.topic, _places(log, row, gaps.get(row["attempt_id"], ()), context.source_id))
        for log, row in erasures
    )
    nothing = RecordPlaces({})
    return {topic: reduce(RecordPlaces.plus, parts.get(topic, ()), nothing) for topic in topics}


def _is_erasure(row: Row) -> bool:
    """Return whether a ledger row counts records erased from `records`, not skipped by a run."""
    removed = removed_generation(row) if row["kind"] == RangeKind.ERASED else None
    return removed is not None and removed < row["generation"]


def _places(log: PartitionLedger, row: Row, gaps: Iterable[Row], source_id: str) -> RecordPlaces:
    """Return the positions of the current records that a ledger row counts."""
    offsets = np.concatenate([np.zeros(0, np.int64), *_offsets(log, row, gaps)])
    generations = np.full(len(offsets), removed_generation(row), np.int64)
    partitions = np.full(len(offsets), log.key.partition, np.int64)
    found = np.stack([partitions, generations, offsets], axis=1)
    is_current = log.are_current(offsets, generations)
    topic_ids = {log.key.topic_id, *((None,) if log.owns_unnamed else ())}
    return RecordPlaces({(source_id, topic_id): found[is_current] for topic_id in topic_ids})


def _offsets(log: PartitionLedger, row: Row, gaps: Iterable[Row]) -> Iterator[NDArray[np.int64]]:
    """Yield the offsets of gaps that are in the range of a ledger row."""
    for gap in gaps:
        if log.owns(gap):
            start = max(gap["start_offset"], row["start_offset"])
            stop = min(gap["next_offset"], row["next_offset"])
            yield np.arange(start, stop, dtype=np.int64)
