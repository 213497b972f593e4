"""Problems that the proof finds, as findings with a few examples."""

from collections.abc import Iterable, Iterator
from itertools import islice

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.grouping import grouped
from seglake.pipelines.lake_audit.ledger import LakePartition
from seglake.proof.engines import Row
from seglake.proof.queries import MOST_EXAMPLES


def problem(
    kind: FindingKind, partition: LakePartition, count: int, examples: Iterable[str]
) -> list[Finding]:
    """Return the problem as a list of one finding with a few examples; empty if the count is 0."""
    if not count:
        return []
    shown = [*islice(examples, MOST_EXAMPLES)]
    return [_finding(kind, str(partition), partition.source_id, count, shown)]


def log_problems(kind: FindingKind, rows: Iterable[Row]) -> Iterator[Finding]:
    """Yield a finding for each log, given its first problems.

    Args:
        kind: kind of the problems.
        rows: rows like those of `first_problems`, with logs named `<partition> of <source id>`.
    """
    for log, found in grouped((row["log"], row) for row in rows).items():
        place, _, source_id = log.partition(" of ")
        yield _finding(kind, place, source_id, found[0]["total"], [row["said"] for row in found])


def _finding(
    kind: FindingKind, place: str, source_id: str, count: int, shown: list[str]
) -> Finding:
    rest = count - len(shown)
    more = f", and {rest} more" if rest > 0 else ""
    text = f"{place}: {kind.words[0].lower()}{kind.words[1:]}: {'; '.join(shown)}{more}"
    facts = {"source_id": source_id, "count": count, "examples": shown}
    return Finding(kind, text, place, facts=facts)
