"""Finds a partition's rows that lost no election.

A generation is the number of a topic's commit; it rises with each commit.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seglake.log_tables.ledger_layers import RangeKind
from seglake.pipelines.lake_audit.ledger import LakePartition, Row

Offsets = NDArray[np.int64]
Flags = NDArray[np.bool_]


class LostRange(NamedTuple):
    """Offsets whose rows lost an election, except rows of commits after `generation`."""

    start_offset: int
    next_offset: int
    generation: int


class LedgerFacts(NamedTuple):
    """Ranges of a partition that lost an election, and its newest commit; pickled to tasks."""

    partition: LakePartition
    lost: tuple[LostRange, ...]
    newest_generation: int

    @classmethod
    def of(cls, partition: LakePartition, rows: Iterable[Row]) -> "LedgerFacts":
        """Return the lost ranges and the newest commit in a partition's ledger rows."""
        listed = [*rows]
        lost = (row for row in listed if row["kind"] == RangeKind.SUPERSEDED)
        ranges = (LostRange(*(row[name] for name in LostRange._fields)) for row in lost)
        newest = max((row["generation"] for row in listed), default=0)
        return cls(partition, tuple(ranges), newest)

    def are_current(self, offsets: Offsets, generations: Offsets) -> Flags:
        """Flag the rows that lost no election, given their offsets and generations."""
        result = np.ones(len(offsets), np.bool_)
        for lost in self.lost:
            is_inside = (offsets >= lost.start_offset) & (offsets < lost.next_offset)
            result &= ~(is_inside & (generations < lost.generation))
        return result


def look_up(rising: Offsets, requested: Offsets) -> tuple[Offsets, Flags]:
    """Return the first index of each requested value, and whether the value was found.

    Args:
        rising: sorted values.
        requested: the values to find.
    """
    places = np.searchsorted(rising, requested)
    is_there = np.zeros(len(requested), np.bool_)
    if len(rising):
        is_there = rising[np.minimum(places, len(rising) - 1)] == requested
    return places, is_there
