"""Combines the results of the proof's queries about each partition."""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.findings.losing_tails import TailsOfPartition, tails_of_batches
from seglake.grouping import grouped
from seglake.kafka_log.gap_ranges import GapRanges
from seglake.kafka_log.offset_gaps import DAMAGE_CAUSES, GapCause
from seglake.kafka_log.offset_ranges import OffsetRange, merged, subtracted
from seglake.log_tables.ledger_layers import INGESTED, RangeKind
from seglake.pipelines.lake_audit.elections import coverage_of, superseded_problems
from seglake.pipelines.lake_audit.ledger import LakePartition, Row
from seglake.pipelines.lake_audit.problems import problem

_MOST_GAPS = 20
_MOST_SPANS = 3
# Rank of each cause, the weakest explanation first; an unknown cause precedes all.
_RANKS = {str(cause): rank for rank, cause in enumerate(reversed(GapCause))}

_OF_THE_LOG = (
    *("log_start_offset", "high_watermark", "last_stable_offset", "log_end_offset"),
    "run_id",
)


class RangeSums(NamedTuple):
    """Sums over a partition's rows; only offsets in the covered ranges count.

    Attributes:
        records: rows in `records`.
        offset_sum: sum of the records' offsets.
        key_bytes: bytes of all keys.
        value_bytes: bytes of all values.
        min_timestamp_ms: smallest timestamp; None without records.
        max_timestamp_ms: largest timestamp; None without records.
        batches: rows in `batches`.
        batch_bytes: size of the batches in the segments.
        decoded_rows: number of records that decoded batches should have, according to `batches`.
        other_span: offsets in control, aborted and empty batches.
        lacking: offsets in decoded batches that have no row.
        gap_span: offsets in gaps that no repair has filled.
    """

    records: int = 0
    offset_sum: int = 0
    key_bytes: int = 0
    value_bytes: int = 0
    min_timestamp_ms: int | None = None
    max_timestamp_ms: int | None = None
    batches: int = 0
    batch_bytes: int = 0
    decoded_rows: int = 0
    other_span: int = 0
    lacking: int = 0
    gap_span: int = 0

    @property
    def accounted(self) -> int:
        """Return for how many offsets the rows account, to compare with the covered offsets."""
        return self.records + self.other_span + self.lacking + self.gap_span


NOTHING = RangeSums()


class Superseded(NamedTuple):
    """Sums of a partition's rows that lost an election.

    Attributes:
        ranges: offsets that have not been ingested again since the election.
        records: rows of `records` that are kept as history.
        batches: rows of `batches` that are kept as history.
    """

    ranges: tuple[OffsetRange, ...] = ()
    records: int = 0
    batches: int = 0


NOTHING_LOST = Superseded()


class DefectCount(NamedTuple):
    """Number and bytes of damaged spans with one defect code."""

    spans: int
    size_bytes: int


class QuarantineSums(NamedTuple):
    """Sums of one partition's rows in `quarantine`.

    Attributes:
        spans: number of damaged spans. Two kinds of rows are not counted: resolutions, which repeat
            an earlier row, and batches of other replicas (replica_conflict), which are not damaged.
        size_bytes: bytes of these spans.
        by_code: all rows by defect code.
        resolved: number of spans that a repair has resolved.
        tails: quarantined batches of replicas that lost an election.
    """

    spans: int
    size_bytes: int
    by_code: Mapping[str, DefectCount]
    resolved: int
    tails: TailsOfPartition


class ShownGap(NamedTuple):
    """Current gap to show, with the evidence for its cause."""

    cause: str
    start_offset: int
    next_offset: int
    evidence: str | None


class OpenRows(NamedTuple):
    """Records of a producer's transaction without an end marker."""

    producer_id: int
    first_offset: int
    records: int


class LogMarks(NamedTuple):
    """Bounds of a log from its newest observation, or from the ledger's newest row without one.

    `can_go_on` is False if nothing above the covered ranges can be ingested. Then the log was
    replaced or could not be read, or the observed offsets belong to a log that lost an election.
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
    """Offsets that were on the disk but were not ingested."""

    start_offset: int
    next_offset: int
    reason: str


class PartitionAudit(NamedTuple):
    """Audit of one partition.

    Attributes:
        partition: identity of the partition.
        covered: merged ranges whose rows have not lost an election.
        totals: sums of the rows in these ranges.
        gaps: number and offsets of current gaps, by cause.
        shown_gaps: gaps to show; gaps with the weakest explanation come first.
        quarantine: sums of damage.
        marks: bounds of the log; None if nothing was ingested.
        left: offsets above the covered ranges; None if there are none.
        problems: findings that a person should check, the most urgent first.
        superseded: sums of rows that lost an election.
        refilled: sums of rows added from older copies.
        open_transactions: transactions that no marker has ended.
        expired_loss: number of offsets in expired gaps that were lost before they expired.
    """

    partition: LakePartition
    covered: tuple[OffsetRange, ...]
    totals: RangeSums
    gaps: Mapping[str, GapRanges]
    shown_gaps: tuple[ShownGap, ...]
    quarantine: QuarantineSums
    marks: LogMarks | None
    left: LeftAbove | None
    problems: tuple[Finding, ...]
    superseded: Superseded = NOTHING_LOST
    refilled: RangeSums = NOTHING
    open_transactions: tuple[OpenRows, ...] = ()
    expired_loss: int = 0

    @property
    def covered_offsets(self) -> int:
        """Return the number of covered offsets, to compare with `accounted`."""
        return sum(stop - start for start, stop in self.covered)

    @property
    def not_covered(self) -> tuple[OffsetRange, ...]:
        """Return the offsets below and between the covered ranges that were never ingested."""
        known = merged([*self.covered, *self.superseded.ranges])
        return tuple(subtracted((0, known[-1][1]), known)) if known else ()


class PartitionFacts(NamedTuple):
    """Results of the proof's queries about one partition: its problems, and rows by query."""

    problems: Sequence[Finding]
    rows: Mapping[str, Sequence[Row]]

    def of(self, fact: str) -> Sequence[Row]:
        """Return the rows of one query, by its name; none if the query returned none."""
        return self.rows.get(fact, ())


