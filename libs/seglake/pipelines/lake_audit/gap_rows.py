"""The gaps of one partition in one cell, and which of them still stand. Pure.

Memory: 40 bytes a gap.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seglake.lake.parquet_rows import numbers
from seglake.log_tables.ledger_layers import RangeKind
from seglake.pipelines.lake_audit.ledger import Flags, LedgerRange, Offsets
from seglake.pipelines.lake_audit.texts import text_values

_ENDS_GAPS = (RangeKind.REPAIR, RangeKind.REFILL, RangeKind.SUPERSEDED)

NEVER = -1
"""The generation of a gap whose attempt the ledger does not have there."""


class GapRows(NamedTuple):
    """Rows of `gaps` by rising start; texts are indexes into `texts`."""

    starts: Offsets
    stops: Offsets
    causes: Offsets
    details: Offsets
    attempts: Offsets
    texts: tuple[str | None, ...]

    def taken(self, chosen: Offsets | Flags) -> "GapRows":
        return GapRows._make((*(column[chosen] for column in self[:-1]), self.texts))

    def with_cause(self, cause: str) -> Flags:
        is_wanted = np.array([text == cause for text in self.texts], np.bool_)
        return is_wanted[self.causes]

    def span(self, index: int) -> str:
        return f"[{self.starts[index]}, {self.stops[index]})"


class GapCollector:
    """Collects rows of one partition, in any order."""

    def __init__(self) -> None:
        self._parts: list[tuple[Offsets, ...]] = []
        self._codes: dict[str | None, int] = {}

    def add(self, rows: pa.Table) -> None:
        self._parts.append(
            (
                numbers(rows, "start_offset"),
                numbers(rows, "next_offset"),
                *(self._coded(rows, name) for name in ("cause", "detail", "attempt_id")),
            )
        )

    def _coded(self, rows: pa.Table, column: str) -> Offsets:
        values, codes = text_values(rows, column)
        known = [self._codes.setdefault(value, len(self._codes)) for value in values]
        return np.array(known, np.int64)[codes]

    def rows(self) -> GapRows:
        parts = self._parts or [(np.zeros(0, np.int64),) * 5]
        columns = (np.concatenate(column) for column in zip(*parts, strict=True))
        found = GapRows._make((*columns, tuple(self._codes)))
        return found.taken(np.argsort(found.starts, kind="stable"))


def generations(gaps: GapRows, ranges: Sequence[LedgerRange]) -> Offsets:
    """Return each gap's generation: of its attempt's ledger range that holds its start."""
    found = np.full(len(gaps.starts), NEVER, np.int64)
    by_attempt: dict[str | None, list[LedgerRange]] = {}
    for offset_range in ranges:
        by_attempt.setdefault(offset_range.attempt_id, []).append(offset_range)
    order = np.argsort(gaps.attempts, kind="stable")
    edges = np.flatnonzero(np.diff(gaps.attempts[order]))
    for rows in np.split(order, edges + 1) if len(order) else ():
        starts = gaps.starts[rows]
        for written in by_attempt.get(gaps.texts[int(gaps.attempts[rows[0]])], ()):
            held = rows[(starts >= written.start_offset) & (starts < written.next_offset)]
            found[held] = np.maximum(found[held], written.generation)
    return found


def are_current(gaps: GapRows, generation_of: Offsets, ranges: Sequence[LedgerRange]) -> Flags:
    """Flag the gaps that still stand: a later repair states anew what is still missing, an election
    takes them away with the rows around them."""
    result = np.ones(len(gaps.starts), np.bool_)
    for offset_range in ranges:
        if offset_range.kind in _ENDS_GAPS:
            # Rising starts: those that the range holds are a slice.
            low, high = np.searchsorted(
                gaps.starts, [offset_range.start_offset, offset_range.next_offset]
            )
            result[low:high] &= generation_of[low:high] >= offset_range.generation
    return result
