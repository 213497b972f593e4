"""Problems that a person must look at, in plain words. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from seglake.pipelines.worded_kinds import WordedKind

MOST_EXAMPLES = 5


class ProblemKind(WordedKind):
    """Everything that is not explained, with its words; in the order of how much it means."""

    SUPERSEDED = ("superseded", "rows that lost an election, and nothing in their place")
    OFFSET_TWICE = ("offset_twice", "offsets more than once in records")
    OVERLAP = ("overlap", "batches and gaps that overlap")
    NOT_ACCOUNTED = ("not_accounted", "covered offsets with neither a batch nor a gap")
    ROW_COUNT = ("row_count", "batches without the rows in records that they count")
    ROW_WITHOUT_BATCH = ("row_without_batch", "rows in records whose batch is not in batches")
    ROW_OUTSIDE_BATCH = (
        "row_outside_batch",
        "rows in records outside of the offsets of their batch",
    )
    EQUATION = ("equation", "ranges that do not add up")
    LEDGER_SUMS = ("ledger_sums", "sums of the ledger that are not those of the tables")
    BYTES = (
        "bytes",
        "sums of the ledger over the whole partition that are not those of the tables",
    )
    OUTSIDE_LEDGER = ("outside_ledger", "rows outside of what the ledger covers")
    GAP_BEYOND_COVERAGE = ("gap_beyond_coverage", "gaps that reach beyond what the ledger covers")
    UNKNOWN_ATTEMPT = ("unknown_attempt", "gaps of an attempt that the ledger does not have there")
    UNKNOWN_CAUSE = ("unknown_cause", "gaps with a cause that does not exist")
    NO_EVIDENCE = ("no_evidence", "gaps said to be quarantined, with nothing there in quarantine")
    MISSING = ("missing", "gaps that nothing explains (missing)")
    OUTCOME = ("outcome", "transactions ingested otherwise than their markers say")
    LEDGER_OVERLAP = ("ledger_overlap", "ingest ranges of the ledger that overlap")
    REPAIR_OUTSIDE = ("repair_outside", "repair ranges of the ledger outside of its ingest ranges")
    UNKNOWN_KIND = ("unknown_kind", "ranges of the ledger with a kind that does not exist")


@dataclass(frozen=True, slots=True)
class Problem:
    """Number of a problem's occurrences, with a few places."""

    kind: ProblemKind
    count: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        rest = self.count - len(self.examples)
        more = f", and {rest} more" if rest > 0 else ""
        return f"{self.kind.words}: {'; '.join(self.examples)}{more}"


def problem(kind: ProblemKind, count: int, examples: Iterable[str]) -> list[Problem]:
    """Return the problem in a list, cut to a few examples; nothing when the count is 0."""
    if not count:
        return []
    return [Problem(kind, count, tuple(islice(examples, MOST_EXAMPLES)))]
