"""Ledger of each partition, ready to be compared with the tables. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seglake.kafka_log.offset_ranges import OffsetRange, merged
from seglake.kafka_log.replica import PartitionKey
from seglake.log_tables.ledger_layers import RangeKind

Offsets = NDArray[np.int64]
Flags = NDArray[np.bool_]
BlockKey = tuple[int, int]  # generation and start

BRINGS_NOTHING = (RangeKind.SUPERSEDED, RangeKind.RELEASED)


class LakePartition(NamedTuple):
    """Identity of a log: several clusters may have a partition of one name in a lake."""

    source_id: str
    key: PartitionKey

    def __str__(self) -> str:
        return str(self.key)


class LedgerRange(NamedTuple):
    """Columns of a ledger's row that identify the rows of other tables."""

    start_offset: int
    next_offset: int
    kind: str
    generation: int
    attempt_id: str | None


class _Piece(NamedTuple):
    """A range of one generation."""

    generation: int
    start_offset: int
    next_offset: int
    is_current: bool


class Blocks(NamedTuple):
    """Offset ranges, rising and apart: [starts[i], stops[i])."""

    starts: Offsets
    stops: Offsets

    def index_of(self, offsets: Offsets) -> Offsets:
        """Return the index of the block that holds each offset, -1 for none."""
        found = np.searchsorted(self.starts, offsets, side="right") - 1
        if not len(self.starts):
            return found
        return np.where((found >= 0) & (offsets < self.stops[found]), found, -1)


class LedgerBlocks(NamedTuple):
    """Offset ranges of generations: each generation's rise and are apart, and so do generations.

    `is_current` is False for what an election went against.
    """

    generations: Offsets
    starts: Offsets
    stops: Offsets
    is_current: Flags

    def index_of(self, offsets: Offsets, generations: Offsets) -> Offsets:
        """Return the index of the block of its generation that holds each offset, -1 for none."""
        found = np.full(len(offsets), -1, np.int64)
        for generation in _different(generations):
            low, high = np.searchsorted(self.generations, [generation, generation + 1])
            chosen = generations == generation
            own = Blocks(self.starts[low:high], self.stops[low:high]).index_of(offsets[chosen])
            found[chosen] = np.where(own >= 0, own + low, -1)
        return found

    def key(self, index: int) -> BlockKey:
        """Return the key of a block's sums."""
        return int(self.generations[index]), int(self.starts[index])


def _different(generations: Offsets) -> list[int]:
    """Return the distinct generations; a data file has rows of one."""
    if len(generations) and (generations == generations[0]).all():
        return [int(generations[0])]
    found: list[int] = np.unique(generations).tolist()
    return found


FIRST_LAYER = 0
"""Layer of all batches except those of refills."""


def layers_of(generations: Offsets, refills: Collection[int]) -> Offsets:
    """Return the layer of each row: the generation of its refill, FIRST_LAYER for other rows."""
    if not refills:
        return np.zeros(len(generations), np.int64)
    return np.where(np.isin(generations, sorted(refills)), generations, FIRST_LAYER)


def look_up(rising: Offsets, wanted: Offsets) -> tuple[Offsets, Flags]:
    """Return the first place of each wanted value, and whether it is there."""
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

    def blocks(self) -> LedgerBlocks:
        """Return the ranges of each generation, cut where an election superseded a part."""
        return _ledger_blocks(self._pieces())

    def whole_blocks(self) -> LedgerBlocks:
        """Return the uncut ranges of each generation, which the ledger's sums are of."""
        return _ledger_blocks(self._by_generation())

    def covered(self) -> Blocks:
        """Return the covered ranges that lost no election; adjacent ranges are joined."""
        return _blocks(piece for piece in self._pieces() if piece.is_current)

    def ever_covered(self) -> Blocks:
        """Return the ranges that any row of the ledger covers."""
        return _blocks(self._by_generation())

    @property
    def elections(self) -> tuple[LedgerRange, ...]:
        """Return the ranges that were taken away from smaller generations."""
        return tuple(each for each in self.ranges if each.kind == RangeKind.SUPERSEDED)

    @property
    def refills(self) -> frozenset[int]:
        """Return the generations of refills, whose batches overlap those that lack records."""
        return frozenset(each.generation for each in self.ranges if each.kind == RangeKind.REFILL)

    @property
    def newest_generation(self) -> int:
        return max((each.generation for each in self.ranges), default=0)

    def are_current(self, offsets: Offsets, generations: Offsets) -> Flags:
        """Flag the rows that lost no election."""
        result = np.ones(len(offsets), np.bool_)
        for lost in self.elections:
            is_inside = (offsets >= lost.start_offset) & (offsets < lost.next_offset)
            result &= ~(is_inside & (generations < lost.generation))
        return result

    def _pieces(self) -> Iterator[_Piece]:
        elections = self.elections
        for whole in self._by_generation():
            yield from _cut(whole, elections)

    def _by_generation(self) -> Iterator[_Piece]:
        """Yield the ranges of each commit; overlapping ones are joined."""
        by_generation: dict[int, list[OffsetRange]] = {}
        for each in self.ranges:
            if each.kind not in BRINGS_NOTHING:
                offsets = each.start_offset, each.next_offset
                by_generation.setdefault(each.generation, []).append(offsets)
        for generation, spans in sorted(by_generation.items()):
            for start, stop in merged(spans, joins_touching=False):
                yield _Piece(generation, start, stop, True)


