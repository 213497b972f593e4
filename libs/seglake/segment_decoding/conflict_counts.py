"""Counts conflicts between copies of a partition, by kind."""

import re
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from operator import add
from typing import NamedTuple, TypeVar

K = TypeVar("K")


class ConflictKind(StrEnum):
    """Kind of conflict between a batch of another copy and the ingested log."""

    LOST = "lost"  # the copy lost an election, which is normal in Kafka
    CONTRADICTS = "contradicts"  # the copy won an election against ingested rows
    DIFFERS = "differs"  # the leader epoch is the same, but the bytes differ
    # the batches are older than magic 2 and have no leader epochs, so the winner is unknown
    UNDECIDED = "undecided"
    SAME_BROKER = "same_broker"  # the copy is a second log on the same broker


class ConflictCount(NamedTuple):
    """Number of conflicting batches of each kind."""

    lost: int = 0
    contradicts: int = 0
    differs: int = 0
    same_broker: int = 0
    undecided: int = 0

    def plus(self, other: "ConflictCount") -> "ConflictCount":
        """Return the sum of this count and another one."""
        return ConflictCount(*map(add, self, other))

    def __str__(self) -> str:
        """Return the kinds with a count above 0, as text."""
        worded = (
            (self.lost, "batches of a replica lost an election"),
            (self.contradicts, "batches won an election against rows that were ingested before"),
            (self.differs, "batches of a replica differ although the same leader wrote them"),
            (self.undecided, "batches of a replica differ, and no leader epoch shows which won"),
            (self.same_broker, "batches are in a second log of the same broker"),
        )
        return ", ".join(f"{count} {_of_number(count, what)}" for count, what in worded if count)


NO_CONFLICTS = ConflictCount()


def count_of_kinds(kinds: Counter[ConflictKind]) -> ConflictCount:
    """Return a count of conflicts from a counter of their kinds."""
    return ConflictCount(**{str(kind): kinds[kind] for kind in ConflictKind})


def counted(counts: Iterable[tuple[K, ConflictCount]]) -> dict[K, ConflictCount]:
    """Add up counts of conflicts by key."""
    found: dict[K, ConflictCount] = {}
    for key, count in counts:
        found[key] = found.get(key, NO_CONFLICTS).plus(count)
    return found


def _of_number(count: int, what: str) -> str:
    """Return a count of batches with its noun in the singular or plural."""
    if count != 1:
        return what
    singular = {"batches": "batch", "differ": "differs", "are": "is", "wrote them": "wrote it"}
    for many, one in singular.items():
        what = re.sub(rf"\b{many}\b", one, what)
    return what
