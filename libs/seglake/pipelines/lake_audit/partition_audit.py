"""Compares a partition's tables with its ledger. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from seglake.kafka_log.gap_ranges import GapRanges, gaps_joined
from seglake.kafka_log.offset_ranges import OffsetRange, merged, subtracted
from seglake.log_tables.ledger_layers import FILLS, INGESTED, RangeKind
from seglake.pipelines.lake_audit.cell_audit import PartitionFinding
from seglake.pipelines.lake_audit.elections import (
    NOTHING_LOST,
    Coverage,
    Superseded,
    count_problems,
    coverage_of,
    superseded_problems,
)
from seglake.pipelines.lake_audit.gap_checks import MOST_SHOWN, RANKS, ShownGap
from seglake.pipelines.lake_audit.ledger import (
    BRINGS_NOTHING,
    BlockKey,
    LakePartition,
    LedgerBlocks,
    Offsets,
    PartitionLedger,
    Row,
    partition_ledger,
)
from seglake.pipelines.lake_audit.open_transactions import OpenRows, still_open
from seglake.pipelines.lake_audit.problems import Problem, ProblemKind, joined, problem
from seglake.pipelines.lake_audit.quarantine_checks import QuarantineSums
from seglake.pipelines.lake_audit.sums import NOTHING, RangeSums, sums_joined
from seglake.pipelines.lake_audit.transaction_checks import across_cells

# Columns of the ledger that are sums over the rows of other tables.
_SUMMED = ("records", "batches", "offset_sum", "key_bytes", "value_bytes")
# Any: the overloads of both are many.
_EDGES: Mapping[str, Any] = {"min_timestamp_ms": min, "max_timestamp_ms": max}

_OF_THE_LOG = (
    *("log_start_offset", "high_watermark", "last_stable_offset", "log_end_offset"),
    "run_id",
)


class LogMarks(NamedTuple):
    """Bounds of a log as last observed, or else of the ledger's newest row.

    `can_go_on` is False where nothing above can be ingested: the log is another one, or not read,
    or what was seen lay in a log that lost an election, and was released since.
    """

    log_start_offset: int | None
    high_watermark: int | None
    last_stable_offset: int | None
    log_end_offset: int | None
    isolation: str | None
    upper_bound: str | None
    generation: int
    run_id: str | None
    can_go_on: bool = True


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
    gaps: Mapping[str, GapRanges]
    shown_gaps: tuple[ShownGap, ...]
    quarantine: QuarantineSums
    marks: LogMarks | None
    left: LeftAbove | None
    problems: tuple[Problem, ...]
    superseded: Superseded = NOTHING_LOST
    refilled: RangeSums = NOTHING
    open_transactions: tuple[OpenRows, ...] = ()

    @property
    def covered_offsets(self) -> int:
        """Return the left side of the equation."""
        return sum(stop - start for start, stop in self.covered)

    @property
    def not_covered(self) -> tuple[OffsetRange, ...]:
        """Return the offsets between and below covered ranges that were never ingested."""
        known = merged([*self.covered, *self.superseded.ranges])
        return tuple(subtracted((0, known[-1][1]), known)) if known else ()


def audit_partition(
    partition: LakePartition,
    rows: Sequence[Row],
    findings: Sequence[PartitionFinding],
    seen: Row | None = None,
    *,
    is_settled: bool,
) -> PartitionAudit:
    """Put together what the cells found, and compare it with the ledger.

    Args:
        rows: of the ledger, this partition's.
        seen: its newest row of `observations`, None without one.
        is_settled: False while a commit of the topic is on its way: rows of it may be in some
            tables and not in others.
    """
    ledger = partition_ledger(partition, rows)
    sums = sums_joined(finding.sums for finding in findings)
    quarantine = _quarantine(findings)
    gaps = gaps_joined(finding.gaps for finding in findings)
    blocks, coverage = ledger.blocks(), coverage_of(rows)
    lost = _joined(blocks, sums, is_current=False)
    superseded = Superseded(tuple(coverage.superseded), lost.records, lost.batches)
    totals = _joined(blocks, sums, is_current=True)
    # Offsets of a gap that was repaired are in the sums of the repair.
    totals = totals._replace(gap_span=sum(count.offsets for count in gaps.values()))
    refilled = _refilled(blocks, sums, ledger.refills)
    totals = _without_doubles(totals, refilled, coverage.current)
    problems = _cell_problems(findings, is_settled=is_settled)
    problems += [*_ledger_problems(rows, coverage), *_sum_problems(ledger, rows, sums)]
    problems += superseded_problems(partition, coverage.superseded)
    if is_settled:
        differing = list(_byte_differences(rows, totals.joined(lost), quarantine))
        differing += count_problems(rows, superseded)
        problems += problem(ProblemKind.BYTES, len(differing), differing)
    marks = _marks(rows, seen)
    return PartitionAudit(
        partition=partition,
        covered=tuple(coverage.current),
        totals=totals,
        gaps=gaps,
        shown_gaps=_shown(findings),
        quarantine=quarantine,
        marks=marks,
        left=_left(marks, [*coverage.current, *coverage.superseded]),
        problems=tuple(joined(problems)),
        superseded=superseded,
        refilled=refilled,
        open_transactions=still_open(finding.open_rows for finding in findings),
    )


def _quarantine(findings: Iterable[PartitionFinding]) -> QuarantineSums:
    """Return the sums of damage, which one cell has; zeros where there is none."""
    found = (finding.quarantine for finding in findings if finding.quarantine is not None)
    return next(found, QuarantineSums(0, 0, {}, 0, {}))


def _without_doubles(
    totals: RangeSums, refilled: RangeSums, covered: Sequence[OffsetRange]
) -> RangeSums:
    """Count offsets without a record once where batches of refills overlap others.

    The overlapped batches may have had no record.
    """
    if not refilled.batches:
        return totals
    span = sum(stop - start for start, stop in covered)
    rest = span - totals.records - totals.gap_span
    empty = min(totals.other_span, rest)
    return totals._replace(other_span=empty, lacking=rest - empty)


def _refilled(
    blocks: LedgerBlocks, sums: Mapping[BlockKey, RangeSums], refills: Collection[int]
) -> RangeSums:
    """Return the sums over valid rows of refills."""
    keys = map(blocks.key, np.flatnonzero(blocks.is_current).tolist())
    found = (sums.get(key, RangeSums()) for key in keys if key[0] in refills)
    return reduce(RangeSums.joined, found, RangeSums())


def _cell_problems(findings: Sequence[PartitionFinding], *, is_settled: bool) -> list[Problem]:
    """Return the problems of single cells and across cells."""
    problems = [problem for finding in findings for problem in finding.problems]
    problems += across_cells(finding.ends for finding in findings)
    return [met for met in problems if is_settled or met.kind is not ProblemKind.OUTSIDE_LEDGER]


def _shown(findings: Iterable[PartitionFinding]) -> tuple[ShownGap, ...]:
    """Return the gaps that say most."""
    shown = sorted(
        (gap for finding in findings for gap in finding.shown_gaps),
        key=lambda gap: (RANKS.get(gap.cause, -1), gap.start_offset),
    )
    return tuple(shown[:MOST_SHOWN])


def _joined(
    blocks: LedgerBlocks, sums: Mapping[BlockKey, RangeSums], *, is_current: bool
) -> RangeSums:
    """Return the sums over all blocks that count, or over all that lost an election."""
    chosen = np.flatnonzero(blocks.is_current == is_current).tolist()
    found = (sums.get(blocks.key(index), RangeSums()) for index in chosen)
    return reduce(RangeSums.joined, found, RangeSums())


def _spans(rows: Iterable[Row]) -> list[OffsetRange]:
    return [(row["start_offset"], row["next_offset"]) for row in rows]


def _ledger_problems(rows: Sequence[Row], coverage: Coverage) -> Iterator[Problem]:
    """Yield ranges of the ledger that contradict each other."""
    covered = merged(_spans(row for row in rows if row["kind"] in INGESTED))
    repairs = _spans(row for row in rows if row["kind"] in FILLS)
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
    yield from problem(ProblemKind.LEDGER_OVERLAP, len(coverage.doubles), coverage.doubles)
    yield from problem(ProblemKind.REPAIR_OUTSIDE, len(outside), outside)
    yield from problem(ProblemKind.UNKNOWN_KIND, len(strange), strange)


def _sum_problems(
    ledger: PartitionLedger, rows: Sequence[Row], sums: Mapping[BlockKey, RangeSums]
) -> Iterator[Problem]:
    """Yield each range of the ledger against the rows that its own commit brought."""
    whole, cut = ledger.whole_blocks(), ledger.blocks()
    of_blocks: dict[int, RangeSums] = {}
    for piece, place in enumerate(whole.index_of(cut.starts, cut.generations).tolist()):
        before = of_blocks.get(place, RangeSums())
        of_blocks[place] = before.joined(sums.get(cut.key(piece), RangeSums()))
    of_rows: dict[int, list[Row]] = {}
    places = whole.index_of(_numbers(rows, "start_offset"), _numbers(rows, "generation"))
    for row, place in zip(rows, places.tolist(), strict=True):
        if row["kind"] not in BRINGS_NOTHING:
            of_rows.setdefault(place, []).append(row)
    unequal: list[str] = []
    differing: list[str] = []
    for index, (start, stop) in enumerate(
        zip(whole.starts.tolist(), whole.stops.tolist(), strict=True)
    ):
        found = of_blocks.get(index, RangeSums())
        where = f"[{start}, {stop})"
        # Batches of a refill overlap others, and have only the records that the others lack.
        is_refill = whole.key(index)[0] in ledger.refills
        if stop - start != found.accounted and not is_refill:
            unequal.append(f"{where} {_equation(stop - start, found)}")
        differing += [
            f"{where} {name}: {said} in the ledger, {is_so} in the tables"
            for name, said, is_so in _differences(of_rows.get(index, []), found)
        ]
        if found.decoded_rows != found.records:
            differing.append(
                f"{where} batches count {found.decoded_rows} rows, records has {found.records}"
            )
    yield from problem(ProblemKind.EQUATION, len(unequal), unequal)
    yield from problem(ProblemKind.LEDGER_SUMS, len(differing), differing)


def _numbers(rows: Sequence[Row], column: str) -> Offsets:
    return np.array([row[column] for row in rows], np.int64)


def _equation(covered: int, found: RangeSums) -> str:
    return (
        f"covers {covered} offsets, and {found.records} records + {found.other_span} in control, "
        f"aborted or empty batches + {found.lacking} lacking in other batches + "
        f"{found.gap_span} in gaps are {found.accounted}"
    )


# Any: the ledger's columns have many types.
def _differences(rows: Sequence[Row], found: RangeSums) -> Iterator[tuple[str, Any, Any]]:
    said: dict[str, Any] = {name: sum(int(row[name] or 0) for row in rows) for name in _SUMMED}
    for name, edge in _EDGES.items():
        said[name] = edge((row[name] for row in rows if row[name] is not None), default=None)
    for name, value in said.items():
        if value != getattr(found, name):
            yield name, value, getattr(found, name)


def _byte_differences(
    rows: Sequence[Row], totals: RangeSums, quarantine: QuarantineSums
) -> Iterator[str]:
    """Yield bytes and damage, which belong to a partition and not to offsets."""
    size_bytes = sum(int(row["bytes"] or 0) for row in rows)
    spans = sum(int(row["quarantined_batches"] or 0) for row in rows)
    if size_bytes != totals.batch_bytes + quarantine.size_bytes:
        yield (
            f"bytes: {size_bytes} in the ledger, {totals.batch_bytes} in batches + "
            f"{quarantine.size_bytes} in quarantine"
        )
    if spans != quarantine.spans:
        yield f"quarantined_batches: {spans} in the ledger, {quarantine.spans} in quarantine"


def _marks(rows: Sequence[Row], seen: Row | None) -> LogMarks | None:
    ingested = [row for row in rows if row["kind"] in INGESTED]
    if not ingested:
        return None
    newest = max(ingested, key=lambda row: (row["generation"], row["next_offset"]))
    released = [row for row in rows if row["kind"] == RangeKind.RELEASED]
    marks = LogMarks(*(newest[name] for name in LogMarks._fields[:-1]))
    if seen is None or seen["observed_at"] < newest["committed_at"]:
        is_gone = any(row["generation"] > newest["generation"] for row in released)
        return marks._replace(can_go_on=not is_gone)
    of_the_log = {name: seen[name] for name in _OF_THE_LOG}
    is_gone = any(row["committed_at"] > seen["observed_at"] for row in released)
    can_go_on = seen["next_offset"] is not None and not is_gone
    return marks._replace(**of_the_log, can_go_on=can_go_on)


def _left(marks: LogMarks | None, covered: Sequence[OffsetRange]) -> LeftAbove | None:
    """Return the offsets that the newest run left above the covered ones, with the known reason."""
    if marks is None:
        return None
    end = max((stop for _, stop in covered), default=0)
    if not marks.can_go_on or marks.log_end_offset is None or marks.log_end_offset <= end:
        return None
    stable, high = marks.last_stable_offset, marks.high_watermark
    if marks.isolation == "read_committed" and stable is not None and end >= stable != high:
        reason = f"a transaction is open since offset {stable}"
    elif marks.upper_bound == "high_watermark" and high is not None and end >= high:
        reason = f"it lies above the high watermark {high}"
    else:
        reason = "the ledger does not say why; an ingest without a time window tells"
    return LeftAbove(end, marks.log_end_offset, reason)
