"""Finds a lake's unresolved gaps, and which of them another copy could fill."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.grouping import grouped
from seglake.kafka_log.offset_gaps import DAMAGE_CAUSES, NEVER_FILLED, GapCause
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import PartitionKey
from seglake.log_tables.source_ledger import SourceLedger

GAP_COLUMNS = (
    "topic_id",
    "topic",
    "partition",
    "start_offset",
    "next_offset",
    "cause",
    "detail",
    "attempt_id",
)


class CurrentGap(NamedTuple):
    """An unresolved gap: offsets [start_offset, next_offset) without a batch in the lake."""

    key: PartitionKey
    start_offset: int
    next_offset: int
    cause: GapCause
    detail: str | None = None

    @property
    def offsets(self) -> OffsetRange:
        """Return the gap's offsets as a half-open range."""
        return self.start_offset, self.next_offset

    @property
    def lacks_evidence(self) -> bool:
        """Return whether the gap's cause is unproved, so that another copy may prove a cause."""
        return self.cause not in (*DAMAGE_CAUSES, GapCause.UNDECIDED)


_EDGES = ("start_offset", "next_offset")
_NUMBERS = (*_EDGES, "partition")
_MOST_ROWS = 1 << 16  # rows that become Python objects at a time


def fillable_rows(rows: pa.Table) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of `gaps` that a repair could fill.

    There may be millions of other rows: gaps made by the cleaner, and removed records.
    """
    for some in rows.to_batches(max_chunksize=_MOST_ROWS):
        causes = some.column(some.schema.get_field_index("cause")).to_pylist()
        is_other = [cause not in NEVER_FILLED for cause in causes]
        # Return early: importing pyarrow.compute takes 0.05 s.
        if all(is_other):
            yield from some.to_pylist()
        elif any(is_other):
            yield from some.filter(pa.array(is_other)).to_pylist()


def fillable_gaps(
    rows: Iterable[Mapping[str, Any]], ledger: SourceLedger
) -> dict[PartitionKey, list[CurrentGap]]:
    """Return the unresolved gaps that another copy could fill, by partition, ordered by offset.

    Args:
        rows: rows of `gaps` from `fillable_rows`, with GAP_COLUMNS.
        ledger: ledger of the source of the gaps.
    """
    gaps = [
        CurrentGap(log.key, row["start_offset"], row["next_offset"], GapCause(row["cause"]))
        for row in rows
        for log in [ledger.of_row(row)]
        if log.is_current_gap(row["start_offset"], row["attempt_id"])
    ]
    return grouped((gap.key, gap) for gap in sorted(gaps, key=lambda gap: gap.start_offset))


class GapPiece(NamedTuple):
    """Unresolved gaps of one partition with the same cause and detail, in any order."""

    cause: GapCause
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    detail: str | None


def gap_pieces(rows: pa.Table, ledger: SourceLedger) -> dict[PartitionKey, list[GapPiece]]:
    """Return all unresolved gaps as arrays by partition, including the cleaner's gaps.

    Args:
        rows: rows of `gaps`, with GAP_COLUMNS.
        ledger: ledger of the source of the gaps.
    """
    names = [name for name in GAP_COLUMNS if name not in _EDGES]
    texts = rows.cast(
        pa.schema([(n, pa.int64() if n in _NUMBERS else pa.string()) for n in rows.schema.names])
    )
    groups = texts.group_by(names, use_threads=False).aggregate([(e, "list") for e in _EDGES])
    lists = [groups.column(f"{edge}_list").combine_chunks() for edge in _EDGES]
    found: dict[PartitionKey, list[GapPiece]] = {}
    for index, group in enumerate(groups.select(names).to_pylist()):
        log = ledger.of_row(group)
        starts, stops = (of[index].values.to_numpy() for of in lists)
        is_current = log.are_current_gaps(starts, group["attempt_id"])
        cause, detail = GapCause(group["cause"]), group["detail"]
        piece = GapPiece(cause, starts[is_current], stops[is_current], detail)
        found.setdefault(log.key, []).append(piece)
    return found


def standing_gaps(
    pieces: Mapping[PartitionKey, Iterable[GapPiece]],
) -> dict[PartitionKey, list[CurrentGap]]:
    """Return all unresolved gaps, including the cleaner's, by partition and ordered by offset.

    Args:
        pieces: unresolved gaps as arrays, by partition, in any order.
    """
    found: dict[PartitionKey, list[CurrentGap]] = {}
    for key, of_key in pieces.items():
        gaps = [
            CurrentGap(key, start, stop, piece.cause, piece.detail)
            for piece in of_key
            for start, stop in zip(piece.starts.tolist(), piece.stops.tolist(), strict=True)
        ]
        found[key] = sorted(gaps, key=lambda gap: gap.start_offset)
    return found
