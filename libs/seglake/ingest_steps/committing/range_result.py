"""Combines the tasks' reports on each range into its result: gaps and ledger row."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import reduce
from itertools import pairwise
from typing import Any, NamedTuple

from seglake.grouping import grouped
from seglake.ingest_steps.planning.plan import RangePlan, RemainingGap
from seglake.kafka_log.gap_ranges import GapsByCause, gaps_joined, tallied
from seglake.kafka_log.leader_epochs import LeaderEpochs
from seglake.kafka_log.offset_gaps import GapCause, cause_of
from seglake.kafka_log.offset_ranges import OffsetRange, common, merged, subtracted, subtracted_near
from seglake.kafka_log.replica import PartitionKey, RemoteGap
from seglake.kafka_log.segment_survey import LastBatch
from seglake.lake.removed_sums import NOTHING_REMOVED, RemovedSums
from seglake.log_tables.current_gaps import CurrentGap
from seglake.log_tables.ledger_layers import RangeKind, commit_name, empty_row
from seglake.segment_decoding.damaged_markers import are_markers, unread_markers
from seglake.segment_decoding.tasks import SplitReport, Totals

_UNDELETED = {
    GapCause.MISSING: (
        "offsets below the first segment: leader-epoch-checkpoint proves that Kafka did not "
        "delete them"
    ),
    GapCause.DELETED_OR_LOST: (
        "offsets below the first segment: no file shows whether Kafka deleted them or they were "
        "lost"
    ),
}
_BOUNDS = ("log_start_offset", "high_watermark", "last_stable_offset", "log_end_offset")
_SUMS = ("records", "batches", "quarantined_batches", "key_bytes", "value_bytes")
_JUST_GONE = "its segment was deleted while the run read the log"


class RangeResult(NamedTuple):
    """Result of decoding a range of offsets.

    Attributes:
        plan: the planned range.
        reports: reports of its splits, in order.
        gaps: gaps between the splits and at the ends of the range.
        next_offset: the actual end of the range.
        totals: sums of the splits' rows.
    """

    plan: RangePlan
    reports: tuple[SplitReport, ...]
    gaps: tuple[CurrentGap, ...]
    next_offset: int
    totals: Totals

    @property
    def key(self) -> PartitionKey:
        """Return the partition of the range."""
        return self.plan.key

    @property
    def offsets(self) -> OffsetRange:
        """Return the ingested part of the planned offsets."""
        return self.plan.start_offset, self.next_offset

    @property
    def ingested(self) -> RangePlan:
        """Return the plan of the range, cut at its actual end."""
        return replace(self.plan, next_offset=self.next_offset)

    @property
    def erased(self) -> RemovedSums:
        """Return the sums over the range's records that erasure rules removed."""
        return reduce(RemovedSums.plus, (report.erased for report in self.reports), NOTHING_REMOVED)

    @property
    def open_rows(self) -> int:
        """Return the number of the range's rows in transactions that have not ended."""
        return sum(report.open_rows for report in self.reports)

    @property
    def gaps_by_cause(self) -> GapsByCause:
        """Return all gaps of the range by cause, including the gaps that its tasks found."""
        own = tallied((gap.cause, *gap.offsets) for gap in self.gaps)
        return gaps_joined([own, *(report.gaps for report in self.reports)])


def counts_by_name(
    results: Iterable[RangeResult], count_of: Callable[[RangeResult], int]
) -> dict[str, int]:
    """Add up a count by the partition's name, without partitions that have none."""
    counts: Counter[str] = Counter()
    for result in results:
        counts[str(result.key)] += count_of(result)
    return {name: count for name, count in counts.items() if count}


def by_partition(results: Iterable[RangeResult]) -> dict[PartitionKey, list[RangeResult]]:
    """Group results by partition, in their order."""
    return grouped((result.key, result) for result in results)


def combine_reports(plan: RangePlan, reports: Sequence[SplitReport]) -> RangeResult:
    """Combine the reports of a range's splits, given in the splits' order."""
    if plan.kind is RangeKind.REFILL:
        return _refilled(plan, reports)
    return _combined(plan, reports)


