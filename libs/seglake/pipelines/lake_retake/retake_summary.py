"""Summary of a retake, for a person and for programs."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from seglake.findings.findings import listed
from seglake.findings.kinds import FindingKind
from seglake.findings.run_summary import RunSummary
from seglake.findings.shown_offsets import GapsByPartition
from seglake.ingest_steps.committing.election_rows import ReleasedRange
from seglake.ingest_steps.committing.range_result import RangeResult
from seglake.ingest_steps.repair.repair_result import RepairResult
from seglake.ingest_steps.report.doubts import doubts_of
from seglake.ingest_steps.report.erased import erased_notes
from seglake.ingest_steps.report.gap_report import (
    expected_gaps,
    gap_lines,
    joined_places,
    json_gaps,
    recorded_gaps,
)
from seglake.ingest_steps.report.limits import limits_crossed
from seglake.ingest_steps.report.refills import (
    older_copies_note,
    refilled_records,
    shown_left_in_copies,
    shown_refills,
    with_refills,
)
from seglake.ingest_steps.report.run_report import damaged_spans, defect_counts
from seglake.ingest_steps.report.shown_lines import shown_damage
from seglake.ingest_steps.report.too_large import log_dirs_of, too_large
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import Replica
from seglake.pipelines.lake_retake.retake_plan import RetakePlan
from seglake.printable import as_lines, show_count
from seglake.settings.settings import LimitsSettings, Settings

Ranges = list[tuple[str, OffsetRange]]  # (partition, range)


@dataclass(slots=True)
class RetakeSummary(RunSummary):
    """Ranges that a retake ingested again or released, and ranges that remain.

    Attributes:
        partitions: number of requested partitions.
        planned: ranges that a dry run would ingest again.
        retaken: ranges that were ingested again.
        released: superseded offsets above the end of the winning logs that were released, or that
            a dry run would release.
        records: records that were ingested again.
        batches: batches that were ingested again.
        refilled: records added from older copies, by partition.
        left_in_copies: for each partition, records that older copies have and that were not
            ingested because `read.older_copies` is off.
        gaps: gaps in the ranges ingested again, by cause and partition.
        defects: damaged spans in these ranges, by defect code.
        damaged: damaged spans in these ranges, by partition.
        mended: damaged spans in these ranges that a repair has resolved, by partition.
        quarantined_bytes: bytes of the damaged spans.
    """

    partitions: int = 0
    planned: Ranges = field(default_factory=list)
    retaken: Ranges = field(default_factory=list)
    released: Ranges = field(default_factory=list)
    records: int = 0
    batches: int = 0
    refilled: dict[str, int] = field(default_factory=dict)
    left_in_copies: dict[str, int] = field(default_factory=dict)
    gaps: dict[str, GapsByPartition] = field(default_factory=dict)
    defects: dict[str, int] = field(default_factory=dict)
    damaged: dict[str, int] = field(default_factory=dict)
    mended: dict[str, int] = field(default_factory=dict)
    quarantined_bytes: int = 0

    def add(self, results: Iterable[RangeResult], released: Iterable[ReleasedRange]) -> None:
        """Add the results of a commit.

        Args:
            results: the committed ranges.
            released: ranges that the commit released.
        """
        for result in results:
            self.retaken.append((str(result.key), result.offsets))
            self.records += result.totals.records
            self.batches += result.totals.batches
        self.released += [(str(free.key), free.offsets) for free in released]

    def add_plan(self, plan: RetakePlan, settings: Settings) -> None:
        """Add the ranges that a dry run would ingest and release."""
        self.planned += [(str(of.key), (of.start_offset, of.next_offset)) for of in plan.ranges]
        self.released += [(str(of.key), free) for of in plan.retakes for free in of.free]
        self.gaps = joined_places(self.gaps, expected_gaps(plan.ranges))
        self.findings.add(doubts_of(plan.ranges, settings, is_dry_run=True))

    def add_findings(
        self, committed: Sequence[RangeResult], repairs: RepairResult, settings: Settings
    ) -> None:
        """Add findings on the committed ranges and on the repairs after them."""
        both = [*committed, *repairs.results, *repairs.refills]
        gaps = with_refills(recorded_gaps(committed, repairs.rounds), repairs)
        self.gaps = joined_places(self.gaps, gaps)
        self.defects |= Counter(self.defects) + Counter(defect_counts(both))
        self.damaged |= Counter(self.damaged) + Counter(damaged_spans(both))
        self.mended |= Counter(self.mended) + Counter(repairs.mended)
        reports = [report for result in both for report in result.reports]
        self.quarantined_bytes += sum(report.bytes.in_quarantine for report in reports)
        ingested = (result.ingested for result in committed)
        doubts = doubts_of(ingested, settings, is_dry_run=False)
        self.findings.add([*doubts, *repairs.contradicted])
        self.refilled |= refilled_records(repairs)
        self.left_in_copies |= repairs.left_records
        notes = [*older_copies_note(repairs.left_offsets), *repairs.notes]
        self.findings.add_texts(FindingKind.NOTE, [*notes, *erased_notes(both)])
        self.findings.add_reasons(FindingKind.LEFT_OUT, repairs.unread)

    def close(
        self, limits: LimitsSettings, replicas: Iterable[Replica], notes: Iterable[str]
    ) -> None:
        """Complete the summary after all additions.

        Args:
            limits: limits in the settings that may be exceeded.
            replicas: the sources' replicas.
            notes: messages for the user that need no action.
        """
        log_dirs = log_dirs_of(replicas, self.damaged)
        limit_bytes = limits.max_decompressed_batch_bytes
        self.findings.add(too_large(self.defects, limit_bytes, self.lake, log_dirs))
        self.findings.add(limits_crossed(limits, self.damaged, self.gaps, ()))
        self.findings.add_texts(FindingKind.NOTE, notes)

    # Any: the types that JSON can hold.
    def shown_facts(self) -> dict[str, Any]:
        """Return facts for JSON that are no fields, or have another form than their field."""
        return {"gaps": json_gaps(self.gaps)}

    def to_text(self) -> str:
        """Return the summary as lines for a person, the most important first."""
        lines = [f"{self._headline()} ({self.seconds:.1f} s)"]
        lines += shown_left_in_copies(self.left_in_copies)
        lines += _shown("to be retaken", self.planned)
        lines += _shown("retaken", self.retaken)
        label = "to be released" if self.is_dry_run else "released"
        lines += _shown(
            label, self.released, ": above the winning log's end, free for the next ingest"
        )
        lines += shown_damage(self.defects, self.damaged, self.quarantined_bytes, self.mended)
        lines += [*shown_refills(self.refilled, is_dry_run=False), *gap_lines(self.gaps)]
        lines += self.findings.lines()
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


def _shown(label: str, ranges: Ranges, more: str = "") -> list[str]:
    return listed(label, [f"{name} [{start}, {stop}){more}" for name, (start, stop) in ranges])
