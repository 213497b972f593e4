"""Result of an audit, for programs; `text_report` makes its text for a person."""

from typing import Any, NamedTuple

from seglake.findings.findings import Finding, Findings
from seglake.findings.kinds import FindingKind
from seglake.findings.recovery import Recovery
from seglake.pipelines.lake_audit.latest_proof import LatestAudit
from seglake.pipelines.lake_audit.partition_audit import PartitionAudit
from seglake.pipelines.lake_audit.typed_proof import TypedAudit


class SalvagedSums(NamedTuple):
    """Number of salvaged records and of their batches, if the damage is still unrepaired."""

    records: int = 0
    batches: int = 0


NOTHING_SALVAGED = SalvagedSums()


class LakeAudit(NamedTuple):
    """Findings about a lake.

    Attributes:
        lake: path of the lake.
        partitions: the audit of each partition.
        problems: problems of the lake as a whole.
        notes: messages for the user that need no action.
        recovery: recovered and lost offsets of the lake's logs, by cause.
        salvaged: untrusted records of damaged batches, which no other sum includes.
        typed: findings about the typed tables; None if nothing was ever decoded.
        latest: findings about the tables of latest state; None if there are none.
        not_erased: findings about erasures that have not ended.
    """

    lake: str
    partitions: tuple[PartitionAudit, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    recovery: Recovery
    salvaged: SalvagedSums = NOTHING_SALVAGED
    typed: TypedAudit | None = None
    latest: LatestAudit | None = None
    not_erased: tuple[Finding, ...] = ()

    @property
    def problem_count(self) -> int:
        """Return the number of problems.

        Each partition counts once for each kind of problem that it has.
        """
        own = sum(len(partition.problems) for partition in self.partitions)
        others = sum(len(each.findings) for each in self.of_topics)
        return len(self.problems) + own + others

    @property
    def of_topics(self) -> "tuple[TypedAudit | LatestAudit, ...]":
        """Return the results for the tables that each belong to one topic."""
        return tuple(each for each in (self.typed, self.latest) if each is not None)

    @property
    def is_empty(self) -> bool:
        """Return whether nothing was ingested, so that there is nothing to prove."""
        return not any(partition.covered for partition in self.partitions)

    @property
    def findings(self) -> Findings:
        """Return the problems of the lake and of its partitions, and the notes."""
        found = Findings(of for each in self.partitions for of in each.problems)
        found.add_texts(FindingKind.PROBLEM, self.problems)
        found.add(self.not_erased)
        for each in self.of_topics:
            found.add(each.findings)
        if self.is_empty:
            found.add_texts(FindingKind.NOTHING_INGESTED, [f"nothing was ingested: {self.lake}"])
        found.add_texts(FindingKind.NOTE, self.notes)
        for each in self.of_topics:
            found.add_texts(FindingKind.NOTE, each.notes)
        return found

    @property
    def exit_code(self) -> int:
        """Return 0 if every covered offset has a record or a recorded cause, else 3."""
        return self.findings.exit_code

    # Any: the types that JSON can hold.
    def to_mapping(self) -> dict[str, Any]:
        """Return the results as a mapping for JSON, without the findings."""
        return {
            "lake": self.lake,
            "is_empty": self.is_empty,
            "covered_offsets": sum(partition.covered_offsets for partition in self.partitions),
            "records": sum(partition.totals.records for partition in self.partitions),
            "salvaged": self.salvaged._asdict(),
            "typed": None if self.typed is None else self.typed.to_mapping(),
            "latest": None if self.latest is None else self.latest.to_mapping(),
            "recovery": self.recovery.to_mapping(),
            "partitions": [_partition(partition) for partition in self.partitions],
        }


def _partition(audit: PartitionAudit) -> dict[str, Any]:
    by_code = audit.quarantine.by_code
    return {
        "source_id": audit.partition.source_id,
        **audit.partition.key._asdict(),
        "covered": [list(offsets) for offsets in audit.covered],
        "not_covered": [list(offsets) for offsets in audit.not_covered],
        "covered_offsets": audit.covered_offsets,
        "accounted_offsets": audit.totals.accounted,
        "sums": audit.totals._asdict(),
        "gaps": {cause: count._asdict() for cause, count in sorted(audit.gaps.items())},
        "shown_gaps": [gap._asdict() for gap in audit.shown_gaps],
        "quarantine": {
            "spans": audit.quarantine.spans,
            "size_bytes": audit.quarantine.size_bytes,
            "resolved": audit.quarantine.resolved,
            "by_code": {code: count._asdict() for code, count in sorted(by_code.items())},
        },
        "marks": None if audit.marks is None else audit.marks._asdict(),
        "left_above": None if audit.left is None else audit.left._asdict(),
        "superseded": audit.superseded._asdict(),
        "refilled_records": audit.refilled.records,
        "open_transactions": [rows._asdict() for rows in audit.open_transactions],
    }
