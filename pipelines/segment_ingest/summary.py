"""What a run did, for a person and for a machine. Pure."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from pipelines.segment_ingest.leftovers import Leftover, leftovers, still_open
from pipelines.segment_ingest.planning.plan import RangePlan, SurveyedPartition
from pipelines.segment_ingest.planning.seams import RangeResult
from pipelines.segment_ingest.progress import show_bytes, show_count
from pipelines.segment_ingest.same_logs.replica_compare import ConflictCount
from pipelines.segment_ingest.settings import Settings
from pipelines.segment_ingest.sources.partition_log import PartitionKey, Replica
from pipelines.segment_ingest.transactions.hanging import Fate, StillOpen

_DONE, _LOOK = 0, 3
_MOST_LINES = 20
_MOST_NAMED = 3


@dataclass(slots=True)
class IngestSummary:
    """Counts of one run; a machine reads it as one JSON object.

    Attributes:
        planned_bytes: what the plan wanted, also in a dry run; `read_bytes` is what was taken.
        planned_repairs, planned_repair_offsets: gaps that a dry run finds filled in these copies,
            and what of them; only of those that stand before the run.
        defects: quarantined byte spans by defect code.
        damaged: quarantined byte spans by partition.
        taken: partitions of which something was committed.
        open_transactions: those without an end in what was looked at, and what is done about them.
        uncertain: transactions whose end damage may hide, and as what they count.
        taken_uncertain: those of which this run took something, so that it may be wrong.
        left_out: partitions, and folders of the sources, that could not be taken this time, each
            with the reason.
        conflicts: batches of other copies that are not those of the tables, by partition.
        contradicted: transactions that earlier runs took otherwise than a repair shows they ended.
        refused: partitions whose log is not the one that the lake has, each with what differs.
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
    damaged: dict[str, int] = field(default_factory=dict)
    planned_repairs: int = 0
    planned_repair_offsets: int = 0
    repaired_gaps: int = 0
    repaired_records: int = 0
    missing_offsets: int = 0
    open_rows: int = 0
    replaced_header_names: int = 0
    unread_internal: int = 0
    unsettled_internal: int = 0
    redacted: int = 0
    recovered_topics: list[str] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    left_for_later: list[Leftover] = field(default_factory=list)
    open_transactions: list[StillOpen] = field(default_factory=list)
    uncertain: list[str] = field(default_factory=list)
    taken_uncertain: list[str] = field(default_factory=list)
    contradicted: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    conflicts: dict[str, ConflictCount] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    limits_crossed: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        needs_look = self.left_out or self.refused or self.limits_crossed
        is_in_doubt = self.taken_uncertain or self.contradicted
        # A tail that lost an election is normal; copies that contradict each other are not.
        is_contradicted = any(each.differs or each.contradicts for each in self.conflicts.values())
        return _LOOK if needs_look or is_in_doubt or is_contradicted else _DONE

    def begin_round(
        self,
        logs: Sequence[Sequence[Replica]],
        partitions: Sequence[SurveyedPartition],
        notes: Sequence[str],
        settings: Settings,
    ) -> None:
        """Say what a round found; a later one speaks only of topics that another run took.

        Args:
            logs: the copies of each partition; `partitions` are those that were surveyed.
        """
        names = {str(copies[0].key) for copies in logs}
        self.partitions = max(self.partitions, len(logs))
        self.left_for_later = [
            each for each in self.left_for_later if each.partition not in names
        ] + [each for partition in partitions for each in leftovers(partition, settings)]
        self.open_transactions = [
            each for each in self.open_transactions if each.partition not in names
        ] + [each for partition in partitions for each in still_open(partition, settings)]
        self.uncertain += [
            doubt.text
            for partition in partitions
            for doubt in partition.bounds.uncertain
            if doubt.text not in self.uncertain
        ]
        empty = [
            f"{copies[0].folder} holds no segment, though the broker's checkpoints say "
            f"{copies[0].settled_offset} for {copies[0].key}"
            for copies in logs
            if copies[0].settled_offset and not any(copy.segments for copy in copies)
        ]
        bounds = [note for partition in partitions for note in partition.bounds.notes]
        self.note([*notes, *empty, *bounds])

    def add(self, results: Iterable[RangeResult]) -> None:
        """Count ranges that were committed."""
        for result in results:
            self._count(result)
            self.take(result.plan, result.next_offset)
            totals = result.totals
            self.replaced_header_names += totals.replaced_header_names
            self.unread_internal += totals.unread_internal
            self.unsettled_internal += totals.unsettled_internal
            self.redacted += totals.redacted
            self.missing_offsets += result.missing_offsets
            for report in result.reports:
                self.open_rows += report.open_rows
                for tail in report.tails:
                    if not tail.is_last_segment:
                        self.notes.append(
                            f"{tail.segment} ends in {tail.size_bytes} zero bytes at position "
                            f"{tail.position}; no offset is missing"
                        )

    def take(self, plan: RangePlan, next_offset: int) -> None:
        """Name what is uncertain in a range that is taken, or would be."""
        self.taken_uncertain += [
            doubt.text
            for doubt in plan.partition.bounds.uncertain
            if doubt.start_offset < next_offset and plan.start_offset < doubt.next_offset
            if doubt.text not in self.taken_uncertain
        ]

    def note(self, notes: Iterable[str]) -> None:
        """Say something, once."""
        for each in notes:
            self.notes += [] if each in self.notes else [each]

    def add_repairs(self, results: Iterable[RangeResult]) -> None:
        """Count gaps that were filled from other copies, or from the same bytes."""
        for result in results:
            self._count(result)
            self.topics = sorted({*self.topics, result.plan.partition.replica.key.topic})
            self.repaired_gaps += 1
            self.repaired_records += result.totals.records

    def _count(self, result: RangeResult) -> None:
        name, totals = str(result.plan.partition.replica.key), result.totals
        self.taken.add(name)
        self.records += totals.records
        self.batches += totals.batches
        self.quarantined += totals.quarantined_batches
        if totals.quarantined_batches:
            self.damaged[name] = self.damaged.get(name, 0) + totals.quarantined_batches
        for report in result.reports:
            self.read_bytes += report.bytes.sound + report.bytes.quarantined
            self.quarantined_bytes += report.bytes.quarantined
            for code, count in report.defects:
                self.defects[code] = self.defects.get(code, 0) + count

    def add_conflicts(self, *found: Mapping[PartitionKey, ConflictCount]) -> None:
        """Count batches of copies that are not those of the tables."""
        for counts in found:
            for key, count in counts.items():
                before = self.conflicts.get(str(key), ConflictCount())
                self.conflicts[str(key)] = before.plus(count)

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
        values = {
            **asdict(self),
            "open_transactions": [each._asdict() for each in self.open_transactions],
            "conflicts": {name: count._asdict() for name, count in self.conflicts.items()},
            "taken": sorted(self.taken),
            "exit_code": self.exit_code,
        }
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
            size = show_bytes(self.quarantined_bytes)
            lines.append(f"quarantined: {codes} ({size}){self._most_damaged()}")
        if self.planned_repairs:
            lines.append(
                f"would be filled from another copy: "
                f"{show_count(self.planned_repair_offsets, 'offset')} in "
                f"{show_count(self.planned_repairs, 'gap')}"
            )
        if self.repaired_gaps:
            lines.append(
                f"filled from another copy: {show_count(self.repaired_records, 'record')} in "
                f"{show_count(self.repaired_gaps, 'gap')}"
            )
        if self.missing_offsets:
            lines.append(
                f"missing without a known cause: {show_count(self.missing_offsets, 'offset')}"
            )
        if self.open_rows:
            lines.append(f"rows of transactions that have not ended: {self.open_rows}")
        if self.replaced_header_names:
            lines.append(f"header names that are not UTF-8: {self.replaced_header_names}")
        lines += self._internal_lines()
        lines += _listed(
            "left for later", [f"{each.partition}: {each.reason}" for each in self.left_for_later]
        )
        lines += _listed("open", self._shown_open(Fate.TAKEN, "its rows are marked open"))
        lines += _listed("passed", self._shown_open(Fate.PASSED, "its records are left out"))
        lines += _listed("uncertain", self._shown_uncertain())
        lines += _listed("contradicted", self.contradicted)
        lines += _listed(
            "replica_conflict", [f"{name}: {count}" for name, count in self.conflicts.items()]
        )
        lines += _listed("left out", list(self.left_out.values()))
        lines += _listed("refused", list(self.refused.values()))
        lines += _listed("note", self.notes)
        lines += [f"limit crossed: {limit}" for limit in self.limits_crossed]
        return "\n".join(lines)

    def _shown_open(self, fate: Fate, consequence: str) -> list[str]:
        return [
            f"{each.partition}: {each}; {consequence}"
            for each in self.open_transactions
            if each.fate is fate
        ]

    def _shown_uncertain(self) -> list[str]:
        taken = set(self.taken_uncertain)
        said = "would be taken" if self.is_dry_run else "was taken"
        return [
            f"{text}, and {said} as that: look at it" if text in taken else text
            for text in self.uncertain
        ]

    def _most_damaged(self) -> str:
        worst = sorted(self.damaged.items(), key=lambda each: (-each[1], each[0]))
        names = ", ".join(f"{name} ({count})" for name, count in worst[:_MOST_NAMED])
        more = f" and {len(worst) - _MOST_NAMED} more" if len(worst) > _MOST_NAMED else ""
        return f" in {names}{more}" if worst else ""

    def _internal_lines(self) -> list[str]:
        """What the tables for people lack of the internal topics."""
        told = {
            "records of internal topics that could not be read (unread_reason)": (
                self.unread_internal
            ),
            "records of internal topics in transactions that did not commit": (
                self.unsettled_internal
            ),
            "records of the metadata log whose value is a secret, or may be one": self.redacted,
        }
        return [f"{what}: {count}" for what, count in told.items() if count]

    def _headline(self) -> str:
        partitions = show_count(self.partitions, "partition")
        if self.is_dry_run:
            return (
                f"dry run: {show_count(self.planned_offsets, 'offset')} in "
                f"{show_bytes(self.planned_bytes)} of {self.partitions_with_news} of {partitions} "
                f"would be taken in {show_count(self.tasks, 'task')}; nothing was written"
            )
        if not self.topics:
            listed = sum(sum(count) for count in self.conflicts.values())
            batches = show_count(listed, "batch", "batches")
            also = f"; {batches} of other copies came into quarantine" if listed else ""
            quiet = "nothing taken" if self.left_out else "nothing new"
            what = "no new records" if listed else quiet
            return f"{what} in {partitions} of {self.source_id}{also} ({self.seconds:.1f} s)"
        rate = show_bytes(self.read_bytes / max(self.seconds, 1e-3))
        return (
            f"{show_count(self.records, 'record')} in "
            f"{show_count(self.batches, 'batch', 'batches')} from "
            f"{len(self.taken)} of {partitions} of {self.source_id}: "
            f"{show_bytes(self.read_bytes)} read, {show_bytes(self.written_bytes)} written, "
            f"{self.seconds:.1f} s, {rate}/s"
        )


def _listed(label: str, lines: list[str]) -> list[str]:
    shown = [f"{label}: {line}" for line in lines[:_MOST_LINES]]
    if len(lines) > _MOST_LINES:
        shown.append(f"{label}: … and {len(lines) - _MOST_LINES} more (all of them with --json)")
    return shown
