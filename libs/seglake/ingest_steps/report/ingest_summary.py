"""Summary of an ingest, for a person and for programs."""

import json
from dataclasses import asdict, dataclass, field, replace

from seglake.findings.findings import Findings, WithFindings
from seglake.findings.kinds import CONFLICTS, FindingKind
from seglake.findings.losing_tails import tail_lines
from seglake.findings.recovery import Recovery, shown_losses
from seglake.findings.shown_offsets import GapsByPartition, named_counts, named_gaps
from seglake.ingest_steps.repair.repair_result import PlannedFill
from seglake.ingest_steps.repair.salvaged import Salvaged
from seglake.ingest_steps.report.gap_report import gap_lines, json_gaps
from seglake.ingest_steps.report.planned_ranges import PlannedRange
from seglake.ingest_steps.report.refills import shown_left_in_copies, shown_refills
from seglake.ingest_steps.report.salvage_lines import shown_salvaged
from seglake.ingest_steps.report.shown_lines import shown_damage, shown_plan
from seglake.kafka_log.gap_ranges import GapRanges
from seglake.printable import as_lines, show_bytes, show_count

_WHOLE_PARTITIONS = (FindingKind.NO_HIGH_WATERMARK, FindingKind.STUCK)
_LEFT = (FindingKind.LEFT_OUT, FindingKind.REFUSED, FindingKind.NOT_READ)
_ODD_ROWS = {
    "open_rows": "rows of transactions that have not ended",
    "replaced_header_names": "header names that are not UTF-8",
    "unread_internal": "records of internal topics that could not be read (unread_reason)",
    "unsettled_internal": "records of internal topics in transactions that did not commit",
    "redacted": "records of the metadata log whose value is a secret, or may be one",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedWork:
    """Work that a run, or a dry run, has planned.

    Attributes:
        partitions: number of partitions in the sources, including unreadable partitions.
        partitions_with_news: number of partitions with something to ingest.
        tasks: number of tasks.
        planned_bytes: bytes of segments to read.
        planned_offsets: offsets to ingest.
        planned_repairs: number of gaps that a dry run would fill from the given replicas.
        planned_repair_offsets: number of offsets that a dry run would fill in these gaps.
        planned_ranges: ranges that a dry run would ingest, by partition.
        planned_fills: gaps that a dry run would fill, by partition.
    """

    partitions: int = 0
    partitions_with_news: int = 0
    tasks: int = 0
    planned_bytes: int = 0
    planned_offsets: int = 0
    planned_repairs: int = 0
    planned_repair_offsets: int = 0
    planned_ranges: list[PlannedRange] = field(default_factory=list)
    planned_fills: list[PlannedFill] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCounts:
    """Numbers of rows that a run added to the tables, and of bytes.

    Attributes:
        read_bytes: bytes of segments that were read.
        written_bytes: bytes of data files that were committed.
        records: rows of `records`.
        batches: rows of `batches`.
        quarantined: damaged spans, rows of `quarantine`.
        quarantined_bytes: bytes of these spans.
        repaired_gaps: number of gaps that were filled, completely or in part.
        repaired_records: records that filled gaps.
        refilled_records: records from older copies, which the log cleaner had removed.
        missing_offsets: offsets that are missing without a known cause.
        open_rows: rows of transactions that have not ended.
        replaced_header_names: header names that are not UTF-8.
        unread_internal: records of internal topics that could not be read.
        unsettled_internal: records of internal topics in transactions that did not commit.
        redacted: records of the metadata log whose value is a secret, or may be one.
    """

    read_bytes: int = 0
    written_bytes: int = 0
    records: int = 0
    batches: int = 0
    quarantined: int = 0
    quarantined_bytes: int = 0
    repaired_gaps: int = 0
    repaired_records: int = 0
    refilled_records: int = 0
    missing_offsets: int = 0
    open_rows: int = 0
    replaced_header_names: int = 0
    unread_internal: int = 0
    unsettled_internal: int = 0
    redacted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestSummary(WithFindings):
    """Summary of one run, which becomes text or a flat JSON object.

    Attributes:
        run_id: label of the run, which is in every row that the run wrote.
        source_id: cluster whose logs were read.
        lake: path of the lake.
        is_dry_run: whether the run only planned, and wrote nothing.
        seconds: duration of the run.
        planned: work that was planned.
        counts: rows and bytes of the run.
        findings: findings for a person, the most urgent first.
        defects: quarantined byte spans by defect code.
        damaged: quarantined byte spans by partition.
        mended: quarantined byte spans whose offsets this run filled, by partition.
        gaps: gaps that this run recorded and did not fill, by cause and partition.
        repaired: gaps that the run filled or would fill, by partition; only filled offsets are
            counted.
        refilled: for each partition, records that were ingested from older copies or that a dry run
            would ingest.
        left_in_copies: for each partition, records that older copies have and that were not
            ingested because `read.older_copies` is off.
        salvaged: records that were salvaged from damaged batches.
        odd_rows: for each partition, counts of odd rows, named as in `counts`.
        internal_topics_left_out: internal topics of the sources that were not selected.
        recovered_topics: topics with a commit that an earlier run began and this run completed.
        topics: topics with committed rows.
        ingested_partitions: partitions with committed rows.
        recovery: records of this run, and offsets that the lake lacks after it; empty for a dry
            run.
    """

    run_id: str
    source_id: str
    lake: str
    is_dry_run: bool = False
    seconds: float = 0.0
    planned: PlannedWork = field(default_factory=PlannedWork)
    counts: RunCounts = field(default_factory=RunCounts)
    findings: Findings = field(default_factory=Findings)
    defects: dict[str, int] = field(default_factory=dict)
    damaged: dict[str, int] = field(default_factory=dict)
    mended: dict[str, int] = field(default_factory=dict)
    gaps: dict[str, GapsByPartition] = field(default_factory=dict)
    repaired: dict[str, GapRanges] = field(default_factory=dict)
    refilled: dict[str, int] = field(default_factory=dict)
    left_in_copies: dict[str, int] = field(default_factory=dict)
    salvaged: Salvaged = field(default_factory=Salvaged)
    odd_rows: dict[str, dict[str, int]] = field(default_factory=dict)
    internal_topics_left_out: list[str] = field(default_factory=list)
    recovered_topics: list[str] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)
    ingested_partitions: set[str] = field(default_factory=set)
    recovery: Recovery = field(default_factory=lambda: Recovery(()))

    @property
    def partitions(self) -> int:
        """Return the number of partitions in the sources, including unreadable ones."""
        return self.planned.partitions

    @property
    def records(self) -> int:
        """Return the number of new rows in `records`."""
        return self.counts.records

    def to_json(self) -> str:
        """Return the summary as JSON on one line."""
        flat = asdict(replace(self, findings=Findings(), recovery=Recovery(())))
        flat |= {**flat.pop("planned"), **flat.pop("counts"), **self.findings.to_mapping()}
        flat["gaps"] = json_gaps(self.gaps)
        flat["recovery"] = None if self.is_dry_run else self.recovery.to_mapping()
        flat["repaired"] = {name: found._asdict() for name, found in self.repaired.items()}
        flat["ingested_partitions"] = sorted(self.ingested_partitions)
        return json.dumps({**flat, "exit_code": self.exit_code}, sort_keys=True)

    def to_text(self, *, is_verbose: bool = False) -> str:
        """Return the summary as lines for a person, the most important first.

        Args:
            is_verbose: whether to show the whole plan of a dry run.
        """
        planned = self.planned.planned_ranges
        damage = [range_ for range_ in planned if range_.is_damage]
        offsets = [range_ for range_ in planned if not range_.is_damage]
        lines = [self._headline(), *shown_left_in_copies(self.left_in_copies)]
        lines += shown_plan("would be ingested", offsets, is_verbose=is_verbose)
        lines += shown_plan("would be quarantined", damage, is_verbose=is_verbose)
        if self.recovered_topics:
            topics = ", ".join(self.recovered_topics)
            lines.append(f"completed the commit of an earlier run for {topics}")
        lines += self.findings.lines(_WHOLE_PARTITIONS)
        lines += shown_damage(
            self.defects, self.damaged, self.counts.quarantined_bytes, self.mended
        )
        lines += self._repairs()
        lines += shown_salvaged(self.salvaged)
        fills = self.planned.planned_fills
        lines += shown_plan("would be filled", fills, is_verbose=is_verbose)
        lines += self._odd_rows()
        if self.internal_topics_left_out:
            topics = ", ".join(self.internal_topics_left_out)
            lines.append(
                f"not selected: {topics} (internal topics; --internal-topics ingests them)"
            )
        lines += self.findings.lines(kind for kind in FindingKind if kind not in _WHOLE_PARTITIONS)
        return as_lines(lines)

    def _headline(self) -> str:
        planned, counts = self.planned, self.counts
        partitions = show_count(planned.partitions, "partition")
        if self.is_dry_run and not planned.tasks:
            return f"dry run: {self._quiet(partitions)}; nothing was written or recorded"
        if self.is_dry_run:
            return (
                f"dry run: {show_count(planned.planned_offsets, 'offset')} in "
                f"{show_bytes(planned.planned_bytes)} of {planned.partitions_with_news} of "
                f"{partitions} would be ingested in {show_count(planned.tasks, 'task')}; nothing "
                "was written or recorded"
            )
        if not self.topics:
            listed = sum(found.facts["batches"] for found in self.findings.of(*CONFLICTS))
            batches = show_count(listed, "batch", "batches")
            also = f"; {batches} of other replicas were quarantined" if listed else ""
            places = f"{partitions} of {self.source_id}"
            what = f"no new records in {places}" if listed else self._quiet(places)
            return f"{what}{also} ({self.seconds:.1f} s)"
        rate = show_bytes(counts.read_bytes / max(self.seconds, 1e-3))
        internal = self.recovery.internal_records
        own = f" ({internal} of Kafka's own topics)" if internal else ""
        return (
            f"{show_count(counts.records, 'record')}{own} in "
            f"{show_count(counts.batches, 'batch', 'batches')} from "
            f"{self.recovery.partitions_with_records} of {partitions} of {self.source_id}: "
            f"{show_bytes(counts.read_bytes)} read, {show_bytes(counts.written_bytes)} written, "
            f"{self.seconds:.1f} s, {rate}/s"
        )

    def _quiet(self, places: str) -> str:
        """Return the headline of a run without new rows; it names losses still on the disks."""
        left = self.recovery.left_on_disk
        if left:
            return f"nothing ingested in {places}: {'; '.join(shown_losses(left))}"
        if self.left_in_copies or self.findings.of(*_LEFT):
            return f"nothing ingested in {places}"
        return f"nothing new in {places}"

    def _repairs(self) -> list[str]:
        planned, counts = self.planned, self.counts
        lines = []
        if planned.planned_repairs:
            lines.append(
                "would be filled from these sources: "
                f"{show_count(planned.planned_repair_offsets, 'offset')} in "
                f"{show_count(planned.planned_repairs, 'gap')} in {named_gaps(self.repaired)}"
            )
        if counts.repaired_gaps:
            lines.append(
                f"filled from these sources: {show_count(counts.repaired_records, 'record')} in "
                f"{show_count(counts.repaired_gaps, 'gap')} in {named_gaps(self.repaired)}"
            )
        lines += shown_refills(self.refilled, is_dry_run=self.is_dry_run)
        if self.is_dry_run:
            return [*lines, *gap_lines(self.gaps)]
        lines += self.recovery.lines(is_left_shown=not self.topics)
        return [*lines, *tail_lines(self.recovery.tails, self.lake)]

    def _odd_rows(self) -> list[str]:
        return [
            f"{what}: {sum(counts.values())} in {named_counts(counts)}"
            for name, what in _ODD_ROWS.items()
            if (counts := self.odd_rows.get(name))
        ]
