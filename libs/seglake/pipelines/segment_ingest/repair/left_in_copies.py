"""Finds copies that still have what the lake calls compacted, and nobody asked for. Effect: reads.

A run over live replicas reads nothing for it: the gaps of the lake and the listing of the sources
tell where a cleaner is behind. Copies that end below the lake, or are alone, are older ones that a
person gave: their records are counted, as far as that is quick.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.read_policy import UpperBound
from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.log_tables.coverage import Coverage, with_known_id
from seglake.log_tables.current_gaps import GapPiece, gap_pieces
from seglake.pipelines.segment_ingest.repair.refill import expected_refill
from seglake.pipelines.segment_ingest.repair.repair_state import RepairState
from seglake.pipelines.segment_ingest.run_context import RunContext

_MOST_COUNTED_BYTES = 64 << 20  # of all copies; more would keep a run waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftInCopies:
    """What copies still have and the lake lacks since a compaction.

    Attributes:
        records: counted, by partition.
        offsets: that the lake calls compacted where the cleaner of a copy has not been, by
            partition: so many records it may have.
    """

    records: Mapping[str, int] = field(default_factory=dict)
    offsets: Mapping[str, int] = field(default_factory=dict)


NOTHING_LEFT = LeftInCopies()


def left_in_copies(
    replicas: Iterable[Replica], state: RepairState, context: RunContext, own: Container[str]
) -> LeftInCopies:
    """Find what these copies have of what the lake calls compacted.

    Args:
        own: folders of copies that this run ingested from.
    """
    coverage = state.coverage
    by_key: dict[PartitionKey, list[Replica]] = {}
    for replica in replicas:
        key = coverage.joined_key(with_known_id(replica, coverage).key)
        if replica.segments and not replica.is_future and coverage.current_ranges(key):
            by_key.setdefault(key, []).append(replica)
    has_compacted = any(cause == GapCause.COMPACTED for cause in _causes(state))
    pieces = gap_pieces(state.gap_rows, coverage) if by_key and has_compacted else {}
    offsets = {
        key: max(_dirty_offsets(copy, pieces.get(key, ())) for copy in copies)
        for key, copies in by_key.items()
    }
    older = [
        copy
        for key, copies in by_key.items()
        if _are_older(copies, key, coverage, context) or (len(copies) == 1 and offsets[key])
        for copy in copies
        if copy.folder not in own
    ]
    size_bytes = sum(file.size_bytes for copy in older for file in copy.segments)
    if size_bytes > _MOST_COUNTED_BYTES:
        older = []
    counted = {coverage.joined_key(with_known_id(copy, coverage).key) for copy in older}
    return LeftInCopies(
        records=expected_refill(older, context).expected if older else {},
        offsets={str(key): count for key, count in offsets.items() if count and key not in counted},
    )


# Any: the stubs know no type of a column.
def _causes(state: RepairState) -> Iterator[Any]:
    for some in state.gap_rows.to_batches():
        yield from some.column(some.schema.get_field_index("cause")).to_pylist()


def _are_older(
    copies: Sequence[Replica], key: PartitionKey, coverage: Coverage, context: RunContext
) -> bool:
    """Say whether all copies end below the lake, so that no live replica is among them."""
    if context.settings.read.upper_bound is UpperBound.LOG_END:
        return False  # the end of a log is not known from its listing
    marks = [copy.checkpoints.high_watermark for copy in copies]
    known = [mark for mark in marks if mark is not None]
    return len(known) == len(marks) and max(known) < coverage.current_ranges(key)[-1][1]


def _dirty_offsets(copy: Replica, pieces: Iterable[GapPiece]) -> int:
    """Count the offsets of the lake's compacted gaps where the copy's cleaner has not been."""
    start = max(copy.log_start_offset, copy.checkpoints.cleaner_offset or 0)
    stop = copy.checkpoints.high_watermark or copy.segments[-1].base_offset
    return sum(
        int(np.maximum(np.minimum(piece.stops, stop) - np.maximum(piece.starts, start), 0).sum())
        for piece in pieces
        if piece.cause is GapCause.COMPACTED
    )
