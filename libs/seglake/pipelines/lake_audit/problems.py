"""What a person must look at, each in plain words. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

_MOST_EXAMPLES = 5


class ProblemKind(StrEnum):
    """Everything that is not explained; the order is that of how much it means."""

    OFFSET_TWICE = "offset_twice"
    OVERLAP = "overlap"
    NOT_ACCOUNTED = "not_accounted"
    ROW_COUNT = "row_count"
    ROW_WITHOUT_BATCH = "row_without_batch"
    ROW_OUTSIDE_BATCH = "row_outside_batch"
    EQUATION = "equation"
    LEDGER_SUMS = "ledger_sums"
    BYTES = "bytes"
    OUTSIDE_LEDGER = "outside_ledger"
    GAP_BEYOND_COVERAGE = "gap_beyond_coverage"
    UNKNOWN_ATTEMPT = "unknown_attempt"
    UNKNOWN_CAUSE = "unknown_cause"
    NO_EVIDENCE = "no_evidence"
    MISSING = "missing"
    OUTCOME = "outcome"
    LEDGER_OVERLAP = "ledger_overlap"
    REPAIR_OUTSIDE = "repair_outside"
    UNKNOWN_KIND = "unknown_kind"


_WORDS = {
    ProblemKind.OFFSET_TWICE: "offsets more than once in records",
    ProblemKind.OVERLAP: "batches and gaps that overlap",
    ProblemKind.NOT_ACCOUNTED: "covered offsets with neither a batch nor a gap",
    ProblemKind.ROW_COUNT: "batches without the rows in records that they count",
    ProblemKind.ROW_WITHOUT_BATCH: "rows in records whose batch is not in batches",
    ProblemKind.ROW_OUTSIDE_BATCH: "rows in records outside of the offsets of their batch",
    ProblemKind.EQUATION: "ranges that do not add up",
    ProblemKind.LEDGER_SUMS: "sums of the ledger that are not those of the tables",
    ProblemKind.BYTES: "sums of the ledger over the whole partition that are not those of the"
    " tables",
    ProblemKind.OUTSIDE_LEDGER: "rows outside of what the ledger covers",
    ProblemKind.GAP_BEYOND_COVERAGE: "gaps that reach beyond what the ledger covers",
    ProblemKind.UNKNOWN_ATTEMPT: "gaps of an attempt that the ledger does not have there",
    ProblemKind.UNKNOWN_CAUSE: "gaps with a cause that does not exist",
    ProblemKind.NO_EVIDENCE: "gaps said to be quarantined, with nothing there in quarantine",
    ProblemKind.MISSING: "gaps that nothing explains (missing)",
    ProblemKind.OUTCOME: "transactions ingested otherwise than their markers say",
    ProblemKind.LEDGER_OVERLAP: "ingest ranges of the ledger that overlap",
    ProblemKind.REPAIR_OUTSIDE: "repair ranges of the ledger outside of its ingest ranges",
    ProblemKind.UNKNOWN_KIND: "ranges of the ledger with a kind that does not exist",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """How often something was met, and a few places of it."""

    kind: ProblemKind
    count: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        rest = self.count - len(self.examples)
        more = f", and {rest} more" if rest > 0 else ""
        return f"{_WORDS[self.kind]}: {'; '.join(self.examples)}{more}"


def problem(kind: ProblemKind, count: int, examples: Iterable[str]) -> list[Problem]:
    """The problem in a list, cut to a few examples; nothing when the count is 0."""
    if not count:
        return []
    shown = [example for example, _ in zip(examples, range(_MOST_EXAMPLES), strict=False)]
    return [Problem(kind, count, tuple(shown))]


def joined(problems: Sequence[Problem]) -> list[Problem]:
    """Those of one kind made one, in the order of the kinds."""
    result = []
    for kind in ProblemKind:
        own = [problem for problem in problems if problem.kind is kind]
        examples = (example for each in own for example in each.examples)
        result += problem(kind, sum(each.count for each in own), examples)
    return result
