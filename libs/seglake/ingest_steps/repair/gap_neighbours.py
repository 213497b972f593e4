"""Compares the batches next to a gap, to check that a copy belongs to the log in the lake.

If the copy and the lake have different batches next to the gap, the copy has another log, or a log
that lost an election to the ingested one. Such a copy does not fill the gap.
"""

from seglake.ingest_steps.repair.repair_sources import RepairSource
from seglake.ingest_steps.repair.repair_state import RepairState
from seglake.kafka_log.log_identity import Likeness, LogBatch, likeness, may_be_cleaned
from seglake.kafka_log.replica import PartitionKey
from seglake.log_dirs.batch_search import find_batch, request_for
from seglake.log_tables.batch_lookup import IngestedBatches
from seglake.log_tables.current_gaps import CurrentGap
from seglake.segment_decoding.gap_search_values import Crossing, record_hash


def is_contradicted(copy: RepairSource, gap: CurrentGap, state: RepairState) -> bool:
    """Return whether copy and lake have different batches directly before or after a gap."""
    storage, window_bytes = state.context.storage, state.context.settings.read.window_bytes
    for offset in (gap.start_offset - 1, gap.next_offset):
        known = state.lake.holding(gap.key, offset) if offset >= 0 else None
        if known is None:
            continue
        request = request_for(copy.replica, known.header.base_offset, storage, window_bytes)
        found = None if request is None else find_batch(request)
        if isinstance(found, LogBatch) and _is_other(copy, gap, known, found, state.lake):
            return True
    return False


def goes_on(crossing: Crossing, key: PartitionKey, state: RepairState, *, is_inside: bool) -> bool:
    """Return whether a batch that is partly outside a gap may fill the gap.

    It may if the lake has the same batch outside the gap, or no batch yet.

    Args:
        crossing: the batch, and its first offset outside of the gap.
        key: the partition.
        state: the lake before the repair.
        is_inside: whether the gap is damage inside a compressed old message. An intact copy of that
            message has another checksum, so the record next to the gap is compared instead.
    """
    offset, ledger = crossing.offset, state.ledger.of(key)
    known = state.lake.holding(key, offset)
    if known is not None:
        if known.header.crc == crossing.crc:
            return True
        if not is_inside or crossing.record_hash is None:
            return False
        record = state.lake.message(key, offset)
        return record is not None and record_hash(*record) == crossing.record_hash
    is_covered = any(start <= offset < stop for start, stop in ledger.current)
    gaps = state.gaps[key]
    return not is_covered or any(gap.start_offset <= offset < gap.next_offset for gap in gaps)


def _is_other(
    copy: RepairSource,
    gap: CurrentGap,
    known: LogBatch,
    found: LogBatch,
    ingested: IngestedBatches,
) -> bool:
    is_same_place = found.header.base_offset == known.header.base_offset
    if known.magic < 2 and not known.is_wrapper and not is_same_place:
        return False  # a row of old messages may begin at any offset: where its run began to read
    return likeness(known.header, found) is Likeness.OTHER and not may_be_cleaned(
        known,
        found,
        copy.replica.checkpoints.cleaner_offset,
        lake_is_compacted=ingested.has_compacted_gaps(gap.key),
    )
