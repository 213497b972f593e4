"""Cuts a lake into cells that a task can hold: partitions of a topic, or a piece of one. Pure.

The cells of a topic tile all numbers: each row of its files lies in exactly one of them, whatever
partition or offset it claims. How many rows a cell will have is guessed from the files' statistics.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from seglake.lake.parquet_rows import HIGHEST, LOWEST
from seglake.pipelines.lake_audit.ledger import PartitionLedger
from seglake.storage.storage import Storage
from seglake.task_engine.packing import packed

Interval = tuple[int, int]  # both ends are in it
_EVERYTHING = (LOWEST, HIGHEST)


class TopicFile(NamedTuple):
    """A data file of some table, as far as it holds one topic; bounds are None when not known.

    `starts` and `ends` bound the offsets: base and last offsets of batches, both ends of gaps.
    """

    table: str
    path: str
    row_count: int
    partitions: Interval | None
    starts: Interval | None = None
    ends: Interval | None = None

    def may_hold(self, partitions: Interval, offsets: Interval) -> bool:
        """Whether a row of these partitions may touch these offsets."""
        low, high = self.partitions or _EVERYTHING
        first = (self.starts or _EVERYTHING)[0]
        last = (self.ends or _EVERYTHING)[1]
        return (
            low <= partitions[1]
            and high >= partitions[0]
            and first <= offsets[1]
            and last >= offsets[0]
        )


@dataclass(frozen=True, slots=True)
class Cell:
    """Rows of one topic whose partition and (first) offset lie in these intervals.

    Attributes:
        first_ids: by source, the topic id that rows without one belong to.
        row_count: a guess.
    """

    storage: Storage
    topic: str
    partitions: Interval
    offsets: Interval
    files: Mapping[str, tuple[str, ...]]
    ledgers: tuple[PartitionLedger, ...]
    first_ids: Mapping[str, str]
    row_count: int

    @property
    def is_first(self) -> bool:
        """Whether the partitions' first offsets are here: what has no offset is counted here."""
        return self.offsets[0] == LOWEST


def cells_of(
    storage: Storage,
    topic: str,
    files: Sequence[TopicFile],
    ledgers: Sequence[PartitionLedger],
    first_ids: Mapping[str, str],
    most_rows: int,
) -> list[Cell]:
    """The cells of one topic, of about `most_rows` rows at most."""
    known = {ledger.partition.key.partition for ledger in ledgers}
    known |= {edge for file in files for edge in file.partitions or ()}
    weights = _rows_by_partition(files, sorted(known) or [0])
    cells = []
    for tile, row_count in _tiles(weights, most_rows):
        low, high = tile
        inside = [ledger for ledger in ledgers if low <= ledger.partition.key.partition <= high]
        for offsets in _offset_tiles(files, tile, -(-row_count // most_rows)):
            near: dict[str, list[str]] = {}
            for file in files:
                if file.may_hold(tile, offsets):
                    near.setdefault(file.table, []).append(file.path)
            cells.append(
                Cell(
                    storage=storage,
                    topic=topic,
                    partitions=tile,
                    offsets=offsets,
                    files={table: tuple(paths) for table, paths in near.items()},
                    ledgers=tuple(inside),
                    first_ids=first_ids,
                    row_count=min(row_count, most_rows),
                )
            )
    return cells


def _rows_by_partition(files: Iterable[TopicFile], known: Sequence[int]) -> dict[int, int]:
    """Guess how many rows each partition has: those of a file are spread evenly."""
    weights = dict.fromkeys(known, 0.0)
    for file in files:
        low, high = file.partitions or (known[0], known[-1])
        inside = [partition for partition in known if low <= partition <= high]
        for partition in inside:
            weights[partition] += file.row_count / len(inside)
    return {partition: int(weight) for partition, weight in weights.items()}


def _tiles(weights: Mapping[int, int], most_rows: int) -> list[tuple[Interval, int]]:
    """Partitions in a row that fit into a cell together; a heavy one stands alone."""
    groups = packed(weights.items(), lambda weight: weight[1], most_rows)
    lows = [LOWEST, *(group[0][0] for group in groups[1:])]
    highs = [*(low - 1 for low in lows[1:]), HIGHEST]
    return [
        ((low, high), sum(row_count for _, row_count in group))
        for low, high, group in zip(lows, highs, groups, strict=True)
    ]


def _offset_tiles(files: Iterable[TopicFile], tile: Interval, count: int) -> list[Interval]:
    """Cut the offsets where about equally many rows lie between the cuts."""
    spread = [
        (file.starts[0], file.starts[1] + 1, file.row_count)
        for file in files
        if file.starts is not None and file.may_hold(tile, _EVERYTHING)
    ]
    if count < 2 or not spread:
        return [_EVERYTHING]
    points = np.unique([edge for start, stop, _ in spread for edge in (start, stop)])
    density = np.zeros(len(points))
    for start, stop, row_count in spread:
        density[np.searchsorted(points, start)] += row_count / (stop - start)
        density[np.searchsorted(points, stop)] -= row_count / (stop - start)
    rows = np.concatenate(([0.0], np.cumsum(np.cumsum(density)[:-1] * np.diff(points))))
    cuts = np.interp(np.arange(1, count) * rows[-1] / count, rows, points)
    lows = [LOWEST, *sorted({int(cut) for cut in cuts})]
    return list(zip(lows, [*(low - 1 for low in lows[1:]), HIGHEST], strict=True))
