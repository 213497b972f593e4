"""Is a copy of the log that the lake has? The batches beside a gap tell. Effect: reads.

A copy that has other batches there is of another log, or lost to what was taken: it fills nothing.
"""

from lake.storage import Storage
from pipelines.segment_ingest.repairing.copies import Copy
from pipelines.segment_ingest.repairing.current_gaps import CurrentGap
from pipelines.segment_ingest.same_logs.batch_search import find_batch, request_for
from pipelines.segment_ingest.same_logs.identity import (
    FoundBatch,
    Likeness,
    TakenBatch,
    likeness,
    may_be_cleaned,
)
from pipelines.segment_ingest.same_logs.taken_batches import TakenBatches


def is_contradicted(
    copy: Copy, gap: CurrentGap, taken: TakenBatches, storage: Storage, window_bytes: int
) -> bool:
    """Whether the copy has another batch than the lake right before or right behind a gap."""
    for offset in (gap.start_offset - 1, gap.next_offset):
        known = taken.holding(gap.key, offset) if offset >= 0 else None
        if known is None:
            continue
        request = request_for(copy.replica, known.header.base_offset, storage, window_bytes)
        found = None if request is None else find_batch(request)
        if isinstance(found, FoundBatch) and _is_other(copy, gap, known, found, taken):
            return True
    return False


def _is_other(
    copy: Copy, gap: CurrentGap, known: TakenBatch, found: FoundBatch, taken: TakenBatches
) -> bool:
    is_same_place = found.header.base_offset == known.header.base_offset
    if known.magic < 2 and not known.is_wrapper and not is_same_place:
        return False  # how old messages are put together into runs depends on where a walk begins
    return likeness(known.header, found) is Likeness.OTHER and not may_be_cleaned(
        known,
        found,
        copy.replica.checkpoints.cleaner_offset,
        lake_is_compacted=taken.has_compacted_gaps(gap.key),
    )
