"""What the ledger says of each partition, ready to be compared with the tables. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seglake.kafka_log.offset_ranges import OffsetRange, merged
from seglake.kafka_log.replica import PartitionKey

Offsets = NDArray[np.int64]


class LakePartition(NamedTuple):
    """Whose rows: several clusters may have a partition of one name in a lake."""

    source_id: str
    key: PartitionKey

    def __str__(self) -> str:
        return str(self.key)


class LedgerRange(NamedTuple):
    """One row of the ledger, as far as it says whose the rows of other tables are."""

    start_offset: int
    next_offset: int
    kind: str
    generation: int
    attempt_id: str | None


class Blocks(NamedTuple):
    """Offset ranges, rising and apart: [starts[i], stops[i])."""

    starts: Offsets
    stops: Offsets

    def index_of(self, offsets: Offsets) -> Offsets:
        """Which block holds each offset, -1 for none."""
        found = np.searchsorted(self.starts, offsets, side="right") - 1
        if not len(self.starts):
            return found
        return np.where((found >= 0) & (offsets < self.stops[found]), found, -1)

    def index_of_one(self, offset: int) -> int:
        """The same for one offset."""
        return int(self.index_of(np.array([offset], np.int64))[0])


def look_up(rising: Offsets, wanted: Offsets) -> tuple[Offsets, NDArray[np.bool_]]:
    """The first place of each wanted value, and whether it is there."""
    places = np.searchsorted(rising, wanted)
    is_there = np.zeros(len(wanted), np.bool_)
    if len(rising):
        is_there = rising[np.minimum(places, len(rising) - 1)] == wanted
    return places, is_there


@dataclass(frozen=True, slots=True)
class PartitionLedger:
    """The ledger's ranges of one partition; travels to tasks."""

    partition: LakePartition
    ranges: tuple[LedgerRange, ...]

    def blocks(self) -> Blocks:
        """The ranges, those that share an offset made one.

        Rows that a repair brought lie in the range that it repaired, and cannot be told from its
        own: so the sums of such ranges are compared together. Ranges that only touch stay apart.
        """
        return _blocks(merged(self._spans(), joins_touching=False))

    def covered(self) -> Blocks:
        """The same with ranges that touch made one."""
        return _blocks(merged(self._spans()))

    def _spans(self) -> list[OffsetRange]:
        return [
            (offset_range.start_offset, offset_range.next_offset) for offset_range in self.ranges
        ]


def _blocks(ranges: Sequence[OffsetRange]) -> Blocks:
    starts, stops = zip(*ranges, strict=True) if ranges else ((), ())
    return Blocks(np.array(starts, np.int64), np.array(stops, np.int64))


Row = Mapping[str, Any]  # of the ledger: its columns have many types
FirstIds = Mapping[tuple[str, str], str]


def first_topic_ids(rows: Iterable[Row]) -> dict[tuple[str, str], str]:
    """The first id that is known of each (source, topic): rows without an id belong to it."""
    found: dict[tuple[str, str], str] = {}
    for row in sorted(rows, key=lambda row: int(row["generation"])):
        if row["topic_id"] is not None:
            found.setdefault((row["source_id"], row["topic"]), row["topic_id"])
    return found


def rows_by_partition(rows: Iterable[Row], first_ids: FirstIds) -> dict[LakePartition, list[Row]]:
    """The ledger's rows of each partition, in the order of their offsets."""
    found: dict[LakePartition, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row["start_offset"], row["generation"])):
        topic_id = row["topic_id"] or first_ids.get((row["source_id"], row["topic"]))
        key = PartitionKey(row["topic"], row["partition"], topic_id)
        found.setdefault(LakePartition(row["source_id"], key), []).append(row)
    return found


def partition_ledger(partition: LakePartition, rows: Iterable[Row]) -> PartitionLedger:
    """What tasks need of a partition's rows."""
    ranges = tuple(LedgerRange(*(row[name] for name in LedgerRange._fields)) for row in rows)
    return PartitionLedger(partition, ranges)
