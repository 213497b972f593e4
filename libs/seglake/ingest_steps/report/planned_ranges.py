"""Ranges that a dry run would ingest, by partition."""

from collections.abc import Iterable
from dataclasses import dataclass

from seglake.findings.offset_places import shown_range
from seglake.ingest_steps.planning.plan import RangePlan
from seglake.printable import show_bytes


@dataclass(frozen=True, slots=True)
class PlannedRange:
    """Offsets of a partition to ingest, and the bytes to read.

    A range without offsets records damage at the end of the log.
    """

    partition: str
    start_offset: int
    next_offset: int
    size_bytes: int

    @property
    def is_damage(self) -> bool:
        """Return whether the range records damage at the end of the log, and has no offsets."""
        return self.start_offset >= self.next_offset

    def __str__(self) -> str:
        """Return the range as text."""
        where = f" {shown_range(self.start_offset, self.next_offset)}"
        if self.is_damage:
            where = ": damage at the end of the log, without known offsets"
        return f"{self.partition}{where} ({show_bytes(self.size_bytes)})"


def planned_ranges(plans: Iterable[RangePlan]) -> list[PlannedRange]:
    """Return the ranges of a dry run, by partition.

    Adjacent ranges are joined, except ranges for damage.
    """
    found: list[PlannedRange] = []
    for plan in sorted(plans, key=lambda plan: (*plan.key[:2], plan.start_offset)):
        name, start, size_bytes = str(plan.key), plan.start_offset, plan.size_bytes
        is_next = found and (found[-1].partition, found[-1].next_offset) == (name, start)
        if is_next and not plan.is_end:
            before = found.pop()
            start, size_bytes = before.start_offset, before.size_bytes + size_bytes
        found.append(PlannedRange(name, start, plan.next_offset, size_bytes))
    return found
