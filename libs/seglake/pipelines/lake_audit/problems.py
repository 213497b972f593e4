"""Problems of partitions as findings with a few examples. Pure."""

from collections.abc import Iterable
from itertools import islice

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.pipelines.lake_audit.ledger import LakePartition

MOST_EXAMPLES = 5


def problem(
    kind: FindingKind, partition: LakePartition, count: int, examples: Iterable[str]
) -> list[Finding]:
    """Return the problem as a list of one finding with a few examples; empty if the count is 0."""
    if not count:
        return []
    shown, name = [*islice(examples, MOST_EXAMPLES)], str(partition)
    rest = count - len(shown)
    more = f", and {rest} more" if rest > 0 else ""
    text = f"{name}: {kind.words[0].lower()}{kind.words[1:]}: {'; '.join(shown)}{more}"
    facts = {"source_id": partition.source_id, "count": count, "examples": shown}
    return [Finding(kind, text, name, facts=facts)]
