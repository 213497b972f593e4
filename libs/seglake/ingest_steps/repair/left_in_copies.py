"""Finds copies that have records which the log cleaner removed from the lake's log.

Live replicas are not read: gaps and listing show whether their cleaners differ in progress. If a
copy ends below the lake, or is the only copy, it is an older copy that a person gave. Its records
are counted if this is quick.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from seglake.ingest_steps.repair.refill import expected_refill
from seglake.ingest_steps.repair.repair_result import RepairResult
from seglake.ingest_steps.repair.repair_state import RepairState
from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.read_policy import UpperBound
from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.log_tables.current_gaps import GapPiece
from seglake.log_tables.partition_ledger import PartitionLedger

# limit for all copies together, so that reading does not delay a run
_MOST_COUNTED_BYTES = 64 << 20
# limit of the lake's offsets to read for counting records
_MOST_LAKE_OFFSETS = _MOST_COUNTED_BYTES // 8


def with_left_in_copies(
    repaired: RepairResult,
    state: RepairState,
    own: Container[str],
    unmoved: Iterable[PartitionKey] = (),
) -> RepairResult:
    """Return the result with the number of records that copies have at compacted offsets.

    Args:
        repaired: result of the repairs so far.
        state: the lake and its copies after the repairs.
        own: folders of copies from which this run ingested.
        unmoved: partitions whose copies are listed as in an earlier run.
    """
    ledger, context = state.ledger, state.context
    seen = set(map(ledger.joined_key, unmoved))
    by_key = {key: of for key, of in state.readable.items() if ledger.of(key).current}
    by_key = {key: of for key, of in by_key.items() if len(of) > 1 or key not in seen}
    has_compacted = any(cause == GapCause.COMPACTED for cause in _causes(state))
    pieces = state.pieces if by_key and has_compacted else {}
    offsets = {key: _dirty_offsets(of, pieces.get(key, ())) for key, of in by_key.items()}
    older = {
        key: [copy for copy in copies if copy.folder not in own]
        for key, copies in by_key.items()
        if key not in seen
        and (_are_older(copies, ledger.of(key), context) or (len(copies) == 1 and offsets[key]))
    }
    older = {key: copies for key, copies in older.items() if copies}
    counted = [copy for copies in older.values() for copy in copies]
    if not _are_few(counted, map(ledger.of, older)):
        older, counted = {}, []
    folders = {copy.folder for copy in counted}
    return replace(
        repaired,
        left_records=expected_refill(repaired, state, folders).expected if folders else {},
        left_offsets={str(key): n for key, n in offsets.items() if n and key not in older},
    )


# Any: the stubs do not know the type of a column.
def _causes(state: RepairState) -> Iterator[Any]:
    for some in state.gap_rows.to_batches():
        yield from some.column(some.schema.get_field_index("cause")).to_pylist()


def _are_older(copies: Sequence[Replica], ledger: PartitionLedger, context: RunContext) -> bool:
    """Return whether all copies end below the lake, so that none is a live replica."""
    if context.settings.read.upper_bound is UpperBound.LOG_END:
        return False  # a listing does not show the end of a log
    marks = [copy.checkpoints.high_watermark for copy in copies]
    known = [mark for mark in marks if mark is not None]
    return len(known) == len(marks) and max(known) < ledger.current[-1][1]


def _are_few(copies: Iterable[Replica], ledgers: Iterable[PartitionLedger]) -> bool:
    """Return whether copies and the lake's rows of their partitions are few enough to read."""
    size_bytes = sum(file.size_bytes for copy in copies for file in copy.segments)
    lake_offsets = sum(stop - start for ledger in ledgers for start, stop in ledger.current)
    return size_bytes <= _MOST_COUNTED_BYTES and lake_offsets <= _MOST_LAKE_OFFSETS


def _dirty_offsets(copies: Sequence[Replica], pieces: Sequence[GapPiece]) -> int:
    """Return how many compacted offsets of the lake are above a copy's cleaner checkpoint.

    Cleaner checkpoints alone show that one cleaner has progressed further than another.
    """
    cleaned = [copy.checkpoints.cleaner_offset for copy in copies]
    if len(copies) > 1 and not any(cleaned):
        return 0
    return max(
        _compacted_between(
            pieces,
            max(copy.log_start_offset, cleaner_offset or 0),
            copy.checkpoints.high_watermark or copy.segments[-1].base_offset,
        )
        for copy, cleaner_offset in zip(copies, cleaned, strict=True)
    )


def _compacted_between(pieces: Iterable[GapPiece], start: int, stop: int) -> int:
    return sum(
        int(np.maximum(np.minimum(piece.stops, stop) - np.maximum(piece.starts, start), 0).sum())
        for piece in pieces
        if piece.cause is GapCause.COMPACTED
    )
