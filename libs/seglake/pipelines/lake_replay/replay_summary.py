"""Summary of a replay, for a person and for programs."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from seglake.findings.kinds import FindingKind
from seglake.findings.run_summary import RunSummary
from seglake.findings.shown_offsets import GapsByPartition, named_counts, named_gaps
from seglake.ingest_steps.committing.concurrent_ranges import concurrent_findings
from seglake.ingest_steps.repair.repair_result import PlannedFill, RepairResult
from seglake.ingest_steps.repair.repair_state import RepairState
from seglake.ingest_steps.repair.salvaged import Salvaged
from seglake.ingest_steps.report.erased import erased_notes
from seglake.ingest_steps.report.gap_report import (
    gaps_by_place,
    joined_places,
    json_gaps,
    offset_count,
    repaired_gaps,
)
from seglake.ingest_steps.report.refills import (
    older_copies_note,
    refilled_records,
    shown_left_in_copies,
    shown_refills,
)
from seglake.ingest_steps.report.salvage_lines import shown_salvaged
from seglake.ingest_steps.report.shown_lines import shown_plan
from seglake.kafka_log.gap_ranges import GapRanges, gaps_joined
from seglake.printable import as_lines, show_count

_LEFT = (FindingKind.LEFT_OUT, FindingKind.NOT_READ, FindingKind.IN_TIER)


@dataclass(slots=True)
class ReplaySummary(RunSummary):
    """Rows that a replay added, and damage and gaps that remain.

    Attributes:
        planned_fills: gaps that a dry run would fill.
        repaired_gaps: number of gaps that were filled, completely or in part.
        repaired_records: number of records that filled gaps.
        repaired: gaps that were filled or that a dry run would fill, by partition; only filled
            offsets are counted.
        refilled: for each partition, records that were added from older copies or that a dry run
            would add.
        left_in_copies: for each partition, records that older copies have and that were not
            ingested because `read.older_copies` is off.
        salvaged: records of damaged batches that were salvaged.
        nothing_salvaged: lines to print if a requested salvage found nothing.
        left_spans: unresolved quarantined spans, by defect code.
        left_damaged: unresolved quarantined spans, by partition.
        cut_spans: unresolved spans whose bytes are incomplete in the lake.
        left_gaps: gaps that remain, or would remain after a dry run's plan, by cause and partition;
            gaps left by the log cleaner are not included.
    """

    planned_fills: list[PlannedFill] = field(default_factory=list)
    repaired_gaps: int = 0
    repaired_records: int = 0
    repaired: dict[str, GapRanges] = field(default_factory=dict)
    refilled: dict[str, int] = field(default_factory=dict)
    left_in_copies: dict[str, int] = field(default_factory=dict)
    salvaged: Salvaged = field(default_factory=Salvaged)
    nothing_salvaged: list[str] = field(default_factory=list)
    left_spans: dict[str, int] = field(default_factory=dict)
    left_damaged: dict[str, int] = field(default_factory=dict)
    cut_spans: int = 0
    left_gaps: dict[str, GapsByPartition] = field(default_factory=dict)

    @property
    def planned_gaps(self) -> int:
        """Return the number of gaps that a dry run would fill."""
        return len(self.planned_fills)

    @property
    def planned_offsets(self) -> int:
        """Return the number of offsets that a dry run would fill."""
        return sum(fill.filled_offsets for fill in self.planned_fills)

    @property
    def left_offsets(self) -> dict[str, int]:
        """Return the number of offsets in gaps that remain or would remain, by cause."""
        return {cause: offset_count(found) for cause, found in self.left_gaps.items()}

    def add(self, *searches: RepairResult) -> None:
        """Add the results of a run, or of a dry run, for one cluster's gaps."""
        for found in searches:
            self.planned_fills += found.planned_fills
            self.repaired = gaps_joined((self.repaired, repaired_gaps(found)))
            self.repaired_gaps += len(found.results)
            self.repaired_records += sum(result.totals.records for result in found.results)
            self.refilled |= Counter(self.refilled) + Counter(refilled_records(found))
            self.left_in_copies |= found.left_records
            self.findings.add_reasons(FindingKind.LEFT_OUT, found.unread)
            self.findings.add([*found.contradicted, *concurrent_findings(found.concurrent)])
            erased = erased_notes(found.results)
            notes = [*older_copies_note(found.left_offsets), *found.notes, *erased]
            self.findings.add_texts(FindingKind.NOTE, notes)

    def add_left(self, left: RepairState, fills: Iterable[PlannedFill] = ()) -> None:
        """Add the unresolved spans, by partition and defect code, and the remaining gaps.

        Args:
            left: the damage and gaps after the searches.
            fills: gaps that a dry run would fill; completely filled gaps do not remain.
        """
        for (partition, code), count in left.left_spans.items():
            self.left_spans[code] = self.left_spans.get(code, 0) + count
            self.left_damaged[partition] = self.left_damaged.get(partition, 0) + count
        self.cut_spans += left.cut_spans
        whole = {
            (fill.partition, fill.start_offset)
            for fill in fills
            if fill.filled_offsets == fill.next_offset - fill.start_offset
        }
        gaps = {
            key: [gap for gap in of_key if (str(key), gap.start_offset) not in whole]
            for key, of_key in left.gaps.items()
        }
        self.left_gaps = joined_places(self.left_gaps, gaps_by_place(gaps))

    # Any: the types that JSON can hold.
    def shown_facts(self) -> dict[str, Any]:
        """Return facts for JSON that are no fields, or have another form than their field."""
        return {
            "planned_gaps": self.planned_gaps,
            "planned_offsets": self.planned_offsets,
            "repaired": {name: found._asdict() for name, found in self.repaired.items()},
            "left_offsets": self.left_offsets,
            "left_gaps": json_gaps(self.left_gaps),
        }

    def to_text(self, *, is_verbose: bool = False) -> str:
        """Return the summary as lines for a person, the most important first.

        Args:
            is_verbose: whether to show the whole plan of a dry run.
        """
        lines = [f"{self._headline()} ({self.seconds:.1f} s)"]
        lines += shown_plan("would be filled", self.planned_fills, is_verbose=is_verbose)
        lines += shown_left_in_copies(self.left_in_copies)
        lines += shown_refills(self.refilled, is_dry_run=self.is_dry_run)
        lines += shown_salvaged(self.salvaged)
        lines += self.nothing_salvaged
        still = "" if self.is_dry_run else "still "
        spans = ", ".join(f"{count} {code}" for code, count in sorted(self.left_spans.items()))
        if spans:
            lines.append(f"{still}quarantined: {spans} in {named_counts(self.left_damaged)}")
        if self.cut_spans:
            spans = show_count(self.cut_spans, "quarantined span")
            lines.append(
                f"not all bytes: {spans} above quarantine.max_raw_bytes; give the log dir with "
                "--source to recover their records"
            )
        offsets = "; ".join(
            f"{self.left_offsets[cause]} {cause} in {named_gaps(partitions)}"
            for cause, partitions in self.left_gaps.items()
        )
        if offsets:
            lines.append(f"offsets in gaps that remain: {offsets}")
        lines += self.findings.lines()
        return as_lines(lines)

    def _headline(self) -> str:
        places = f" in {named_gaps(self.repaired)}" if self.repaired else ""
        if self.is_dry_run:
            return (
                f"dry run: {show_count(self.planned_offsets, 'offset')} in "
                f"{show_count(self.planned_gaps, 'gap')}{places} would be filled; nothing was "
                "committed"
            )
        if not self.repaired_gaps and self.refilled:
            records = show_count(sum(self.refilled.values()), "record")
            return f"{records} came from older copies"
        if not self.repaired_gaps:
            is_left = (
                self.left_in_copies or self.left_spans or self.left_gaps or self.findings.of(*_LEFT)
            )
            if self.salvaged.records:
                records = show_count(sum(self.salvaged.records.values()), "record")
                return f"{records} salvaged, no gap filled"
            return "no gap could be filled" if is_left else "nothing to fill"
        return (
            f"{show_count(self.repaired_records, 'record')} filled "
            f"{show_count(self.repaired_gaps, 'gap')}{places}"
        )
