"""What the tables hold of a partition against what the ledger says of it. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

from seglake.kafka_log.offset_ranges import OffsetRange, merged, subtracted
from seglake.log_tables.coverage import RangeKind
from seglake.pipelines.lake_audit.cell_audit import PartitionFinding
from seglake.pipelines.lake_audit.gap_checks import (
    MOST_SHOWN,
    RANKS,
    GapCount,
    ShownGap,
    counts_joined,
)
from seglake.pipelines.lake_audit.ledger import (
    Blocks,
    LakePartition,
    Row,
    partition_ledger,
)
from seglake.pipelines.lake_audit.problems import Problem, ProblemKind, joined, problem
from seglake.pipelines.lake_audit.quarantine_checks import QuarantineSums
from seglake.pipelines.lake_audit.sums import RangeSums, sums_joined
from seglake.pipelines.lake_audit.transaction_checks import across_cells

# Columns of the ledger that are sums over the rows of other tables.
_SUMMED = ("records", "batches", "offset_sum", "key_bytes", "value_bytes")


class LogMarks(NamedTuple):
    """Where the log stood when it was taken last, as the newest ingest row of the ledger says."""

    log_start_offset: int | None
    high_watermark: int | None
    last_stable_offset: int | None
    log_end_offset: int | None
    isolation: str | None
    upper_bound: str | None
    generation: int
    run_id: str | None


class LeftAbove(NamedTuple):
    """Offsets that were on the disk and not taken."""

    start_offset: int
    next_offset: int
    reason: str


@dataclass(frozen=True, slots=True)
class PartitionAudit:
    """Everything that can be said of one partition from the tables."""

    partition: LakePartition
    covered: tuple[OffsetRange, ...]
    totals: RangeSums
    gaps: Mapping[str, GapCount]
    shown_gaps: tuple[ShownGap, ...]
    quarantine: QuarantineSums
    marks: LogMarks | None
    left: LeftAbove | None
    problems: tuple[Problem, ...]

    @property
    def covered_offsets(self) -> int:
        """The left side of the equation."""
        return sum(stop - start for start, stop in self.covered)

    @property
    def not_covered(self) -> tuple[OffsetRange, ...]:
        """Offsets between covered ranges, and below them."""
        return tuple(subtracted((0, self.covered[-1][1]), self.covered)) if self.covered else ()


def audit_partition(
    partition: LakePartition,
    rows: Sequence[Row],
    findings: Sequence[PartitionFinding],
    *,
    is_settled: bool,
) -> PartitionAudit:
    """Put together what the cells found, and compare it with the ledger.

    Args:
        rows: of the ledger, this partition's.
        is_settled: False while a commit of the topic is on its way: rows of it may be in some
            tables and not in others.
    """
    ledger = partition_ledger(partition, rows)
    sums = sums_joined(finding.sums for finding in findings)
    quarantine = next(
        (finding.quarantine for finding in findings if finding.quarantine is not None),
        QuarantineSums(0, 0, {}, 0),
    )
    totals = reduce(RangeSums.joined, sums.values(), RangeSums())
    problems = [problem for finding in findings for problem in finding.problems]
    problems += across_cells(finding.ends for finding in findings)
    if not is_settled:
        problems = [
            problem for problem in problems if problem.kind is not ProblemKind.OUTSIDE_LEDGER
        ]
    problems += _ledger_problems(rows)
    problems += _sum_problems(ledger.blocks(), rows, sums)
    if is_settled:
        problems += _byte_problems(rows, totals, quarantine)
    shown = sorted(
        (gap for finding in findings for gap in finding.shown_gaps),
        key=lambda gap: (RANKS.get(gap.cause, -1), gap.start_offset),
    )
    covered = merged(_spans(rows))
    marks = _marks(rows)
    return PartitionAudit(
        partition=partition,
        covered=tuple(covered),
        totals=totals,
        gaps=counts_joined(finding.gaps for finding in findings),
        shown_gaps=tuple(shown[:MOST_SHOWN]),
        quarantine=quarantine,
        marks=marks,
        left=None if marks is None else _left(marks, covered),
        problems=tuple(joined(problems)),
    )


def _spans(rows: Iterable[Row]) -> list[OffsetRange]:
    return [(row["start_offset"], row["next_offset"]) for row in rows]


def _ledger_problems(rows: Sequence[Row]) -> Iterator[Problem]:
    """Ranges of the ledger that contradict each other."""
    ingested = sorted(_spans(row for row in rows if row["kind"] == RangeKind.INGEST))
    covered = merged(ingested)
    repairs = _spans(row for row in rows if row["kind"] == RangeKind.REPAIR)
    doubles = []
    reached = 0
    for start, stop in ingested:
        if start < reached:
            doubles.append(f"[{start}, {stop}) begins below {reached}")
        reached = max(reached, stop)
    outside = [
        f"[{start}, {stop})"
        for start, stop in repairs
        if not any(low <= start and stop <= high for low, high in covered)
    ]
    kinds = {str(kind) for kind in RangeKind}
    strange = [
        f"[{row['start_offset']}, {row['next_offset']}) {row['kind']!r}"
        for row in rows
        if row["kind"] not in kinds
    ]
    yield from problem(ProblemKind.LEDGER_OVERLAP, len(doubles), doubles)
    yield from problem(ProblemKind.REPAIR_OUTSIDE, len(outside), outside)
    yield from problem(ProblemKind.UNKNOWN_KIND, len(strange), strange)


def _sum_problems(
    blocks: Blocks, rows: Sequence[Row], sums: Mapping[int, RangeSums]
) -> Iterator[Problem]:
    """Each block of ledger ranges against the rows between its offsets."""
    by_block: dict[int, list[Row]] = {}
    for row in rows:
        place = blocks.index_of_one(row["start_offset"])
        by_block.setdefault(place, []).append(row)
    unequal: list[str] = []
    differing: list[str] = []
    for index, (start, stop) in enumerate(
        zip(blocks.starts.tolist(), blocks.stops.tolist(), strict=True)
    ):
        found = sums.get(start, RangeSums())
        where = f"[{start}, {stop})"
        if stop - start != found.accounted:
            unequal.append(f"{where} {_equation(stop - start, found)}")
        differing += [
            f"{where} {name}: {said} in the ledger, {is_so} in the tables"
            for name, said, is_so in _differences(by_block.get(index, []), found)
        ]
        if found.decoded_rows != found.records:
            differing.append(
                f"{where} batches count {found.decoded_rows} rows, records has {found.records}"
            )
    yield from problem(ProblemKind.EQUATION, len(unequal), unequal)
    yield from problem(ProblemKind.LEDGER_SUMS, len(differing), differing)


def _equation(covered: int, found: RangeSums) -> str:
    return (
        f"covers {covered} offsets, and {found.records} records + {found.other_span} in batches "
        f"not decoded + {found.lacking} lacking in those that are + {found.gap_span} in gaps are "
        f"{found.accounted}"
    )


# Any: the ledger's columns have many types.
def _differences(rows: Sequence[Row], found: RangeSums) -> Iterator[tuple[str, Any, Any]]:
    for name in _SUMMED:
        said = sum(int(row[name] or 0) for row in rows)
        if said != getattr(found, name):
            yield name, said, getattr(found, name)
    oldest = [row["min_timestamp_ms"] for row in rows if row["min_timestamp_ms"] is not None]
    newest = [row["max_timestamp_ms"] for row in rows if row["max_timestamp_ms"] is not None]
    for name, edge, is_so in (
        ("min_timestamp_ms", min(oldest, default=None), found.min_timestamp_ms),
        ("max_timestamp_ms", max(newest, default=None), found.max_timestamp_ms),
    ):
        if edge != is_so:
            yield name, edge, is_so


def _byte_problems(
    rows: Sequence[Row], totals: RangeSums, quarantine: QuarantineSums
) -> Iterator[Problem]:
    """Bytes and damage, which belong to a partition and not to offsets."""
    size_bytes = sum(int(row["bytes"] or 0) for row in rows)
    spans = sum(int(row["quarantined_batches"] or 0) for row in rows)
    wrong = []
    if size_bytes != totals.batch_bytes + quarantine.size_bytes:
        wrong.append(
            f"bytes: {size_bytes} in the ledger, {totals.batch_bytes} in batches + "
            f"{quarantine.size_bytes} in quarantine"
        )
    if spans != quarantine.spans:
        wrong.append(
            f"quarantined_batches: {spans} in the ledger, {quarantine.spans} in quarantine"
        )
    yield from problem(ProblemKind.BYTES, len(wrong), wrong)


def _marks(rows: Sequence[Row]) -> LogMarks | None:
    ingested = [row for row in rows if row["kind"] == RangeKind.INGEST]
    if not ingested:
        return None
    newest = max(ingested, key=lambda row: (row["generation"], row["next_offset"]))
    return LogMarks(*(newest[name] for name in LogMarks._fields))


def _left(marks: LogMarks, covered: Sequence[OffsetRange]) -> LeftAbove | None:
    """What the newest run saw above what is covered, and why it was left, as far as that shows."""
    end = covered[-1][1] if covered else 0
    if marks.log_end_offset is None or marks.log_end_offset <= end:
        return None
    stable, high = marks.last_stable_offset, marks.high_watermark
    if marks.isolation == "read_committed" and stable is not None and end >= stable != high:
        reason = f"a transaction is open since offset {stable}"
    elif marks.upper_bound == "high_watermark" and high is not None and end >= high:
        reason = f"it lies above the high watermark {high}"
    else:
        reason = "the ledger does not say why; the next ingest tells"
    return LeftAbove(end, marks.log_end_offset, reason)