def _combined(plan: RangePlan, reports: Sequence[SplitReport]) -> RangeResult:
    """Combine the reports, with the gaps between them and at the ends of the range."""
    cuts = [report.cut_offset for report in reports if report.cut_offset is not None]
    end = min([plan.next_offset, *cuts])
    cursor, is_after_defect, is_compacted = plan.start_offset, False, False
    gaps: list[CurrentGap] = []

    def close(stop: int, is_compacted_hole: bool) -> None:
        for start, following in pairwise(_edges(plan, cursor, stop) if cursor < stop else []):
            cause = _remaining_cause(plan.remaining_gap, start, following) or cause_of(
                is_after_defect=is_after_defect,
                is_compacted=is_compacted_hole or following <= plan.cleaner_offset,
                next_offset=following,
                log_start_offset=plan.log_start_offset,
            )
            cause = GapCause.REMOTE if _is_remote(plan, start, following) else cause
            if plan.undeleted is not None and plan.undeleted.has(start, following):
                cause = plan.undeleted.cause
            if cause is GapCause.QUARANTINED and _are_markers(plan, start, following):
                cause = GapCause.MARKER
            detail = _detail(plan, start, following, cause)
            gap = CurrentGap(plan.key, start, following, cause, detail)
            if gaps and _is_one(gaps[-1], gap):
                gaps[-1] = gaps[-1]._replace(next_offset=following)
            else:
                gaps.append(gap)

    for report in reports:
        is_after_defect |= report.has_leading_defect
        if report.first_offset is None or report.next_offset is None:
            continue
        close(report.first_offset, is_compacted or report.is_compacted_at_start)
        cursor = report.next_offset
        is_after_defect = report.has_trailing_defect
        is_compacted = report.is_compacted_at_end
    close(end, is_compacted)
    return RangeResult(
        plan=plan,
        reports=tuple(reports),
        gaps=tuple(gaps),
        next_offset=max(end, cursor),
        totals=_totals(reports),
    )


def _are_markers(plan: RangePlan, start: int, stop: int) -> bool:
    """Return whether index and snapshot files prove that a hole had only transaction markers."""
    proved = unread_markers(marker for split in plan.splits for marker in split.markers)
    return are_markers(start, stop, proved)


def _detail(plan: RangePlan, start: int, stop: int, cause: GapCause) -> str | None:
    """Return the `detail` of the gap row for a hole; None if it has none."""
    if plan.undeleted is not None and plan.undeleted.has(start, stop):
        return _UNDELETED[cause]
    gap = _remote_gap(plan, start, stop)
    if gap is not None and cause is GapCause.REMOTE:
        return gap.reason
    is_first = plan.remaining_gap is None and cause is GapCause.DELETED
    return _JUST_GONE if is_first and start >= plan.first_log_start_offset else None


def _is_remote(plan: RangePlan, start: int, stop: int) -> bool:
    """Return whether a hole's offsets are only in the remote tier."""
    is_below = plan.remote_offset <= start and stop <= plan.log_start_offset
    return is_below or _remote_gap(plan, start, stop) is not None


def _remote_gap(plan: RangePlan, start: int, stop: int) -> RemoteGap | None:
    """Return the remote tier's gap that contains a hole of the range; None if none does."""
    for gap in plan.remote_gaps:
        if gap.start_offset <= start and stop <= gap.next_offset:
            return gap
    return None


def _totals(reports: Sequence[SplitReport]) -> Totals:
    return Totals(*(sum(values) for values in zip(*(r.totals for r in reports), strict=True)))


def _refilled(plan: RangePlan, reports: Sequence[SplitReport]) -> RangeResult:
    """Combine the reports of a refill; offsets that it did not fill are recorded as gaps again."""
    spans = merged(span for report in reports for span in report.refilled)
    hidden = _hidden(plan, reports)
    left = (
        rest
        for gap in plan.standing_gaps
        for start, stop in subtracted_near(gap.offsets, spans)
        for rest in _left(gap._replace(start_offset=start, next_offset=stop), hidden)
    )
    return RangeResult(
        plan=plan,
        reports=tuple(reports),
        gaps=tuple(left),
        next_offset=plan.next_offset,
        totals=_totals(reports),
    )


def _hidden(plan: RangePlan, reports: Sequence[SplitReport]) -> list[OffsetRange]:
    """Return the merged ranges of offsets that are unreadable because of damage in a copy."""
    read = merged((split.range_start, split.range_next) for split in plan.splits)
    around = [
        part
        for gap in _combined(plan, reports).gaps
        if gap.cause is GapCause.QUARANTINED
        for part in common(read, gap.offsets)
    ]
    return merged([*around, *(gap for report in reports for gap in report.hidden)])


