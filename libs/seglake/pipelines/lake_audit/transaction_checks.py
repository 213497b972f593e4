"""Did the transactions of one partition end as their batches say? Pure.

The first marker of its producer behind it tells how a batch of a transaction ended. Where an offset
between the two is in no batch another marker may have stood, so nothing is said of it then.

Memory: 25 bytes a batch of a transaction, in one cell.
"""

from collections.abc import Container, Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seglake.lake.parquet_rows import numbers
from seglake.pipelines.lake_audit.ledger import Flags, Offsets
from seglake.pipelines.lake_audit.problems import Problem, ProblemKind, problem
from seglake.pipelines.lake_audit.texts import is_one_of, text_values

_EMPTY = "empty"
_MARKERS = ("commit", "abort")
_COMMITTED = ("commit", "committed")
_OUTCOMES = (*_COMMITTED, "abort", "aborted")


class End(NamedTuple):
    """A marker, or data without one; `offset` is its own, or the data's last one."""

    producer_id: int
    is_commit: bool
    offset: int


class CellEnds(NamedTuple):
    """Transaction ends of one cell, for the partition's other cells.

    Attributes:
        first_markers: of each producer, where every offset in front of it, in the cell, is there.
        waiting: the last data without a marker of each producer and outcome, if every offset behind
            it is there.
        is_whole: no offset of the cell is missing.
    """

    first_markers: tuple[End, ...]
    waiting: tuple[End, ...]
    is_whole: bool


class BatchSpans(NamedTuple):
    """Batches in the order of their base offsets, and the cell: its first and its last offset."""

    bases: Offsets
    lasts: Offsets
    cell: tuple[int, int]


class _Events(NamedTuple):
    """Markers and data of transactions, by producer and offset."""

    producers: Offsets
    bases: Offsets
    lasts: Offsets
    is_marker: Flags
    is_commit: Flags


class PartitionTransactions:
    """Collects a partition's rows of `batches` in any order; call `finish` before other methods."""

    def __init__(self) -> None:
        self._parts: list[_Events] = []

    def add(self, rows: pa.Table) -> None:
        is_marker, commits = _ended(rows, "control_type", _MARKERS)
        has_outcome, is_committed = _ended(rows, "transaction_state", _OUTCOMES)
        # The cleaner may leave a batch without records, and remove the marker that ended it.
        has_outcome &= ~is_one_of(rows, "state", (_EMPTY,))
        is_event = is_marker | has_outcome
        if not is_event.any():
            return
        is_commit = np.where(is_marker, commits, is_committed)
        columns = (numbers(rows, name) for name in ("producer_id", "base_offset", "last_offset"))
        parts = (*columns, is_marker, is_commit)
        self._parts.append(_Events(*(part[is_event] for part in parts)))

    def finish(self, spans: BatchSpans) -> None:
        self._spans = spans
        self._events = _joined(self._parts, spans.cell)
        events, count = self._events, len(self._events.bases)
        markers = np.where(events.is_marker, np.arange(count), count)
        following = np.minimum.accumulate(markers[::-1])[::-1]
        self._end = np.minimum(following, count - 1)
        self._has_end = (following < count) & (events.producers[self._end] == events.producers)
        reached = np.maximum.accumulate(spans.lasts)
        is_start = np.ones(len(spans.bases), np.bool_)
        is_start[1:] = spans.bases[1:] > reached[:-1] + 1
        self._run = np.cumsum(is_start) - 1
        self._run_starts = spans.bases[is_start]
        self._run_lasts = reached[np.append(is_start, True)[1:]]

    def problems(self) -> list[Problem]:
        """Return transactions of which another end is in this cell."""
        events, end = self._events, self._end
        other = ~events.is_marker & self._has_end & (events.is_commit != events.is_commit[end])
        other &= self._runs_of(events.bases) == self._runs_of(events.bases[end])
        places = np.flatnonzero(other)
        _, firsts = np.unique(end[places], return_index=True)
        pairs = [(places[first], end[places[first]]) for first in sorted(firsts.tolist())]
        texts = (_said(self._named(data), self._named(marker)) for data, marker in pairs)
        return problem(ProblemKind.OUTCOME, len(pairs), texts)

    def ends(self) -> CellEnds:
        """Return the transaction ends that the other cells need."""
        events, (first, last) = self._events, self._spans.cell
        run = self._runs_of(events.bases)
        begins = events.is_marker & (self._run_starts[run] <= first)
        goes_on = ~events.is_marker & ~self._has_end & (self._run_lasts[run] >= last)
        markers, waiting = np.flatnonzero(begins), np.flatnonzero(goes_on)[::-1]
        ends = np.flatnonzero(events.is_marker)
        _, firsts = np.unique(events.producers[ends], return_index=True)
        keys = events.producers[waiting] * 2 + events.is_commit[waiting]
        _, lasts = np.unique(keys, return_index=True)
        is_whole = len(self._run_starts) == 1 and (
            self._run_starts[0] <= first and self._run_lasts[0] >= last
        )
        return CellEnds(
            tuple(self._named(i) for i in np.intersect1d(ends[firsts], markers)),
            tuple(self._named(i) for i in waiting[lasts]),
            bool(is_whole),
        )

    def _runs_of(self, bases: Offsets) -> Offsets:
        """Return the index of each batch's run without holes."""
        return self._run[np.searchsorted(self._spans.bases, bases)]

    def _named(self, index: int) -> End:
        events = self._events
        offset = events.bases[index] if events.is_marker[index] else events.lasts[index]
        return End(int(events.producers[index]), bool(events.is_commit[index]), int(offset))


def across_cells(cells: Iterable[CellEnds]) -> list[Problem]:
    """Return transactions that ended in a later cell, and otherwise than they say.

    Args:
        cells: of one partition, in the order of their offsets.
    """
    waiting: dict[tuple[int, bool], End] = {}
    found: list[str] = []
    for cell in cells:
        for marker in cell.first_markers:
            for is_commit in (False, True):
                data = waiting.pop((marker.producer_id, is_commit), None)
                if data is not None and is_commit is not marker.is_commit:
                    found.append(_said(data, marker))
        if not cell.is_whole:
            waiting.clear()
        waiting |= {(data.producer_id, data.is_commit): data for data in cell.waiting}
    return problem(ProblemKind.OUTCOME, len(found), found)


def _said(data: End, marker: End) -> str:
    verbs = {True: "committed", False: "aborted"}
    return (
        f"producer {data.producer_id}'s data up to offset {data.offset} was ingested as "
        f"{verbs[data.is_commit]}, the marker at offset {marker.offset} says "
        f"{verbs[marker.is_commit]}"
    )


def _ended(rows: pa.Table, column: str, wanted: Container[str | None]) -> tuple[Flags, Flags]:
    """Flag the rows that say a transaction ended, and those that say it was committed."""
    values, codes = text_values(rows, column)
    ended, committed = (
        np.array([value in texts for value in values], np.bool_)[codes]
        for texts in (wanted, _COMMITTED)
    )
    return ended, committed


def _joined(parts: list[_Events], cell: tuple[int, int]) -> _Events:
    """Return all that begins in the cell, by producer and offset."""
    nothing, none = np.zeros(0, np.int64), np.zeros(0, np.bool_)
    columns = zip(_Events(nothing, nothing, nothing, none, none), *parts, strict=True)
    events = _Events._make(np.concatenate(column) for column in columns)
    inside = np.flatnonzero((events.bases >= cell[0]) & (events.bases <= cell[1]))
    order = inside[np.lexsort((events.bases[inside], events.producers[inside]))]
    return _Events._make(column[order] for column in events)
