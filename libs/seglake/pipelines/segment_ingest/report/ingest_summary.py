"""What a run did, for a person and for a machine. Pure."""

import json
from dataclasses import asdict, dataclass, field

from seglake.errors import ExitCode
from seglake.pipelines.progress import show_bytes, show_count
from seglake.pipelines.segment_ingest.replica_conflicts.replica_compare import ConflictCount
from seglake.pipelines.segment_ingest.report.unread import (
    OpenTransactionAction,
    StillOpen,
    UnreadRange,
)

_MOST_LINES = 20
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedWork:
    """What a run was to read, also of a dry run.

    Attributes:
        planned_repairs, planned_repair_offsets: gaps that a dry run finds filled in these replicas,
            and the offsets of that; only of gaps that stand before the run.
    """

    partitions: int = 0
    partitions_with_news: int = 0
    tasks: int = 0
    planned_bytes: int = 0
    planned_offsets: int = 0
    planned_repairs: int = 0
    planned_repair_offsets: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCounts:
    """What a run brought into the tables."""

    read_bytes: int = 0
    written_bytes: int = 0
    records: int = 0
    batches: int = 0
    quarantined: int = 0
    quarantined_bytes: int = 0
    repaired_gaps: int = 0
    repaired_records: int = 0
    missing_offsets: int = 0
    open_rows: int = 0
    replaced_header_names: int = 0
    unread_internal: int = 0
    unsettled_internal: int = 0
    redacted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What a person should know.

    Attributes:
        open_transactions: those without an end in what was read, and what the run does about them.
        unknown_outcomes: transactions whose end damage may hide, and as what they count.
        ingested_unknown_outcomes: those of which this run ingested something, which may be wrong.
        left_out: partitions, and folders of the sources, that could not be read this time, with
            the reason.
        conflicts: batches of other replicas that are not those of the tables, by partition.
        contradicted: transactions that earlier runs ingested otherwise than a repair shows.
        refused: partitions whose log is not the one that the lake has, with what differs.
    """

    not_ingested_yet: list[UnreadRange] = field(default_factory=list)
    open_transactions: list[StillOpen] = field(default_factory=list)
    unknown_outcomes: list[str] = field(default_factory=list)
    ingested_unknown_outcomes: list[str] = field(default_factory=list)
    contradicted: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    conflicts: dict[str, ConflictCount] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    limits_crossed: list[str] = field(default_factory=list)

    @property
    def need_a_look(self) -> bool:
        """Whether a person should look."""
        # A tail that lost an election is normal; copies that contradict each other are not.
        is_contradicted = any(
            conflict.differs or conflict.contradicts for conflict in self.conflicts.values()
        )
        is_in_doubt = self.ingested_unknown_outcomes or self.contradicted
        return bool(
            self.left_out or self.refused or self.limits_crossed or is_in_doubt or is_contradicted
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestSummary:
    """One run; a machine reads it as one flat JSON object.

    Attributes:
        defects: quarantined byte spans by defect code.
        damaged: quarantined byte spans by partition.
        taken: partitions of which something was committed; `topics` theirs.
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
    recovered_topics: list[str] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)

    @property
    def exit_code(self) -> int:
        return ExitCode.LOOK if self.findings.need_a_look else ExitCode.DONE

    @property
    def partitions(self) -> int:
        """How many partitions the run looked at."""
        return self.planned.partitions

    @property
    def records(self) -> int:
        """How many rows came into `records`."""
        return self.counts.records

    @property
    def notes(self) -> list[str]:
        return self.findings.notes

    @property
    def contradicted(self) -> list[str]:
        return self.findings.contradicted

    @property
    def left_out(self) -> dict[str, str]:
        return self.findings.left_out

    def to_json(self) -> str:
        """One line."""
        values = asdict(self)
        flat = {**values, **values.pop("planned"), **values.pop("counts"), **values.pop("findings")}
        for name in ("planned", "counts", "findings"):
            del flat[name]
        findings = self.findings
        flat["open_transactions"] = [
            transaction._asdict() for transaction in findings.open_transactions
        ]
        flat["conflicts"] = {name: count._asdict() for name, count in findings.conflicts.items()}
        return json.dumps(
            {**flat, "taken": sorted(self.taken), "exit_code": self.exit_code}, sort_keys=True
        )

    def to_text(self) -> str:
        """A few lines, the most important first."""
        findings = self.findings
        lines = [self._headline(), *self._recovered(), *self._damage(), *self._repairs()]
        lines += self._odd_rows()
        lines += _listed(
            "not ingested yet",
            [
                f"{unread_range.partition}: {unread_range.reason}"
                for unread_range in findings.not_ingested_yet
            ],
        )
        lines += _listed(
            "open", self._shown_open(OpenTransactionAction.INCLUDED, "its rows are marked open")
        )
        lines += _listed(
            "skipped", self._shown_open(OpenTransactionAction.SKIPPED, "its records are left out")
        )
        lines += _listed("unknown outcome", self._shown_unknown())
        lines += _listed("contradicted", findings.contradicted)
        conflicts = [f"{name}: {count}" for name, count in findings.conflicts.items()]
        lines += _listed("replica_conflict", conflicts)
        lines += _listed("left out", list(findings.left_out.values()))
        lines += _listed("refused", list(findings.refused.values()))
        lines += _listed("note", findings.notes)
        lines += [f"limit crossed: {limit}" for limit in findings.limits_crossed]
        return "\n".join(lines)

    def _headline(self) -> str:
        planned, counts = self.planned, self.counts
        partitions = show_count(planned.partitions, "partition")
        if self.is_dry_run:
            return (
                f"dry run: {show_count(planned.planned_offsets, 'offset')} in "
                f"{show_bytes(planned.planned_bytes)} of {planned.partitions_with_news} of "
                f"{partitions} would be ingested in {show_count(planned.tasks, 'task')}; nothing "
                "was written"
            )
        if not self.topics:
            listed = sum(sum(count) for count in self.findings.conflicts.values())
            batches = show_count(listed, "batch", "batches")
            also = f"; {batches} of other replicas were quarantined" if listed else ""
            quiet = "nothing ingested" if self.findings.left_out else "nothing new"
            what = "no new records" if listed else quiet
            return f"{what} in {partitions} of {self.source_id}{also} ({self.seconds:.1f} s)"
        rate = show_bytes(counts.read_bytes / max(self.seconds, 1e-3))
        return (
            f"{show_count(counts.records, 'record')} in "
            f"{show_count(counts.batches, 'batch', 'batches')} from "
            f"{len(self.taken)} of {partitions} of {self.source_id}: "
            f"{show_bytes(counts.read_bytes)} read, {show_bytes(counts.written_bytes)} written, "
            f"{self.seconds:.1f} s, {rate}/s"
        )

    def _recovered(self) -> list[str]:
        if not self.recovered_topics:
            return []
        return ["completed the commit of an earlier run for " + ", ".join(self.recovered_topics)]

    def _damage(self) -> list[str]:
        if not self.counts.quarantined:
            return []
        codes = ", ".join(f"{count} {code}" for code, count in sorted(self.defects.items()))
        worst = sorted(self.damaged.items(), key=lambda item: (-item[1], item[0]))
        names = ", ".join(f"{name} ({count})" for name, count in worst[:_MOST_NAMED])
        more = f" and {len(worst) - _MOST_NAMED} more" if len(worst) > _MOST_NAMED else ""
        size = show_bytes(self.counts.quarantined_bytes)
        return [f"quarantined: {codes} ({size}) in {names}{more}"]

    def _repairs(self) -> list[str]:
        planned, counts = self.planned, self.counts
        lines = []
        if planned.planned_repairs:
            lines.append(
                f"would be filled from another replica: "
                f"{show_count(planned.planned_repair_offsets, 'offset')} in "
                f"{show_count(planned.planned_repairs, 'gap')}"
            )
        if counts.repaired_gaps:
            lines.append(
                f"filled from another replica: {show_count(counts.repaired_records, 'record')} in "
                f"{show_count(counts.repaired_gaps, 'gap')}"
            )
        if counts.missing_offsets:
            missing = show_count(counts.missing_offsets, "offset")
            lines.append(f"missing without a known cause: {missing}")
        return lines

    def _odd_rows(self) -> list[str]:
        counts = self.counts
        said = {
            "rows of transactions that have not ended": counts.open_rows,
            "header names that are not UTF-8": counts.replaced_header_names,
            "records of internal topics that could not be read (unread_reason)": (
                counts.unread_internal
            ),
            "records of internal topics in transactions that did not commit": (
                counts.unsettled_internal
            ),
            "records of the metadata log whose value is a secret, or may be one": counts.redacted,
        }
        return [f"{what}: {count}" for what, count in said.items() if count]

    def _shown_open(self, action: OpenTransactionAction, consequence: str) -> list[str]:
        return [
            f"{open_.partition}: {open_}; {consequence}"
            for open_ in self.findings.open_transactions
            if open_.action is action
        ]

    def _shown_unknown(self) -> list[str]:
        taken = set(self.findings.ingested_unknown_outcomes)
        said = "would be ingested" if self.is_dry_run else "was ingested"
        return [
            f"{text}, and {said} as that: look at it" if text in taken else text
            for text in self.findings.unknown_outcomes
        ]


def _listed(label: str, lines: list[str]) -> list[str]:
    shown = [f"{label}: {line}" for line in lines[:_MOST_LINES]]
    if len(lines) > _MOST_LINES:
        shown.append(f"{label}: … and {len(lines) - _MOST_LINES} more (all of them with --json)")
    return shown
