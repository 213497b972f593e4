"""Checks the records of one partition in one cell: their sums, offsets and batches.

Pure. Memory: 16 bytes a record (24 with refills), and the rows of one row group.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seglake.lake.parquet_rows import HIGHEST, LOWEST, NULL_NUMBER, numbers
from seglake.pipelines.lake_audit.ledger import (
    FIRST_LAYER,
    BlockKey,
    LedgerBlocks,
    Offsets,
    layers_of,
)
from seglake.pipelines.lake_audit.problems import Problem, ProblemKind, problem
from seglake.pipelines.lake_audit.sums import RangeSums


class BatchRuns(NamedTuple):
    """The rows of each batch that has some, by rising base offset."""

    base_offsets: Offsets
    counts: Offsets
    first_offsets: Offsets
    last_offsets: Offsets

    def named(self, index: int) -> str:
        return (
            f"batch_base_offset {self.base_offsets[index]} has offsets {self.first_offsets[index]} "
            f"to {self.last_offsets[index]}"
        )


class PartitionRecords:
    """Collects rows of one partition, in any order.

    Those that no range of the ledger covers are only counted. Rows that an election went against
    are in the sums of their block, and nowhere else.
    """

    def __init__(self, blocks: LedgerBlocks, refills: frozenset[int] = frozenset()) -> None:
        self._blocks = blocks
        self._refills = refills
        count = len(blocks.starts)
        self._counts = np.zeros(count, np.int64)
        # The offsets' upper and lower halves: their sum may not fit 64 bits.
        self._upper_sums = np.zeros(count, np.int64)
        self._lower_sums = np.zeros(count, np.int64)
        self._key_bytes = np.zeros(count, np.int64)
        self._value_bytes = np.zeros(count, np.int64)
        self._oldest_ms = np.full(count, HIGHEST, np.int64)
        self._newest_ms = np.full(count, LOWEST, np.int64)
        self._offsets: list[Offsets] = []
        self._base_offsets: list[Offsets] = []
        self._layers: list[Offsets] = []  # none without refills
        self._outside: list[int] = []  # examples
        self._outside_count = 0
        self.row_count = 0

    def add(self, rows: pa.Table) -> None:
        self.row_count += rows.num_rows
        offsets = numbers(rows, "offset")
        generations = numbers(rows, "generation")
        blocks = self._blocks.index_of(offsets, generations)
        is_inside = blocks >= 0
        if not is_inside.all():
            outside = offsets[~is_inside]
            self._outside_count += len(outside)
            self._outside += outside[:5].tolist()
            rows, offsets = rows.filter(pa.array(is_inside)), offsets[is_inside]
            blocks, generations = blocks[is_inside], generations[is_inside]
        is_current = self._blocks.is_current[blocks]
        self._offsets.append(offsets[is_current])
        self._base_offsets.append(numbers(rows, "batch_base_offset")[is_current])
        if self._refills:
            self._layers.append(layers_of(generations, self._refills)[is_current])
        np.add.at(self._counts, blocks, 1)
        np.add.at(self._upper_sums, blocks, offsets >> 32)
        np.add.at(self._lower_sums, blocks, offsets & 0xFFFFFFFF)
        np.add.at(self._key_bytes, blocks, _lengths(rows, "key"))
        np.add.at(self._value_bytes, blocks, _lengths(rows, "value"))
        times = numbers(rows, "timestamp_ms")
        has_time = times != NULL_NUMBER  # Kafka's -1 is no time either
        np.minimum.at(self._oldest_ms, blocks[has_time], times[has_time])
        np.maximum.at(self._newest_ms, blocks[has_time], times[has_time])

    def sums(self) -> dict[BlockKey, RangeSums]:
        """Return the sums of each block that has records."""
        found = {}
        for index in np.flatnonzero(self._counts).tolist():
            has_time = self._oldest_ms[index] != HIGHEST
            found[self._blocks.key(index)] = RangeSums(
                records=int(self._counts[index]),
                offset_sum=(int(self._upper_sums[index]) << 32) + int(self._lower_sums[index]),
                key_bytes=int(self._key_bytes[index]),
                value_bytes=int(self._value_bytes[index]),
                min_timestamp_ms=int(self._oldest_ms[index]) if has_time else None,
                max_timestamp_ms=int(self._newest_ms[index]) if has_time else None,
            )
        return found

    def runs(self, layer: int = FIRST_LAYER) -> BatchRuns:
        """Return the runs of valid, covered rows of a layer, one for each batch they came from."""
        offsets, bases = _whole(self._offsets), _whole(self._base_offsets)
        if self._refills:
            is_of_layer = _whole(self._layers) == layer
            offsets, bases = offsets[is_of_layer], bases[is_of_layer]
        order = np.lexsort((offsets, bases))
        offsets, bases = offsets[order], bases[order]
        firsts = np.flatnonzero(np.diff(bases, prepend=NULL_NUMBER - 1))
        lasts = np.append(firsts, len(bases))[1:] - 1
        return BatchRuns(bases[firsts], lasts - firsts + 1, offsets[firsts], offsets[lasts])

    def problems(self) -> list[Problem]:
        """Return offsets that come twice, and rows that no range of the ledger covers."""
        offsets = np.sort(_whole(self._offsets))
        twice = np.unique(offsets[1:][offsets[1:] == offsets[:-1]])
        return [
            *problem(
                ProblemKind.OFFSET_TWICE, len(twice), (f"offset {offset}" for offset in twice)
            ),
            *problem(
                ProblemKind.OUTSIDE_LEDGER,
                self._outside_count,
                (f"records has offset {offset}" for offset in sorted(self._outside)),
            ),
        ]


def _whole(parts: list[Offsets]) -> Offsets:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _lengths(rows: pa.Table, column: str) -> Offsets:
    # Other tools write views, which have no length. Any: the stubs do not know these arrays.
    values: Any = rows.column(column).cast(pa.binary())
    lengths = pc.binary_length(values).cast(pa.int64())
    found: Offsets = lengths.fill_null(0).to_numpy()
    return found
