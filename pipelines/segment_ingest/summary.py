"""What a run did, for a person and for a machine. Pure."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

from pipelines.segment_ingest.partition_log import Replica
from pipelines.segment_ingest.plan import SurveyedPartition
from pipelines.segment_ingest.progress import show_bytes
from pipelines.segment_ingest.seams import RangeResult
from pipelines.segment_ingest.settings import Settings

_DONE, _LOOK = 0, 3
_MOST_LINES = 20


@dataclass(frozen=True, slots=True)
class Leftover:
    """Why a partition was not taken to the end of its log."""

    partition: str
    reason: str
    from_offset: int
    log_end_offset: int


@dataclass(slots=True)
class IngestSummary:
    """Counts of one run; a machine reads it as one JSON object.

    Attributes:
        planned_bytes: what the plan wanted, also in a dry run; `read_bytes` is what was taken.
        defects: quarantined byte spans by defect code.
        taken: partitions of which something was committed.
        left_out: partitions that could not be taken this time, each with the reason.
    """

    run_id: str
    source_id: str
    lake: str
    is_dry_run: bool = False
    partitions: int = 0
    partitions_with_news: int = 0
    tasks: int = 0
    planned_bytes: int = 0
    planned_offsets: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    records: int = 0
    batches: int = 0
    quarantined: int = 0
    quarantined_bytes: int = 0
    defects: dict[str, int] = field(default_factory=dict)
    missing_offsets: int = 0
    open_rows: int = 0
    replaced_header_names: int = 0
    recovered_topics: list[str] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    left_for_later: list[Leftover] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    limits_crossed: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        return _LOOK if self.left_out or self.limits_crossed else _DONE

    def begin_round(
        self,
        replicas: Sequence[Replica],
        partitions: Sequence[SurveyedPartition],
        notes: Sequence[str],
        settings: Settings,
    ) -> None:
        """Say what a round found; a later one speaks only of topics that another run took."""
        names = {str(replica.key) for replica in replicas}
        self.partitions = max(self.partitions, len(replicas))
        self.left_for_later = [
            each for each in self.left_for_later if each.partition not in names
        ] + [each for partition in partitions for each in leftovers(partition, settings)]
        empty = [
            f"{replica.folder} holds no segment, though the broker's checkpoints say "
            f"{replica.settled_offset} for {replica.key}"
            for replica in replicas
            if not replica.segments and replica.settled_offset
        ]
        bounds = [note for partition in partitions for note in partition.bounds.notes]
        self.notes += [note for note in [*notes, *empty, *bounds] if note not in self.notes]

    def add(self, results: Iterable[RangeResult]) -> None:
        """Count ranges that were committed."""
        for result in results:
            self.taken.add(str(result.plan.partition.replica.key))
            totals = result.totals
            self.records += totals.records
            self.batches += totals.batches
            self.quarantined += totals.quarantined_batches
            self.replaced_header_names += totals.replaced_header_names
            self.missing_offsets += result.missing_offsets
            for report in result.reports:
                self.read_bytes += report.bytes.sound + report.bytes.quarantined
                self.quarantined_bytes += report.bytes.quarantined
                self.open_rows += report.open_rows
                for code, count in report.defects:
                    self.defects[code] = self.defects.get(code, 0) + count
                for tail in report.tails:
                    if not tail.is_last_segment:
                        self.notes.append(
                            f"{tail.segment} ends in {tail.size_bytes} zero bytes at position "
                            f"{tail.position}; no offset is missing"
                        )

    def check_limits(self, settings: Settings) -> None:
        """Note which limits of the settings the run crossed."""
        if settings.limits.fail_on_quarantine and self.quarantined:
            self.limits_crossed.append(f"limits.fail_on_quarantine: {self.quarantined} quarantined")
        if settings.limits.fail_on_unexplained_gap and self.missing_offsets:
            self.limits_crossed.append(
                f"limits.fail_on_unexplained_gap: {self.missing_offsets} offsets missing"
            )

    def to_json(self) -> str:
        """One line."""
        values = {**asdict(self), "taken": sorted(self.taken), "exit_code": self.exit_code}
        return json.dumps(values, sort_keys=True)

    def to_text(self) -> str:
        """A few lines, the most important first."""
        lines = [self._headline()]
        if self.recovered_topics:
            lines.append(
                "completed the commit of an earlier run for " + ", ".join(self.recovered_topics)
            )
        if self.quarantined:
            codes = ", ".join(f"{count} {code}" for code, count in sorted(self.defects.items()))
            lines.append(f"quarantined: {codes} ({show_bytes(self.quarantined_bytes)})")
        if self.missing_offsets:
            lines.append(f"missing without a known cause: {self.missing_offsets} offsets")
        if self.open_rows:
            lines.append(f"rows of transactions that have not ended: {self.open_rows}")
        if self.replaced_header_names:
            lines.append(f"header names that are not UTF-8: {self.replaced_header_names}")
        lines += _listed(
            "left for later", [f"{each.partition}: {each.reason}" for each in self.left_for_later]
        )
        lines += _listed("left out", list(self.left_out.values()))
        lines += _listed("note", self.notes)
        lines += [f"limit crossed: {limit}" for limit in self.limits_crossed]
        return "\n".join(lines)

    def _headline(self) -> str:
        if self.is_dry_run:
            return (
                f"dry run: {self.planned_offsets} offsets in {show_bytes(self.planned_bytes)} of "
                f"{self.partitions_with_news} of {self.partitions} partitions would be taken in "
                f"{self.tasks} tasks; nothing was written"
            )
        if not self.topics:
            return (
                f"nothing new in {self.partitions} partitions of {self.source_id} "
                f"({self.seconds:.1f} s)"
            )
        rate = show_bytes(self.read_bytes / max(self.seconds, 1e-3))
        return (
            f"{self.records} records in {self.batches} batches from "
            f"{len(self.taken)} of {self.partitions} partitions of {self.source_id}: "
            f"{show_bytes(self.read_bytes)} read, {show_bytes(self.written_bytes)} written, "
            f"{self.seconds:.1f} s, {rate}/s"
        )


def _listed(label: str, lines: list[str]) -> list[str]:
    shown = [f"{label}: {line}" for line in lines[:_MOST_LINES]]
    if len(lines) > _MOST_LINES:
        shown.append(f"{label}: … and {len(lines) - _MOST_LINES} more (all of them with --json)")
    return shown


def _has_high_watermark(partition: SurveyedPartition) -> bool:
    """Without one the bounds have a note of their own."""
    return partition.bounds.high_watermark is not None


def leftovers(partition: SurveyedPartition, settings: Settings) -> list[Leftover]:
    """What of a log lies above what this run takes, and why."""
    bounds = partition.bounds
    name = str(partition.replica.key)
    found: list[Leftover] = []
    high = bounds.last_stable_offset if not bounds.open_transactions else None
    upper = bounds.next_offset

    def add(reason: str, offset: int) -> None:
        found.append(Leftover(name, reason, offset, bounds.log_end_offset))

    if bounds.open_transactions and upper == bounds.last_stable_offset < bounds.log_end_offset:
        first = bounds.open_transactions[0]
        add(
            f"producer {first.producer_id} has a transaction open since offset "
            f"{first.first_offset}; {bounds.log_end_offset - upper} offsets wait for its end",
            upper,
        )
    elif high is not None and high < bounds.log_end_offset and _has_high_watermark(partition):
        add(f"{bounds.log_end_offset - high} offsets lie above the high watermark {high}", high)
    tail = partition.surveys[-1].tail if partition.surveys else None
    if tail is not None:
        add(f"the last segment ends in {tail}", bounds.log_end_offset)
    return found
