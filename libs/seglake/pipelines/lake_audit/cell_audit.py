"""Audits cells: reads their rows and gives back sums and problems. Runs in tasks. Effect: reads.

Ships: its argument. Memory: the rows of one row group, and of all records, batches and gaps of one
cell some numbers each.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seglake.kafka_log.gap_ranges import GapRanges
from seglake.lake.parquet_rows import numbers
from seglake.lake.tables import BATCHES, GAPS, QUARANTINE, RECORDS
from seglake.pipelines.lake_audit.batch_checks import PartitionBatches
from seglake.pipelines.lake_audit.cell_rows import CellReader
from seglake.pipelines.lake_audit.cells import Cell
from seglake.pipelines.lake_audit.gap_checks import GapChecks, ShownGap
from seglake.pipelines.lake_audit.gap_rows import GapCollector
from seglake.pipelines.lake_audit.ledger import (
    FIRST_LAYER,
    BlockKey,
    LakePartition,
    LedgerBlocks,
    PartitionLedger,
)
from seglake.pipelines.lake_audit.offset_spans import Spans, span_problems
from seglake.pipelines.lake_audit.open_transactions import CellOpenRows, OpenRowsCollector
from seglake.pipelines.lake_audit.problems import Problem
from seglake.pipelines.lake_audit.quarantine_checks import Damage, QuarantineSums
from seglake.pipelines.lake_audit.record_checks import PartitionRecords
from seglake.pipelines.lake_audit.sums import RangeSums, sums_joined
from seglake.pipelines.lake_audit.transaction_checks import (
    BatchSpans,
    CellEnds,
    PartitionTransactions,
)


@dataclass(frozen=True, slots=True)
class PartitionFinding:
    """Findings about one partition in one cell; sums are by the ledger's block.

    Attributes:
        row_counts: rows that were counted, by table.
        quarantine: of the whole partition, in its first cell.
    """

    partition: LakePartition
    row_counts: Mapping[str, int]
    sums: Mapping[BlockKey, RangeSums]
    gaps: Mapping[str, GapRanges]
    shown_gaps: tuple[ShownGap, ...]
    quarantine: QuarantineSums | None
    ends: CellEnds
    open_rows: CellOpenRows
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class CellFinding:
    """Findings in one cell; `unreadable` has files that could not be read, with reasons."""

    partitions: tuple[PartitionFinding, ...]
    unreadable: tuple[str, ...]


def audit_cells(cells: tuple[Cell, ...]) -> list[CellFinding]:
    """Audit several cells, one after the other; the task function."""
    return [_audit(cell) for cell in cells]


class _Collected:
    """The rows of one partition."""

    def __init__(self, ledger: PartitionLedger, cell: Cell) -> None:
        self.ledger = ledger
        self.blocks: LedgerBlocks = ledger.blocks()
        self.refills = ledger.refills
        self.records = PartitionRecords(self.blocks, self.refills)
        self.batches = PartitionBatches(self.blocks, *cell.offsets, self.refills)
        self.transactions = PartitionTransactions()
        self.open_rows = OpenRowsCollector(cell.offsets)
        self.gaps = GapCollector()
        self.damage = Damage()


def _audit(cell: Cell) -> CellFinding:
    reader = CellReader(cell)
    known = {ledger.partition: ledger for ledger in cell.ledgers}
    found = {partition: _Collected(ledger, cell) for partition, ledger in known.items()}
    for table in (RECORDS, BATCHES, GAPS, QUARANTINE):
        for partition, rows in reader.rows(table.name):
            if partition not in found:
                found[partition] = _Collected(PartitionLedger(partition, ()), cell)
            collected = found[partition]
            match table.name:
                case RECORDS.name:
                    collected.records.add(rows)
                case BATCHES.name:
                    collected.batches.add(rows)
                    current = _current(collected.ledger, rows)
                    collected.transactions.add(current)
                    collected.open_rows.add(current)
                case GAPS.name:
                    collected.gaps.add(rows)
                case _:
                    collected.damage.add(rows)
    judged = tuple(_judged(collected, cell) for collected in found.values())
    return CellFinding(judged, tuple(reader.unreadable))


def _current(ledger: PartitionLedger, rows: pa.Table) -> pa.Table:
    """Return the rows of `batches` that no election went against."""
    if not ledger.elections:
        return rows
    is_current = ledger.are_current(numbers(rows, "base_offset"), numbers(rows, "generation"))
    return rows.filter(pa.array(is_current))


def _judged(collected: _Collected, cell: Cell) -> PartitionFinding:
    records, batches, damage = collected.records, collected.batches, collected.damage
    transactions = collected.transactions
    batches.finish()
    transactions.finish(BatchSpans(batches.bases, batches.lasts, cell.offsets))
    damage.finish(collected.ledger)
    gaps = GapChecks(collected.gaps.rows(), collected.ledger, collected.blocks, cell.offsets)
    spans = Spans(
        np.concatenate((batches.bases, gaps.current.starts)),
        np.concatenate((batches.lasts + 1, gaps.current.stops)),
        np.arange(len(batches.bases) + len(gaps.current.starts)) >= len(batches.bases),
        np.concatenate((batches.layers, np.zeros(len(gaps.current.starts), np.int64))),
    )
    layers = (FIRST_LAYER, *sorted(collected.refills))
    problems = [
        *records.problems(),
        *(met for layer in layers for met in batches.problems(records.runs(layer), layer)),
        *gaps.problems(damage),
        *transactions.problems(),
        *span_problems(spans, collected.ledger.covered(), cell.offsets),
    ]
    return PartitionFinding(
        partition=collected.ledger.partition,
        row_counts={
            RECORDS.name: records.row_count,
            BATCHES.name: batches.row_count,
            QUARANTINE.name: damage.row_count if cell.is_first else 0,
            GAPS.name: gaps.row_count,
        },
        sums=sums_joined((records.sums(), batches.sums(), gaps.sums())),
        gaps=gaps.counts(),
        shown_gaps=tuple(gaps.shown(damage)),
        quarantine=damage.sums() if cell.is_first else None,
        ends=transactions.ends(),
        open_rows=collected.open_rows.of_cell(),
        problems=tuple(problems),
    )
