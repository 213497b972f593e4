"""Counts conflicts between copies of a partition, by kind."""

import re
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import TypeAlias, TypeVar

K = TypeVar("K")


class ConflictKind(StrEnum):
    """Kind of conflict between a batch of another copy and the ingested log."""

    LOST = "lost"  # the copy lost an election, which is normal in Kafka
    CONTRADICTS = "contradicts"  # the copy won an election against ingested rows
    DIFFERS = "differs"  # the leader epoch is the same, but the bytes differ
    SAME_BROKER = "same_broker"  # the copy is a second log on the same broker
    # the batches are older than magic 2 and have no leader epochs, so the winner is unknown
    UNDECIDED = "undecided"

    def shown(self, count: int) -> str:
        """Return a number of batches with conflicts of this kind, as text."""
        text = _TEXTS[self]
        if count == 1:
            text = re.sub(r"\w+", lambda word: _SINGULAR.get(word[0], word[0]), text)
        return f"{count} {text}"


_SINGULAR = {"batches": "batch", "differ": "differs", "are": "is", "them": "it"}
_TEXTS = {
    ConflictKind.LOST: "batches of a replica lost an election",
    ConflictKind.CONTRADICTS: "batches won an election against rows that were ingested before",
    ConflictKind.DIFFERS: "batches of a replica differ although the same leader wrote them",
    ConflictKind.SAME_BROKER: "batches are in a second log of the same broker",
    ConflictKind.UNDECIDED: "batches of a replica differ, and no leader epoch shows which won",
}

ConflictCount: TypeAlias = Counter[ConflictKind]
"""Number of conflicting batches of each kind."""


def counted(counts: Iterable[tuple[K, ConflictCount]]) -> dict[K, ConflictCount]:
    """Add up counts of conflicts by key."""
    found: dict[K, ConflictCount] = {}
    for key, count in counts:
        found.setdefault(key, Counter()).update(count)
    return found
