"""Ranges that another run committed before this one. Reads the ledger."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from operator import itemgetter

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.findings.shown_offsets import named_counts
from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.offset_ranges import merged
from seglake.log_tables.ledger_layers import FILLS, INGESTED, RangeKind
from seglake.printable import show_count


@dataclass(frozen=True, slots=True)
class ConcurrentRange:
    """Offsets of a partition that another run has ingested, or whose gap it has filled."""

    partition: str
    start_offset: int
    next_offset: int
    kind: RangeKind
    run_id: str


def concurrent_ranges(known: Mapping[str, int], context: RunContext) -> list[ConcurrentRange]:
    """Return the ranges in the ledger that were committed after this run's last commit, in order.

    Args:
        known: commit counter (generation) after this run's last commit, for each topic that another
            run committed to first.
        context: the run.
    """
    if not known:
        return []
    rows = [
        row
        for row in context.tables.ledger(context.source_id).to_pylist()
        if row["topic"] in known and row["generation"] > known[row["topic"]]
    ]
    rows.sort(key=itemgetter("topic", "partition", "start_offset"))
    alike = itemgetter("topic", "partition", "kind", "run_id")
    return [
        ConcurrentRange(f"{topic}-{partition}", *offsets, RangeKind(kind), run_id)
        for (topic, partition, kind, run_id), group in groupby(rows, key=alike)
        for offsets in merged(map(itemgetter("start_offset", "next_offset"), group))
    ]


def concurrent_findings(ranges: Sequence[ConcurrentRange]) -> Iterator[Finding]:
    """Yield findings on ranges that other runs ingested first, and on gaps that they filled."""
    for kind, layers in (
        (FindingKind.CONCURRENT_INGEST, INGESTED),
        (FindingKind.CONCURRENT_FILL, FILLS),
    ):
        found = [range_ for range_ in ranges if range_.kind in layers]
        counts: Counter[str] = Counter()
        for range_ in found:
            counts[range_.partition] += range_.next_offset - range_.start_offset
        if found:
            runs = ", ".join(dict.fromkeys(range_.run_id for range_ in found))
            offsets = show_count(counts.total(), "offset")
            text = f"{offsets} in {named_counts(counts)} (run id {runs})"
            yield Finding(kind, text, facts={"by_run": [asdict(range_) for range_ in found]})
