"""Counts of the records that a run salvaged."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvaged:
    """Counts of records committed to `salvaged_records`.

    Attributes:
        records: number of records by partition.
        batches: number of batches by partition; each is a row of `quarantine`.
        refused: number of batches that do not decode completely, by reason.
        cut_batches: number of batches whose bytes are incomplete in `quarantine`.
        planned_batches: number of batches that a dry run would decode, by partition; some may not
            decode completely.
    """

    records: Mapping[str, int] = field(default_factory=dict)
    batches: Mapping[str, int] = field(default_factory=dict)
    refused: Mapping[str, int] = field(default_factory=dict)
    cut_batches: int = 0
    planned_batches: Mapping[str, int] = field(default_factory=dict)

    def and_of(self, other: "Salvaged") -> "Salvaged":
        """Return the sum of these counts and another source's counts."""
        return Salvaged(
            records=_sum(self.records, other.records),
            batches=_sum(self.batches, other.batches),
            refused=_sum(self.refused, other.refused),
            cut_batches=self.cut_batches + other.cut_batches,
            planned_batches=_sum(self.planned_batches, other.planned_batches),
        )


def _sum(one: Mapping[str, int], other: Mapping[str, int]) -> Mapping[str, int]:
    names = dict.fromkeys((*one, *other))
    return {name: one.get(name, 0) + other.get(name, 0) for name in names}