def audit_partition(
    partition: LakePartition, rows: Sequence[Row], facts: PartitionFacts, seen: Row | None = None
) -> PartitionAudit:
    """Combine the ledger's rows of a partition with the answers of the proof's queries.

    Args:
        partition: identity of the partition.
        rows: the ledger's rows of this partition.
        facts: results of the proof's queries.
        seen: the partition's newest row of `observations`; None if there is none.
    """
    coverage = coverage_of(rows)
    sums = {row["part"]: _sums(row) for row in facts.of("totals")}
    lost, refilled = sums.get("lost", NOTHING), sums.get("refilled", NOTHING)
    gaps = _gaps(facts)
    # Repaired gaps are not counted: their offsets are in the rows that filled them.
    totals = sums.get("current", NOTHING)._replace(
        gap_span=sum(count.offsets for count in gaps.values())
    )
    problems = [
        *facts.problems,
        *problem(FindingKind.LEDGER_OVERLAP, partition, len(coverage.doubles), coverage.doubles),
        *superseded_problems(partition, coverage.superseded),
    ]
    marks = _marks(rows, seen)
    return PartitionAudit(
        partition=partition,
        covered=tuple(coverage.current),
        totals=_without_doubles(totals, refilled, coverage.current),
        gaps=gaps,
        expired_loss=sum(row["expired_loss"] for row in facts.of("gap_counts")),
        shown_gaps=_shown_gaps(facts),
        quarantine=_quarantine(facts),
        marks=marks,
        left=_left(marks, [*coverage.current, *coverage.superseded]),
        problems=tuple(sorted(problems, key=attrgetter("rank"))),
        superseded=Superseded(tuple(coverage.superseded), lost.records, lost.batches),
        refilled=refilled,
        open_transactions=tuple(
            OpenRows(*(row[name] for name in OpenRows._fields))
            for row in facts.of("open_transactions")
        ),
    )


def _sums(row: Row) -> RangeSums:
    sums = RangeSums(*(row[name] for name in RangeSums._fields))
    return sums._replace(offset_sum=int(sums.offset_sum))  # a sum in SQL is a decimal


def _gaps(facts: PartitionFacts) -> dict[str, GapRanges]:
    """Return the current gaps by cause; compacted gaps are counted, but not listed."""
    ranges = grouped(
        (row["cause"], (row["start_offset"], row["next_offset"])) for row in facts.of("listed_gaps")
    )
    return {
        cause: GapRanges(row["gaps"], row["offsets"], tuple(merged(ranges.get(cause, ()))))
        for row in facts.of("gap_counts")
        for cause in [str(row["cause"])]
    }


def _shown_gaps(facts: PartitionFacts) -> tuple[ShownGap, ...]:
    """Return the gaps to show, with evidence, the weakest explanation first."""
    evidence = grouped((row["start_offset"], row) for row in facts.of("evidence"))
    listed = sorted(
        facts.of("listed_gaps"),
        key=lambda row: (_RANKS.get(row["cause"], -1), row["start_offset"]),
    )
    shown = []
    for row in listed[:_MOST_GAPS]:
        near = evidence.get(row["start_offset"], []) if row["cause"] in DAMAGE_CAUSES else []
        details = [row["detail"], *(damage["said"] for damage in near)]
        if near and near[0]["total"] > _MOST_SPANS:
            details.append(f"{near[0]['total'] - _MOST_SPANS} more")
        texts = "; ".join(text for text in details if text is not None)
        shown.append(ShownGap(row["cause"], row["start_offset"], row["next_offset"], texts or None))
    return tuple(shown)


def _quarantine(facts: PartitionFacts) -> QuarantineSums:
    counts = facts.of("damage_counts")
    damage = [row for row in counts if not row["is_conflict"]]
    return QuarantineSums(
        sum(row["found_spans"] for row in damage),
        sum(row["found_bytes"] for row in damage),
        {row["defect_code"]: DefectCount(row["spans"], row["size_bytes"]) for row in counts},
        sum(row["resolved"] for row in counts),
        tails_of_batches(facts.of("losing_batches")),
    )


def _without_doubles(
    totals: RangeSums, refilled: RangeSums, covered: Sequence[OffsetRange]
) -> RangeSums:
    """Return the sums with each offset counted once, even if two batches have it.

    A batch from an older copy may overlap ingested batches that have no record at its offsets.
    """
    if not refilled.batches:
        return totals
    span = sum(stop - start for start, stop in covered)
    rest = span - totals.records - totals.gap_span
    empty = min(totals.other_span, rest)
    return totals._replace(other_span=empty, lacking=rest - empty)


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
    """Return the log's offsets above the covered ones, and why no run ingested them."""
    if marks is None:
        return None
    end = max((stop for _, stop in covered), default=0)
    if not marks.can_go_on or marks.log_end_offset is None or marks.log_end_offset <= end:
        return None
    stable, high = marks.last_stable_offset, marks.high_watermark
    if marks.isolation == "read_committed" and stable is not None and end >= stable != high:
        reason = f"a transaction is open since offset {stable}"
    elif marks.upper_bound == "high_watermark" and high is not None and end >= high:
        reason = f"it is above the high watermark {high}"
    else:
        reason = "the ledger has no reason; an ingest without a time window gives the reason"
    return LeftAbove(end, marks.log_end_offset, reason)
