"""What the gaps of one partition in one cell come to, and which of them explain nothing. Pure."""

from typing import NamedTuple

import numpy as np

from seglake.kafka_log.gap_ranges import GapRanges
from seglake.kafka_log.offset_gaps import BEHIND_DAMAGE, GapCause
from seglake.kafka_log.offset_ranges import merged
from seglake.pipelines.lake_audit.gap_rows import NEVER, GapRows, are_current, generations
from seglake.pipelines.lake_audit.ledger import BlockKey, LedgerBlocks, Offsets, PartitionLedger
from seglake.pipelines.lake_audit.problems import Problem, ProblemKind, problem_at
from seglake.pipelines.lake_audit.quarantine_checks import Damage
from seglake.pipelines.lake_audit.sums import RangeSums

MOST_SHOWN = 20
_MOST_SPANS = 3


# The least explained first.
RANKS = {str(cause): rank for rank, cause in enumerate(reversed(GapCause))}


class ShownGap(NamedTuple):
    """A current gap with what speaks for its cause."""

    cause: str
    start_offset: int
    next_offset: int
    evidence: str | None


class GapChecks:
    """Judges the gaps once; ask anything afterwards.

    Attributes:
        current: the gaps that still stand, also those that only reach into the cell.
        row_count: rows of `gaps` that are counted in this cell: those that start in it.
    """

    def __init__(
        self, gaps: GapRows, ledger: PartitionLedger, blocks: LedgerBlocks, cell: tuple[int, int]
    ) -> None:
        self._blocks = blocks
        generation_of = generations(gaps, ledger.ranges)
        is_here = (gaps.starts >= cell[0]) & (gaps.starts <= cell[1])
        is_covered = ledger.ever_covered().index_of(gaps.starts) >= 0
        is_current = are_current(gaps, generation_of, ledger.ranges)
        self.row_count = int(is_here.sum())
        self.current = gaps.taken(is_current)
        self._gaps = gaps
        self._are_outside = is_here & ~is_covered
        self._are_lost = is_here & is_covered & (generation_of == NEVER)
        self._counted = gaps.taken(is_here & is_current & is_covered)
        block = blocks.index_of(gaps.starts, generation_of)
        has_block = is_here & (block >= 0)
        self._written, self._block = gaps.taken(has_block), block[has_block]

    def sums(self) -> dict[BlockKey, RangeSums]:
        """The offsets in the gaps that each block has, also in those that were repaired since."""
        spans = np.zeros(len(self._blocks.starts), np.int64)
        stops = np.minimum(self._written.stops, self._blocks.stops[self._block])
        np.add.at(spans, self._block, stops - self._written.starts)
        return {
            self._blocks.key(index): RangeSums(gap_span=int(spans[index]))
            for index in np.flatnonzero(spans).tolist()
        }

    def counts(self) -> dict[str, GapRanges]:
        """Current gaps by cause; what the cleaner took is only counted."""
        gaps = self._counted
        found = {}
        for code in np.unique(gaps.causes).tolist():
            chosen, cause = gaps.causes == code, str(gaps.texts[code])
            starts, stops = gaps.starts[chosen], gaps.stops[chosen]
            is_listed = cause != GapCause.COMPACTED
            ranges = merged(zip(starts.tolist(), stops.tolist(), strict=True)) if is_listed else ()
            found[cause] = GapRanges(len(starts), int((stops - starts).sum()), tuple(ranges))
        return found

    def shown(self, damage: Damage) -> list[ShownGap]:
        """A few current gaps, the least explained first."""
        gaps = self._counted
        order = np.argsort(_ranks(gaps)[gaps.causes], kind="stable")
        return [_shown(gaps, index, damage) for index in order[:MOST_SHOWN].tolist()]

    def problems(self, damage: Damage) -> list[Problem]:
        """Gaps that explain nothing, or say what cannot be."""
        met, gaps = self._gaps, self._counted
        strange = _ranks(gaps)[gaps.causes] == len(RANKS)
        is_damaged = gaps.with_cause(GapCause.QUARANTINED) | gaps.with_cause(GapCause.MARKER)
        unproved = is_damaged & ~damage.explains(gaps.starts, gaps.stops)
        return [
            *problem_at(
                ProblemKind.OUTSIDE_LEDGER,
                self._are_outside,
                lambda index: f"gaps has offsets {met.span(index)}",
            ),
            *problem_at(
                ProblemKind.GAP_BEYOND_COVERAGE,
                self._written.stops > self._blocks.stops[self._block],
                self._written.span,
            ),
            *problem_at(
                ProblemKind.UNKNOWN_ATTEMPT,
                self._are_lost,
                lambda index: f"{met.span(index)} of {met.texts[int(met.attempts[index])]}",
            ),
            *problem_at(
                ProblemKind.UNKNOWN_CAUSE,
                strange,
                lambda index: f"{gaps.span(index)} {gaps.texts[int(gaps.causes[index])]!r}",
            ),
            *problem_at(ProblemKind.NO_EVIDENCE, unproved, gaps.span),
            *problem_at(ProblemKind.MISSING, gaps.with_cause(GapCause.MISSING), gaps.span),
        ]


def _ranks(gaps: GapRows) -> Offsets:
    """The rank of each text as a cause; what is no cause comes last."""
    return np.array([RANKS.get(text or "", len(RANKS)) for text in gaps.texts], np.int64)


def _shown(gaps: GapRows, index: int, damage: Damage) -> ShownGap:
    cause = str(gaps.texts[int(gaps.causes[index])])
    start, stop = int(gaps.starts[index]), int(gaps.stops[index])
    detail = gaps.texts[int(gaps.details[index])]
    said = [] if detail is None else [detail]
    if cause in BEHIND_DAMAGE:
        near = damage.near(start, stop)
        said += near[:_MOST_SPANS]
        if len(near) > _MOST_SPANS:
            said.append(f"{len(near) - _MOST_SPANS} more")
    return ShownGap(cause, start, stop, "; ".join(said) or None)
