"""What the ledger says of each partition, ready to be compared with the tables. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seglake.kafka_log.offset_ranges import OffsetRange

Offsets = NDArray[np.int64]


class LakePartition(NamedTuple):
    """Whose rows: a topic made again under its name has another `topic_id`, None if unknown."""

    source_id: str
    topic: str
    partition: int
    topic_id: str | None

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


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
        return _blocks(merged(self._spans(), joins_touching=True))

    def _spans(self) -> list[OffsetRange]:
        return [
            (offset_range.start_offset, offset_range.next_offset) for offset_range in self.ranges
        ]


def merged(ranges: Iterable[OffsetRange], *, joins_touching: bool) -> list[OffsetRange]:
    """Half-open ranges in order, those that share an offset made one; empty ones are left out."""
    result: list[OffsetRange] = []
    for start, stop in sorted(ranges):
        if start >= stop:
            continue
        if result and (start < result[-1][1] or (joins_touching and start == result[-1][1])):
            result[-1] = (result[-1][0], max(stop, result[-1][1]))
        else:
            result.append((start, stop))
    return result


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
        key = LakePartition(row["source_id"], row["topic"], row["partition"], topic_id)
        found.setdefault(key, []).append(row)
    return found


def partition_ledger(partition: LakePartition, rows: Iterable[Row]) -> PartitionLedger:
    """What tasks need of a partition's rows."""
    ranges = tuple(LedgerRange(*(row[name] for name in LedgerRange._fields)) for row in rows)
    return PartitionLedger(partition, ranges)
