"""Findings of runs, as tests ask for them."""

from typing import NamedTuple, Protocol

from seglake.findings.findings import Finding, Findings
from seglake.findings.kinds import CONFLICTS, FindingKind
from seglake.ingest_steps.committing.concurrent_ranges import ConcurrentRange

NOT_INGESTED_YET = (
    FindingKind.DAMAGED_ABOVE,
    FindingKind.OPEN_TRANSACTION,
    FindingKind.WAITING,
    FindingKind.TAIL,
)
_FIELDS = {
    FindingKind.LOST_TAIL: "lost",
    FindingKind.ELECTION_WON: "contradicts",
    FindingKind.REPLICAS_DIFFER: "differs",
    FindingKind.TWO_LOGS: "same_broker",
}


class ConflictCount(NamedTuple):
    """Number of batches of each kind."""

    lost: int = 0
    contradicts: int = 0
    differs: int = 0
    same_broker: int = 0


class Summary(Protocol):
    """A summary with findings."""

    @property
    def findings(self) -> Findings: ...


def conflicts(summary: Summary) -> dict[str, ConflictCount]:
    """Batches of other replicas by partition; those that no epoch tells apart differ."""
    found: dict[str, dict[str, int]] = {}
    for each in summary.findings.of(*CONFLICTS):
        counts = found.setdefault(each.place, {})
        name = _FIELDS[each.kind]
        counts[name] = counts.get(name, 0) + each.facts["batches"]
    return {name: ConflictCount(**counts) for name, counts in found.items()}


def unread_files(summary: Summary) -> list[Finding]:
    """Files that are recognised and not read."""
    return [found for found in summary.findings if "files_kind" in found.facts]


def unknown_outcomes(summary: Summary) -> list[str]:
    """Transactions whose end damage hides, ingested or not."""
    kinds = (FindingKind.DOUBTFUL_OUTCOME, FindingKind.UNKNOWN_OUTCOME)
    return [found.text for found in summary.findings.of(*kinds)]


def concurrent_ranges(summary: Summary) -> list[ConcurrentRange]:
    """Ranges that another run committed first."""
    kinds = (FindingKind.CONCURRENT_INGEST, FindingKind.CONCURRENT_FILL)
    found = summary.findings.of(*kinds)
    return [ConcurrentRange(**range_) for each in found for range_ in each.facts["by_run"]]
