"""Finds rows that a retake keeps because the log cannot supply their offsets. Reads tables."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from seglake.findings.shown_offsets import shown_ranges
from seglake.ingest_steps.planning.partitions import SurveyedPartition
from seglake.ingest_steps.replica_conflicts.elections import current_batches, spans_of
from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.leader_epochs import OPEN_END
from seglake.kafka_log.offset_ranges import OffsetRange, common, merged
from seglake.kafka_log.unread_segments import why_unread
from seglake.log_tables.partition_ledger import PartitionLedger


class KeptRows(NamedTuple):
    """Offsets that are not ingested again, and the reason as text; both may be empty."""

    ranges: Sequence[OffsetRange] = ()
    reason: str = ""


def kept_rows(
    partition: SurveyedPartition,
    ledger: PartitionLedger,
    counting: Sequence[OffsetRange],
    context: RunContext,
) -> KeptRows:
    """Return the rows below the log start, in unread segments, or above the readable offsets.

    A row (record, batch or gap) that is partly in such a range is kept whole.

    Args:
        partition: the surveyed log to read from.
        ledger: the partition's ledger.
        counting: the requested offsets whose rows lost no election.
        context: the run.
    """
    if not counting:
        return KeptRows()
    bounds, folder = partition.bounds, partition.replica.folder
    spans = spans_of(ledger, current_batches(ledger, context), context)

    def of(ranges: Iterable[OffsetRange]) -> list[OffsetRange]:
        wide = merged(widened(each, spans) for each in ranges)
        return [rest for each in wide for rest in common(counting, each)]

    below = of([(0, bounds.log_start_offset)])
    waiting = of(partition.waiting_ranges)
    above = of([(bounds.next_offset, OPEN_END)])
    reasons = []
    if waiting:
        why = why_unread(partition.replica.unread)
        reasons.append(
            f"{shown_ranges(waiting)} is not replaced: it cannot be read in {folder}: {why}"
        )
    if above:
        reasons.append(
            f"{shown_ranges(above)} is not replaced: the log in {folder} may only be read up to "
            f"{bounds.next_offset}"
        )
    return KeptRows(merged([*below, *waiting, *above]), "; ".join(reasons))


def widened(offsets: OffsetRange, spans: Sequence[OffsetRange]) -> OffsetRange:
    """Return a range, extended so that it splits no row.

    Args:
        offsets: the range.
        spans: offset ranges of the rows.
    """
    start, stop = offsets
    first = min((first for first, end in spans if first < start < end), default=start)
    last = max((end for first, end in spans if first < stop < end), default=stop)
    return first, last