def _cut(whole: _Piece, elections: Iterable[LedgerRange]) -> Iterator[_Piece]:
    """Yield a range in pieces that elections have taken whole or not at all.

    Where one begins inside of what another has taken already, a row may lie across its edge.
    """
    later = [lost for lost in elections if lost.generation > whole.generation]
    edges = {edge for lost in later for edge in (lost.start_offset, lost.next_offset)}
    inside = sorted(edge for edge in edges if whole.start_offset < edge < whole.next_offset)
    pieces = pairwise([whole.start_offset, *inside, whole.next_offset])
    for is_current, alike in groupby(
        pieces,
        lambda piece: not any(lost.start_offset <= piece[0] < lost.next_offset for lost in later),
    ):
        spans = [*alike]
        yield _Piece(whole.generation, spans[0][0], spans[-1][1], is_current)


def _ledger_blocks(pieces: Iterable[_Piece]) -> LedgerBlocks:
    columns = list(zip(*pieces, strict=True)) or [(), (), (), ()]
    generations, starts, stops = (np.array(column, np.int64) for column in columns[:3])
    return LedgerBlocks(generations, starts, stops, np.array(columns[3], np.bool_))


def _blocks(pieces: Iterable[_Piece]) -> Blocks:
    ranges = merged((piece.start_offset, piece.next_offset) for piece in pieces)
    starts, stops = zip(*ranges, strict=True) if ranges else ((), ())
    return Blocks(np.array(starts, np.int64), np.array(stops, np.int64))


Row = Mapping[str, Any]  # of the ledger: its columns have many types
FirstIds = Mapping[tuple[str, str], str]


def first_topic_ids(rows: Iterable[Row]) -> dict[tuple[str, str], str]:
    """Return the first known id of each (source, topic), which rows without an id belong to."""
    found: dict[tuple[str, str], str] = {}
    for row in sorted(rows, key=lambda row: int(row["generation"])):
        if row["topic_id"] is not None:
            found.setdefault((row["source_id"], row["topic"]), row["topic_id"])
    return found


def rows_by_partition(rows: Iterable[Row], first_ids: FirstIds) -> dict[LakePartition, list[Row]]:
    """Return the ledger's rows of each partition, in the order of their offsets."""
    found: dict[LakePartition, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row["start_offset"], row["generation"])):
        found.setdefault(_partition_of(row, first_ids), []).append(row)
    return found


def unread_places(rows: Iterable[Row]) -> list[Row]:
    """Return each source's newest rows of `observations` that name no partition."""
    listed = [*rows]
    newest: dict[str, datetime] = {}
    for row in listed:
        time, source_id = row["observed_at"], row["source_id"]
        newest[source_id] = max(time, newest.get(source_id, time))
    return [
        row
        for row in listed
        if row["partition"] is None and row["observed_at"] == newest[row["source_id"]]
    ]


def newest_by_partition(rows: Iterable[Row], first_ids: FirstIds) -> dict[LakePartition, Row]:
    """Return the row of `observations` of each partition that is the newest."""
    found: dict[LakePartition, Row] = {}
    for row in rows:
        if row["partition"] is None:
            continue
        partition = _partition_of(row, first_ids)
        newest = found.setdefault(partition, row)
        if row["observed_at"] > newest["observed_at"]:
            found[partition] = row
    return found


def _partition_of(row: Row, first_ids: FirstIds) -> LakePartition:
    topic_id = row["topic_id"] or first_ids.get((row["source_id"], row["topic"]))
    return LakePartition(row["source_id"], PartitionKey(row["topic"], row["partition"], topic_id))


def partition_ledger(partition: LakePartition, rows: Iterable[Row]) -> PartitionLedger:
    """Return the ledger of a partition, for tasks."""
    ranges = tuple(LedgerRange(*(row[name] for name in LedgerRange._fields)) for row in rows)
    return PartitionLedger(partition, ranges)
