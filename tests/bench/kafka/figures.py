"""What was measured, as medians, and where seglake is slower than something."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from statistics import median

from bench.kafka.sessions import Job
from bench.kafka.systems import System
from bench.kafka.topics import Topic

_MOST_FOREIGN_CORES = 0.3
_NOISE = 1.05  # of two that differ by less, none is called slower
# With which others each engine is compared: what could be used in its place.
_RIVALS = {System.LOCAL: System.JAVA, System.SPARK: System.KAFKA_SOURCE}


class Start(StrEnum):
    """Whether a job counts from the start of its process, or from when that was asked for it."""

    COLD = "cold"
    WARM = "warm"


class Cost(StrEnum):
    """What a job takes."""

    WALL = "wall time"
    CPU = "CPU time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A topic, and what each system took for it.

    Attributes:
        limit_s: CPU time that cannot be saved; None where nobody worked it out.
    """

    topic: Topic
    record_count: int
    log_bytes: int
    jobs: Mapping[tuple[System, Start], Sequence[Job]]
    limit_s: float | None

    def median(self, system: System, start: Start, value: Callable[[Job], float]) -> float:
        return median(value(job) for job in self.jobs[system, start])

    def cost_s(self, system: System, start: Start, cost: Cost) -> float:
        """The median; CPU time with the broker's, for what reads through it."""
        if cost is Cost.WALL:
            return self.median(system, start, lambda job: job.wall_s)
        has_broker = system is System.KAFKA_SOURCE
        return self.median(system, start, lambda job: job.cpu_s + has_broker * job.broker_cpu_s)

    def is_disturbed(self, system: System, start: Start) -> bool:
        """Whether other work was in the way of one of the jobs."""
        return any(job.foreign_cores > _MOST_FOREIGN_CORES for job in self.jobs[system, start])


@dataclass(frozen=True, slots=True, kw_only=True)
class Slower:
    """A case in which seglake takes more than another way."""

    topic: str
    ours: System
    other: System
    start: Start
    cost: Cost
    ours_s: float
    other_s: float

    @property
    def ratio(self) -> float:
        return self.ours_s / self.other_s


def slower_cases(found: Sequence[Measured]) -> list[Slower]:
    """All of them, the worst of each topic first."""
    cases = [
        Slower(
            topic=each.topic.name,
            ours=ours,
            other=other,
            start=start,
            cost=cost,
            ours_s=each.cost_s(ours, start, cost),
            other_s=each.cost_s(other, start, cost),
        )
        for each in found
        for (ours, other), start, cost in product(_RIVALS.items(), Start, Cost)
    ]
    order = [each.topic.name for each in found]
    return sorted(
        (case for case in cases if case.ratio > _NOISE),
        key=lambda case: (order.index(case.topic), -case.ratio),
    )
