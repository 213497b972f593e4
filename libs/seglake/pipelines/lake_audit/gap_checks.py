"""What the gaps of one partition in one cell come to, and which of them explain nothing. Pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from seglake.kafka_log.offset_gaps import GapCause
from seglake.pipelines.lake_audit.gap_rows import NEVER, GapRows, are_current, generations
from seglake.pipelines.lake_audit.ledger import Blocks, Offsets, PartitionLedger
from seglake.pipelines.lake_audit.problems import Problem, ProblemKind, problem_at
from seglake.pipelines.lake_audit.quarantine_checks import Damage
from seglake.pipelines.lake_audit.sums import RangeSums

MOST_SHOWN = 20
_MOST_SPANS = 3


# The least explained first.
RANKS = {str(cause): rank for rank, cause in enumerate(reversed(GapCause))}


class GapCount(NamedTuple):
    """How many current gaps have a cause, and how many offsets lie in them."""

    gaps: int
    offsets: int


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
        self, gaps: GapRows, ledger: PartitionLedger, blocks: Blocks, cell: tuple[int, int]
    ) -> None:
        self._blocks = blocks
        generation_of = generations(gaps, ledger.ranges)
        is_here = (gaps.starts >= cell[0]) & (gaps.starts <= cell[1])
        block = blocks.index_of(gaps.starts)
        is_current = are_current(gaps, generation_of, ledger.ranges)
        is_counted = is_here & is_current & (block >= 0)
        self.row_count = int(is_here.sum())
        self.current = gaps.taken(is_current)
        self._outside = gaps.taken(is_here & (block < 0))
        self._lost = gaps.taken(is_here & (block >= 0) & (generation_of == NEVER))
        self._counted = gaps.taken(is_counted)
        self._block = block[is_counted]

    def sums(self) -> dict[int, RangeSums]:
        """The offsets in current gaps of each block that has some, by its start."""
        spans = np.zeros(len(self._blocks.starts), np.int64)
        stops = np.minimum(self._counted.stops, self._blocks.stops[self._block])
        np.add.at(spans, self._block, stops - self._counted.starts)
        return {
            int(self._blocks.starts[index]): RangeSums(gap_span=int(spans[index]))
            for index in np.flatnonzero(spans).tolist()
        }

    def counts(self) -> dict[str, GapCount]:
        """Current gaps by cause."""
        gaps = self._counted
        found = {}
        for code in np.unique(gaps.causes).tolist():
            chosen = gaps.causes == code
            offsets = int((gaps.stops[chosen] - gaps.starts[chosen]).sum())
            found[str(gaps.texts[code])] = GapCount(int(chosen.sum()), offsets)
        return found

    def shown(self, damage: Damage) -> list[ShownGap]:
        """A few current gaps, the least explained first."""
        gaps = self._counted
        order = np.argsort(_ranks(gaps)[gaps.causes], kind="stable")
        return [_shown(gaps, index, damage) for index in order[:MOST_SHOWN].tolist()]

    def problems(self, damage: Damage) -> list[Problem]:
        """Gaps that explain nothing, or say what cannot be."""
        gaps = self._counted
        strange = _ranks(gaps)[gaps.causes] == len(RANKS)
        quarantined = gaps.with_cause(GapCause.QUARANTINED)
        unproved = quarantined & ~damage.explains(gaps.starts, gaps.stops)
        outside, lost = self._outside, self._lost
        return [
            *problem_at(
                ProblemKind.OUTSIDE_LEDGER,
                np.arange(len(outside.starts)),
                lambda index: f"gaps has offsets {outside.span(index)}",
            ),
            *problem_at(
                ProblemKind.GAP_BEYOND_COVERAGE,
                gaps.stops > self._blocks.stops[self._block],
                gaps.span,
            ),
            *problem_at(
                ProblemKind.UNKNOWN_ATTEMPT,
                np.arange(len(lost.starts)),
                lambda index: f"{lost.span(index)} of {lost.texts[int(lost.attempts[index])]}",
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
    if cause == GapCause.QUARANTINED:
        near = damage.near(start, stop)
        said += near[:_MOST_SPANS]
        if len(near) > _MOST_SPANS:
            said.append(f"{len(near) - _MOST_SPANS} more")
    return ShownGap(cause, start, stop, "; ".join(said) or None)


def counts_joined(parts: Iterable[Mapping[str, GapCount]]) -> dict[str, GapCount]:
    """The counts of several cells."""
    found: dict[str, GapCount] = {}
    for part in parts:
        for cause, count in part.items():
            before = found.get(cause, GapCount(0, 0))
            found[cause] = GapCount(before.gaps + count.gaps, before.offsets + count.offsets)
    return found
