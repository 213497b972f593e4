"""Result of an audit, for programs; `text_report` makes its text for a person. Pure."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from seglake.findings.findings import Findings
from seglake.findings.kinds import FindingKind
from seglake.findings.recovery import Recovery
from seglake.pipelines.lake_audit.partition_audit import PartitionAudit


class SalvagedSums(NamedTuple):
    """Number of records and batches in `salvaged_records` whose damage no repair has resolved."""

    records: int = 0
    batches: int = 0


NOTHING_SALVAGED = SalvagedSums()


@dataclass(frozen=True, slots=True)
class LakeAudit:
    """Findings about a lake.

    Attributes:
        lake: path of the lake.
        partitions: the audit of each partition.
        problems: problems of the lake as a whole.
        notes: explained facts that a person should know.
        recovery: recovered and lost offsets of the lake's logs, by cause.
        salvaged: untrusted records of damaged batches; no other sum counts them.
    """

    lake: str
    partitions: tuple[PartitionAudit, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    recovery: Recovery
    salvaged: SalvagedSums = NOTHING_SALVAGED

    @property
    def problem_count(self) -> int:
        """Return the number of problems: kinds of problems of each partition, and of the lake."""
        return len(self.problems) + sum(len(partition.problems) for partition in self.partitions)

    @property
    def is_empty(self) -> bool:
        """Return whether nothing was ingested, so that nothing is proved."""
        return not any(partition.covered for partition in self.partitions)

    @property
    def findings(self) -> Findings:
        """Return the problems of the lake and of its partitions, and the notes."""
        found = Findings(of for each in self.partitions for of in each.problems)
        found.add_texts(FindingKind.PROBLEM, self.problems)
        if self.is_empty:
            found.add_texts(FindingKind.NOTHING_INGESTED, [f"nothing was ingested: {self.lake}"])
        found.add_texts(FindingKind.NOTE, self.notes)
        return found

    @property
    def exit_code(self) -> int:
        """Return 0 if everything is explained, else 3."""
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
