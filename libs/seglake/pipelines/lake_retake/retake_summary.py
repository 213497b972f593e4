"""Summary of a retake, for a person and for a machine. Pure."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

from seglake.errors import ExitCode
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import Replica
from seglake.pipelines.lake_retake.retake_plan import RetakePlan
from seglake.pipelines.offset_places import GapsByPartition
from seglake.pipelines.progress import show_count
from seglake.pipelines.segment_ingest.committing.election_rows import ReleasedRange
from seglake.pipelines.segment_ingest.committing.range_result import RangeResult
from seglake.pipelines.segment_ingest.planning.plan import RangePlan
from seglake.pipelines.segment_ingest.repair.repair import RepairResult
from seglake.pipelines.segment_ingest.report.doubts import doubts_of, left_out_doubts
from seglake.pipelines.segment_ingest.report.gap_report import (
    expected_gaps,
    gap_lines,
    joined_places,
    json_gaps,
    recorded_gaps,
)
from seglake.pipelines.segment_ingest.report.limits import limits_crossed
from seglake.pipelines.segment_ingest.report.refills import refilled_records, shown_refills
from seglake.pipelines.segment_ingest.report.run_report import damaged_spans, defect_counts
from seglake.pipelines.segment_ingest.report.shown_lines import shown_damage, shown_doubt
from seglake.pipelines.segment_ingest.report.too_large import log_dirs_of, too_large
from seglake.pipelines.settings.settings import LimitsSettings, Settings
from seglake.printable import as_lines

Ranges = list[tuple[str, OffsetRange]]  # with the partition
_MOST_LINES = 20


@dataclass(slots=True)
class RetakeFindings:
    """Findings of a retake for a person; the names are those of an ingest's findings.

    Attributes:
        left_out: partitions of which nothing was ingested, or not all that was asked for, and why.
    """

    ingested_unknown_outcomes: list[str] = field(default_factory=list)
    left_out_unknown_outcomes: list[str] = field(default_factory=list)
    contradicted: list[str] = field(default_factory=list)
    limits_crossed: list[str] = field(default_factory=list)
    too_large: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def need_a_look(self) -> bool:
        is_in_doubt = self.ingested_unknown_outcomes or self.contradicted
        return bool(self.left_out or is_in_doubt or self.limits_crossed)


@dataclass(slots=True)
class RetakeSummary:
    """Ranges that were ingested again, and those that were not.

    Attributes:
        partitions: number of requested partitions.
        planned: ranges that a dry run would ingest again.
        retaken: ranges that were ingested again, with the counts `records` and `batches`.
        released: superseded offsets above the end of the winning logs; in a dry run those that
            would be released.
        refilled: records that older copies brought, by partition.
        gaps, defects, damaged, mended: see `IngestSummary`; of the ranges ingested again.
    """

    run_id: str
    lake: str
    is_dry_run: bool = False
    partitions: int = 0
    planned: Ranges = field(default_factory=list)
    retaken: Ranges = field(default_factory=list)
    released: Ranges = field(default_factory=list)
    records: int = 0
    batches: int = 0
    refilled: dict[str, int] = field(default_factory=dict)
    gaps: dict[str, GapsByPartition] = field(default_factory=dict)
    defects: dict[str, int] = field(default_factory=dict)
    damaged: dict[str, int] = field(default_factory=dict)
    mended: dict[str, int] = field(default_factory=dict)
    quarantined_bytes: int = 0
    findings: RetakeFindings = field(default_factory=RetakeFindings)
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        return ExitCode.LOOK if self.findings.need_a_look else ExitCode.DONE

    @property
    def left_out(self) -> dict[str, str]:
        return self.findings.left_out

    @property
    def notes(self) -> list[str]:
        return self.findings.notes

    def add(self, results: Iterable[RangeResult], released: Iterable[ReleasedRange]) -> None:
        """Count what a commit brought."""
        for result in results:
            offsets = result.plan.start_offset, result.next_offset
            self.retaken.append((str(result.plan.key), offsets))
            self.records += result.totals.records
            self.batches += result.totals.batches
        self.released += [(str(free.key), free.offsets) for free in released]

    def add_plan(self, plan: RetakePlan, settings: Settings) -> None:
        """Say what a dry run would ingest and release."""
        plans = [(each, each.next_offset) for each in plan.ranges]
        self.planned += [(str(each.key), (each.start_offset, stop)) for each, stop in plans]
        self.released += [(str(of.key), free) for of in plan.retakes for free in of.free]
        self.gaps = joined_places(self.gaps, expected_gaps(plan.ranges))
        self._add_doubts(plans, settings)

    def _add_doubts(self, taken: Iterable[tuple[RangePlan, int]], settings: Settings) -> None:
        doubts = doubts_of(taken)
        self.findings.ingested_unknown_outcomes += [doubt.text for doubt in doubts]
        self.findings.left_out_unknown_outcomes += left_out_doubts(doubts, settings)

    def add_findings(
        self, committed: Sequence[RangeResult], repairs: RepairResult, settings: Settings
    ) -> None:
        """Say what a person should know of what was committed, and of the repairs behind it."""
        both = [*committed, *repairs.results]
        self.gaps = joined_places(self.gaps, recorded_gaps(committed, repairs.rounds))
        self.defects = Counter(self.defects) + Counter(defect_counts(both))
        self.damaged = Counter(self.damaged) + Counter(damaged_spans(both))
        self.mended = Counter(self.mended) + Counter(repairs.mended)
        reports = [report for result in both for report in result.reports]
        self.quarantined_bytes += sum(report.bytes.in_quarantine for report in reports)
        self._add_doubts([(result.plan, result.next_offset) for result in committed], settings)
        self.refilled |= refilled_records(repairs.refills)
        self.findings.contradicted += repairs.contradicted
        self.findings.notes += repairs.notes
        self.findings.left_out |= repairs.unread

    def close(
        self, limits: LimitsSettings, replicas: Iterable[Replica], notes: Iterable[str]
    ) -> None:
        """Complete the summary after all additions; `replicas` are the sources'."""
        found = self.findings
        log_dirs = log_dirs_of(each for each in replicas if str(each.key) in self.damaged)
        limit_bytes = limits.max_decompressed_batch_bytes
        found.too_large = too_large(self.defects, limit_bytes, self.lake, log_dirs)
        found.limits_crossed = limits_crossed(limits, self.damaged, self.gaps, ())
        found.ingested_unknown_outcomes = [*dict.fromkeys(found.ingested_unknown_outcomes)]
        found.notes = [*dict.fromkeys([*found.notes, *notes])]

    def to_json(self) -> str:
        """Return JSON on one line."""
        facts = asdict(self)
        facts |= facts.pop("findings")
        facts |= {"gaps": json_gaps(self.gaps), "exit_code": self.exit_code}
        return json.dumps(facts, sort_keys=True)

    def to_text(self) -> str:
        """Return a few lines, the most important first."""
        lines = [f"{self._headline()} ({self.seconds:.1f} s)"]
        lines += _listed("to be retaken", self.planned)
        lines += _listed("retaken", self.retaken)
        label = "to be released" if self.is_dry_run else "released"
        lines += _listed(label, self.released, ": above the log that won, free for the next ingest")
        lines += shown_damage(
            self.defects,
            self.damaged,
            self.quarantined_bytes,
            self.findings.too_large,
            self.mended,
        )
        lines += [*shown_refills(self.refilled, is_dry_run=False), *gap_lines(self.gaps)]
        for text in self.findings.ingested_unknown_outcomes:
            is_left_out = text in self.findings.left_out_unknown_outcomes
            said = shown_doubt(text, is_left_out=is_left_out, is_dry_run=self.is_dry_run)
            lines.append(f"unknown outcome: {said}")
        lines += [f"contradicted: {text}" for text in self.findings.contradicted]
        lines += [f"left out: {reason}" for reason in self.left_out.values()]
        lines += [f"note: {note}" for note in self.notes]
        lines += [f"limit crossed: {limit}" for limit in self.findings.limits_crossed]
        return as_lines(lines)

    def _headline(self) -> str:
        if self.is_dry_run and (self.planned or self.released):
            offsets = sum(stop - start for _, (start, stop) in self.planned)
            of = show_count(len({name for name, _ in self.planned}), "partition")
            return (
                f"dry run: {show_count(offsets, 'offset')} of {of} would be ingested again; "
                "nothing was written"
            )
        if not self.retaken:
            is_idle = not (self.left_out or self.released)
            what = "nothing to retake" if is_idle else "nothing ingested again"
            return f"{what} in {show_count(self.partitions, 'partition')}"
        of = show_count(len({name for name, _ in self.retaken}), "partition")
        return (
            f"{show_count(self.records, 'record')} in "
            f"{show_count(self.batches, 'batch', 'batches')} of {of} ingested again"
        )


def _listed(label: str, ranges: Ranges, more: str = "") -> list[str]:
    lines = [f"{label}: {name} [{start}, {stop}){more}" for name, (start, stop) in ranges]
    rest = len(lines) - _MOST_LINES
    return [*lines[:_MOST_LINES], f"{label}: … and {rest} more"] if rest > 0 else lines