def _left(gap: CurrentGap, hidden: Sequence[OffsetRange]) -> Iterator[CurrentGap]:
    """Yield the unfilled parts of a gap, split where damage in the copy may hide offsets.

    A gap caused by a transaction without a known outcome keeps this cause, because its batches were
    valid.
    """
    if gap.cause is GapCause.UNDECIDED:
        yield gap
        return
    rest = subtracted_near(gap.offsets, hidden)
    parts = [CurrentGap(gap.key, *offsets, gap.cause, gap.detail) for offsets in rest]
    damaged = subtracted(gap.offsets, rest)
    parts += [CurrentGap(gap.key, *offsets, GapCause.QUARANTINED) for offsets in damaged]
    yield from sorted(parts, key=lambda part: part.start_offset)


def _is_one(before: CurrentGap, gap: CurrentGap) -> bool:
    """Return whether a gap continues the previous one: same cause, and no offset between."""
    is_next = before.next_offset == gap.start_offset
    return is_next and (before.cause, before.detail) == (gap.cause, gap.detail)


def _edges(plan: RangePlan, start: int, stop: int) -> list[int]:
    """Return a hole's start and end, and the offsets between them at which the cause may change."""
    edges = {plan.remote_offset, plan.log_start_offset, plan.first_log_start_offset}
    edges.update(edge for gap in plan.remote_gaps for edge in (gap.start_offset, gap.next_offset))
    edges.update(() if plan.undeleted is None else plan.undeleted.offsets)
    if plan.remaining_gap is not None:
        edges.update(edge for part in plan.remaining_gap.explained_ranges for edge in part)
    return [start, *sorted(edge for edge in edges if start < edge < stop), stop]


def _remaining_cause(remaining: RemainingGap | None, start: int, stop: int) -> GapCause | None:
    """Return the cause that a gap keeps after a repair; None if the replica shows another one."""
    if remaining is None:
        return None
    is_explained = not subtracted_near((start, stop), remaining.explained_ranges)
    return None if is_explained else remaining.cause


def _leader_epoch(batch: LastBatch, of_log: LeaderEpochs) -> int | None:
    """Return the leader epoch in a batch's header; None if the log's epochs contradict it.

    No checksum covers the epoch.
    """
    known = of_log.epoch_at(batch.base_offset)
    return batch.leader_epoch if known in (batch.leader_epoch, None) else None


def ledger_rows(result: RangeResult, generation: int) -> Iterator[dict[str, Any]]:
    """Yield the columns of a range's rows in `checkpoints`, besides those of `ledger_columns`.

    The first row counts all records of the log; a second row counts the erased records.

    Args:
        result: the range.
        generation: generation of its commit.
    """
    yield _ledger_row(result)
    if result.erased.records:
        yield erased_row(result.offsets, generation, result.erased)


def _ledger_row(result: RangeResult) -> dict[str, Any]:
    """Return the ledger columns of a range, with the sums over all records of the log."""
    plan, totals = result.plan, result.totals
    lasts = [report.last_batch for report in result.reports if report.last_batch is not None]
    last = lasts[-1] if lasts else None
    times = [report.times_ms for report in result.reports if report.times_ms is not None]
    return {
        "kind": str(plan.kind),
        "start_offset": plan.start_offset,
        "next_offset": result.next_offset,
        "bytes": sum(r.bytes.in_tables + r.inner_bytes for r in result.reports),
        "min_timestamp_ms": min((oldest for oldest, _ in times), default=None),
        "max_timestamp_ms": max((newest for _, newest in times), default=None),
        **{name: getattr(plan.bounds, name, None) for name in _BOUNDS},
        "leader_epoch": None if last is None else _leader_epoch(last, plan.leader_epochs),
        **last_batch_columns(last),
        **{name: getattr(totals, name) for name in _SUMS},
        "offset_sum": Decimal(totals.offset_sum),
    }


def last_batch_columns(batch: LastBatch | None) -> dict[str, int | None]:
    """Return a ledger row's columns for the last batch of its range."""
    if batch is None:
        return {"last_batch_base_offset": None, "last_batch_crc": None}
    return {"last_batch_base_offset": batch.base_offset, "last_batch_crc": batch.crc}


def erased_row(offsets: OffsetRange, generation: int, erased: RemovedSums) -> dict[str, Any]:
    """Return a ledger row's columns for erased records; they replace those of `ledger_columns`.

    Args:
        offsets: a range with the records, all on one side of each election.
        generation: generation of the commit that added the records.
        erased: sums over the records.
    """
    return {
        **empty_row(RangeKind.ERASED, offsets),
        **erased._asdict(),
        "offset_sum": Decimal(erased.offset_sum),
        "upper_bound": commit_name(generation),
    }
