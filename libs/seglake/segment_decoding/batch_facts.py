"""Computes the values that all table rows of one batch share."""

from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.log_tables.batch_rows import BatchOutcome
from seglake.log_tables.record_rows import UnitRows
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.kernels.outcomes import UnitOutcome
from seglake.segment_decoding.pending import PendingUnit


def outcome_of(
    pending: PendingUnit, outcome: UnitOutcome | None, offsets: OffsetRange, row_count: int
) -> BatchOutcome:
    """Return the values for a valid batch's row in `batches`.

    A batch of magic 2 has its record count in the header, so it needs no decoding. Batches of older
    formats are always decoded.

    Args:
        pending: the batch.
        outcome: result of decoding; None if the batch was not decoded.
        offsets: ingested offsets of the batch.
        row_count: number of the batch's rows in `records`.
    """
    unit = pending.unit
    record_count = unit.header.record_count if isinstance(unit, RecordBatch) else 0
    return BatchOutcome(
        unit=unit,
        state=pending.state,
        transaction_state=pending.transaction_state,
        control_type=pending.control_type,
        first_offset=offsets[0],
        last_offset=offsets[1] - 1,
        record_count=record_count if outcome is None else outcome.record_count,
        row_count=row_count,
        uncompressed_bytes=None if outcome is None else outcome.plain_bytes,
    )


def rows_of(pending: PendingUnit, base_offset: int, rows: int) -> UnitRows:
    """Return the values that all records of a batch share."""
    unit = pending.unit
    if isinstance(unit, RecordBatch):
        timestamp_type = int(unit.header.is_log_append_time)
    else:
        timestamp_type = -1 if unit.magic == 0 else int(unit.is_log_append_time)
    return UnitRows(rows, timestamp_type, pending.transaction_state, base_offset)
