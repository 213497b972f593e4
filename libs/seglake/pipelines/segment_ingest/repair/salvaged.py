"""What a run salvaged of damaged batches. A value."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvaged:
    """What came into `salvaged_records`; nothing in there is to be trusted.

    Attributes:
        records, batches: by partition; a batch is a row of `quarantine`.
        refused: batches that do not decode whole, by the reason.
        cut_batches: those of which `quarantine` has not all bytes.
        planned_batches: those that a dry run would decode, by partition; some may not decode whole.
    """

    records: Mapping[str, int] = field(default_factory=dict)
    batches: Mapping[str, int] = field(default_factory=dict)
    refused: Mapping[str, int] = field(default_factory=dict)
    cut_batches: int = 0
    planned_batches: Mapping[str, int] = field(default_factory=dict)

    def and_of(self, other: "Salvaged") -> "Salvaged":
        """Return the sum with what was salvaged of another source."""
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
