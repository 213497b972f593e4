"""Kinds of conflicts between copies of a partition, and their counts. Pure."""

import re
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple, TypeVar

K = TypeVar("K")


class ConflictKind(StrEnum):
    """Kinds of conflicts of another copy's batch."""

    LOST = "lost"  # its leader lost an election: normal in Kafka
    CONTRADICTS = "contradicts"  # its leader won an election against ingested rows
    DIFFERS = "differs"  # the same leader wrote both, but the bytes differ
    UNDECIDED = "undecided"  # there are no leader epochs, as in the formats before magic 2
    SAME_BROKER = "same_broker"  # it belongs to a second log of the broker


class ConflictCount(NamedTuple):
    """Numbers of batches by kind of conflict."""

    lost: int = 0
    contradicts: int = 0
    differs: int = 0
    same_broker: int = 0
    undecided: int = 0

    def plus(self, other: "ConflictCount") -> "ConflictCount":
        """Return the sum with another count."""
        return ConflictCount(*map(sum, zip(self, other, strict=True)))

    def __str__(self) -> str:
        """Return the counts above 0, in words."""
        worded = (
            (self.lost, "batches of a replica lost an election"),
            (self.contradicts, "batches won an election against rows that were ingested before"),
            (self.differs, "batches of a replica differ though the same leader wrote them"),
            (self.undecided, "batches of a replica differ, and no leader epoch says which won"),
            (self.same_broker, "batches are of a second log of the same broker"),
        )
        return ", ".join(f"{count} {_of_number(count, what)}" for count, what in worded if count)


NO_CONFLICTS = ConflictCount()


def count_of_kinds(kinds: Counter[ConflictKind]) -> ConflictCount:
    """Return the count of conflicts with these kinds."""
    return ConflictCount(**{str(kind): kinds[kind] for kind in ConflictKind})


def counted(counts: Iterable[tuple[K, ConflictCount]]) -> dict[K, ConflictCount]:
    """Return the sums of counts by partition."""
    found: dict[K, ConflictCount] = {}
    for key, count in counts:
        found[key] = found.get(key, NO_CONFLICTS).plus(count)
    return found


def _of_number(count: int, what: str) -> str:
    """Return a phrase about batches, in the singular for one."""
    if count != 1:
        return what
    singular = {"batches": "batch", "differ": "differs", "are": "is", "wrote them": "wrote it"}
    for many, one in singular.items():
        what = re.sub(rf"\b{many}\b", one, what)
    return what
