"""Ranges that a dry run would ingest, by partition."""

from collections.abc import Iterable
from dataclasses import dataclass

from seglake.findings.shown_offsets import shown_range
from seglake.grouping import grouped
from seglake.ingest_steps.planning.plan import RangePlan
from seglake.printable import show_bytes


@dataclass(frozen=True, slots=True)
class PlannedRange:
    """Offsets of a partition to ingest, and the bytes to read.

    A range without offsets records damage at the end of the log.

    Attributes:
        topic_id: id of the topic, if the run ingests another topic of the same name, too.
    """

    partition: str
    start_offset: int
    next_offset: int
    size_bytes: int
    topic_id: str | None = None

    @property
    def is_damage(self) -> bool:
        """Return whether the range records damage at the end of the log, and has no offsets."""
        return self.start_offset >= self.next_offset

    def __str__(self) -> str:
        """Return the range as text."""
        where = f" {shown_range(self.start_offset, self.next_offset)}"
        if self.is_damage:
            where = ": damage at the end of the log, without known offsets"
        which = "" if self.topic_id is None else f" of topic id {self.topic_id}"
        return f"{self.partition}{which}{where} ({show_bytes(self.size_bytes)})"


def planned_ranges(plans: Iterable[RangePlan]) -> list[PlannedRange]:
    """Return the ranges of a dry run, by partition.

    Adjacent ranges are joined, except ranges for damage.
    """
    of_log = grouped((plan.key, plan) for plan in sorted(plans, key=lambda plan: plan.start_offset))
    ids = grouped((key.topic, key.topic_id) for key in of_log)
    found: list[PlannedRange] = []
    for key in sorted(of_log, key=lambda key: (*key[:2], key.topic_id or "")):
        topic_id = key.topic_id if len({*ids[key.topic]}) > 1 else None
        joined: list[PlannedRange] = []
        for plan in of_log[key]:
            start, size_bytes = plan.start_offset, plan.size_bytes
            if joined and joined[-1].next_offset == start and not plan.is_end:
                before = joined.pop()
                start, size_bytes = before.start_offset, before.size_bytes + size_bytes
            joined.append(PlannedRange(str(key), start, plan.next_offset, size_bytes, topic_id))
        found += joined
    return found
