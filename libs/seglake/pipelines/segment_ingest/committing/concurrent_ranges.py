"""Ranges that another run committed before this one. Effect: reads the ledger."""

from collections.abc import Mapping
from dataclasses import dataclass

from seglake.log_tables.ledger_layers import RangeKind
from seglake.pipelines.segment_ingest.run_context import RunContext


@dataclass(frozen=True, slots=True)
class ConcurrentRange:
    """Offsets of a partition, and the run that has ingested them, or filled a gap there."""

    partition: str
    start_offset: int
    next_offset: int
    kind: RangeKind
    run_id: str


def concurrent_ranges(known: Mapping[str, int], context: RunContext) -> list[ConcurrentRange]:
    """Return the ledger's ranges of later generations than this run knew, in order.

    Args:
        known: the generation of each lost topic behind this run's own last commit.
    """
    if not known:
        return []
    rows = [
        row
        for row in context.tables.ledger(context.source_id).to_pylist()
        if row["topic"] in known and row["generation"] > known[row["topic"]]
    ]
    found: list[ConcurrentRange] = []
    for row in sorted(rows, key=lambda row: (row["topic"], row["partition"], row["start_offset"])):
        name, start = f"{row['topic']}-{row['partition']}", row["start_offset"]
        kind, run_id = RangeKind(row["kind"]), row["run_id"]
        if found and found[-1].next_offset == start:
            before = found[-1]
            if (before.partition, before.kind, before.run_id) == (name, kind, run_id):
                start = found.pop().start_offset
        found.append(ConcurrentRange(name, start, row["next_offset"], kind, run_id))
    return found
