"""Checks the batches of one partition in one cell: their spans and their rows in records. Pure.

Memory: 56 bytes a batch.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seglake.lake.parquet_rows import numbers
from seglake.pipelines.lake_audit.ledger import (
    FIRST_LAYER,
    BlockKey,
    Flags,
    LedgerBlocks,
    Offsets,
    layers_of,
    look_up,
)
from seglake.pipelines.lake_audit.problems import Problem, ProblemKind, problem_at
from seglake.pipelines.lake_audit.record_checks import BatchRuns
from seglake.pipelines.lake_audit.sums import RangeSums
from seglake.pipelines.lake_audit.texts import is_one_of

_DECODED = "decoded"
_COLUMNS = ("base_offset", "last_offset", "row_count", "size_bytes", "generation")
_SUMS = ("batches", "batch_bytes", "decoded_rows", "other_span", "lacking")  # of `RangeSums`


class PartitionBatches:
    """Collects rows of one partition, in any order; call `finish` before any other method.

    Args:
        first_offset, last_offset: the cell. A batch is counted in the cell of its base offset; one
            that reaches into the cell from below only accounts for offsets.
        refills: generations of refills.
    """

    def __init__(
        self,
        blocks: LedgerBlocks,
        first_offset: int,
        last_offset: int,
        refills: frozenset[int] = frozenset(),
    ) -> None:
        self._blocks = blocks
        self._refills = refills
        self._cell = (first_offset, last_offset)
        self._parts: list[tuple[Offsets, ...]] = []

    def add(self, rows: pa.Table) -> None:
        is_decoded = is_one_of(rows, "state", (_DECODED,))
        columns = (numbers(rows, name) for name in _COLUMNS)
        self._parts.append((*columns, is_decoded.astype(np.int64)))

    def finish(self) -> None:
        empty = (np.zeros(0, np.int64),) * (len(_COLUMNS) + 1)
        columns = [np.concatenate(parts) for parts in zip(*(self._parts or [empty]), strict=True)]
        self._parts.clear()
        order = np.argsort(columns[0], kind="stable")
        bases, lasts, rows, sizes, generations, decoded = (column[order] for column in columns)
        block = self._blocks.index_of(lasts, generations)
        is_here = (bases >= self._cell[0]) & (bases <= self._cell[1])
        self.row_count = int(is_here.sum())
        layers = layers_of(generations, self._refills)
        met = _Batches(bases, lasts, rows, sizes, decoded.astype(np.bool_), block, layers, is_here)
        self._sums = self._sums_of(met.taken(is_here & (block >= 0)))
        # What an election went against is in the sums of its block only.
        is_current = np.ones(len(block), np.bool_)
        is_current[block >= 0] = self._blocks.is_current[block[block >= 0]]
        self._current = met.taken(is_current)
        self.bases, self.lasts = self._current.bases, self._current.lasts
        self.layers = self._current.layers

    def sums(self) -> dict[BlockKey, RangeSums]:
        """Return the sums of each block that has batches."""
        return self._sums

    def _sums_of(self, met: "_Batches") -> dict[BlockKey, RangeSums]:
        block, decoded = met.block, met.is_decoded
        spans = met.lasts + 1 - np.maximum(met.bases, self._blocks.starts[block])
        totals = np.zeros((len(_SUMS), len(self._blocks.starts)), np.int64)
        np.add.at(totals[0], block, 1)
        np.add.at(totals[1], block, met.sizes)
        np.add.at(totals[2], block, np.where(decoded, met.rows, 0))
        np.add.at(totals[3], block, np.where(decoded, 0, spans))
        np.add.at(totals[4], block, np.where(decoded, spans - met.rows, 0))
        return {
            self._blocks.key(index): RangeSums(**dict(zip(_SUMS, sums, strict=True)))
            for index, sums in enumerate(totals.T.tolist())
            if sums[0]
        }

    def problems(self, runs: BatchRuns, layer: int = FIRST_LAYER) -> list[Problem]:
        """Return the batches outside of the ledger, and those with another number of rows.

        Args:
            runs: runs of records of the same layer.
        """
        here = self._current.taken(self._current.is_here & (self._current.layers == layer))
        bases, lasts, expected = here.bases, here.lasts, here.rows
        is_covered = here.block >= 0
        place, is_known = look_up(runs.base_offsets, bases)
        found = np.zeros(len(bases), np.int64)
        found[is_known] = runs.counts[place[is_known]]
        wrong = np.flatnonzero(is_covered & (found != expected))
        of_batch, has_batch = look_up(bases, runs.base_offsets)
        is_beyond = has_batch & (runs.first_offsets < runs.base_offsets)
        is_beyond[has_batch] |= runs.last_offsets[has_batch] > lasts[of_batch[has_batch]]
        return [
            *problem_at(
                ProblemKind.OUTSIDE_LEDGER,
                ~is_covered,
                lambda i: f"batches has offsets {bases[i]} to {lasts[i]}",
            ),
            *problem_at(
                ProblemKind.ROW_COUNT,
                wrong,
                lambda i: f"batch {bases[i]} to {lasts[i]} counts {expected[i]} and has {found[i]}",
            ),
            *problem_at(ProblemKind.ROW_WITHOUT_BATCH, ~has_batch, runs.named),
            *problem_at(ProblemKind.ROW_OUTSIDE_BATCH, is_beyond, runs.named),
        ]


class _Batches(NamedTuple):
    """Rows of `batches` in the order of their base offsets, each with its block, -1 for none.

    `is_here` tells those that are counted in the cell.
    """

    bases: Offsets
    lasts: Offsets
    rows: Offsets
    sizes: Offsets
    is_decoded: Flags
    block: Offsets
    layers: Offsets
    is_here: Flags

    def taken(self, chosen: Flags) -> "_Batches":
        return _Batches._make(column[chosen] for column in self)
