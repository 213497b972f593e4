"""Transactions without an end in a lake's tables. Pure.

Rows stay `open` in the tables when a later run reads the marker that ends them: so markers decide.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seglake.lake.parquet_rows import numbers
from seglake.pipelines.lake_audit.texts import is_one_of


class OpenRows(NamedTuple):
    """Records of a producer's transaction that no marker has ended."""

    producer_id: int
    first_offset: int
    records: int


class CellOpenRows(NamedTuple):
    """Open rows of one cell, to be combined with the partition's other cells.

    Attributes:
        ended: producers with a marker in the cell.
        waiting: records after their producer's last marker in the cell.
    """

    ended: frozenset[int]
    waiting: tuple[OpenRows, ...]


class OpenRowsCollector:
    """Collects rows of `batches` of one partition, in any order.

    Args:
        cell: first and last offset of the batches to collect.
    """

    def __init__(self, cell: tuple[int, int]) -> None:
        self._cell = cell
        # Base offset, producer and number of rows, None for a marker.
        self._found: list[tuple[int, int, int | None]] = []

    def add(self, rows: pa.Table) -> None:
        bases = numbers(rows, "base_offset")
        is_inside = (bases >= self._cell[0]) & (bases <= self._cell[1])
        is_marker = is_one_of(rows, "control_type", ("commit", "abort")) & is_inside
        is_open = is_one_of(rows, "transaction_state", ("open",)) & is_inside & ~is_marker
        if not is_marker.any() and not is_open.any():
            return
        producers, counts = numbers(rows, "producer_id"), numbers(rows, "row_count")
        for place in np.flatnonzero(is_marker | is_open).tolist():
            count = None if is_marker[place] else int(counts[place])
            self._found.append((int(bases[place]), int(producers[place]), count))

    def of_cell(self) -> CellOpenRows:
        """Return the cell's records that wait for a marker, and the producers that have one."""
        ended: set[int] = set()
        waiting: dict[int, OpenRows] = {}
        for offset, producer_id, count in sorted(self._found, key=lambda each: each[:2]):
            if count is None:
                ended.add(producer_id)
                waiting.pop(producer_id, None)
            else:
                _wait(waiting, OpenRows(producer_id, offset, count))
        return CellOpenRows(frozenset(ended), tuple(waiting.values()))


def still_open(cells: Iterable[CellOpenRows]) -> tuple[OpenRows, ...]:
    """Return the open records of a partition, one value for each producer.

    Args:
        cells: all cells of the partition, ordered by offset.
    """
    waiting: dict[int, OpenRows] = {}
    for cell in cells:
        for producer_id in cell.ended:
            waiting.pop(producer_id, None)
        for rows in cell.waiting:
            _wait(waiting, rows)
    return tuple(sorted(waiting.values(), key=lambda rows: rows.first_offset))


def _wait(waiting: dict[int, OpenRows], rows: OpenRows) -> None:
    before = waiting.get(rows.producer_id, rows._replace(records=0))
    waiting[rows.producer_id] = before._replace(records=before.records + rows.records)
