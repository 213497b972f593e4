"""Sums of the tables between the offsets of a ledger's range. Pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Self

from seglake.pipelines.lake_audit.ledger import BlockKey


class RangeSums(NamedTuple):
    """Sums over the rows of one block of ledger ranges; spans are clipped to it.

    Attributes:
        other_span: offsets in control, aborted and empty batches.
        lacking: offsets in decoded batches that have no row.
        decoded_rows: the rows that decoded batches count.
        gap_span: offsets in gaps; of a block also in those that were repaired since.
    """

    records: int = 0
    offset_sum: int = 0
    key_bytes: int = 0
    value_bytes: int = 0
    min_timestamp_ms: int | None = None
    max_timestamp_ms: int | None = None
    batches: int = 0
    batch_bytes: int = 0
    decoded_rows: int = 0
    other_span: int = 0
    lacking: int = 0
    gap_span: int = 0

    @property
    def accounted(self) -> int:
        """Return the right side of the equation."""
        return self.records + self.other_span + self.lacking + self.gap_span

    def joined(self, other: Self) -> "RangeSums":
        sums = {
            name: (getattr(self, name) or 0) + (getattr(other, name) or 0)
            for name in self._fields
            if not name.endswith("_timestamp_ms")
        }
        lows = [low for low in (self.min_timestamp_ms, other.min_timestamp_ms) if low is not None]
        highs = [top for top in (self.max_timestamp_ms, other.max_timestamp_ms) if top is not None]
        return RangeSums(
            min_timestamp_ms=min(lows, default=None),
            max_timestamp_ms=max(highs, default=None),
            **sums,
        )


NOTHING = RangeSums()


def sums_joined(parts: Iterable[Mapping[BlockKey, RangeSums]]) -> dict[BlockKey, RangeSums]:
    found: dict[BlockKey, RangeSums] = {}
    for part in parts:
        for key, sums in part.items():
            found[key] = sums.joined(found.get(key, RangeSums()))
    return found
