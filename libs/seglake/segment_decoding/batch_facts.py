"""What the rows of one batch say of it. Pure."""

from seglake.log_tables.record_rows import UnitRows
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.formats.units import Unit
from seglake.segment_codec.kernels.outcomes import UnitOutcome
from seglake.segment_decoding.pending import PendingUnit


def facts_of(unit: Unit, outcome: UnitOutcome | None) -> tuple[int, int, int | None]:
    """Return first offset, record count and uncompressed bytes of a sound batch.

    Those of the formats before magic 2 are all decoded.
    """
    if outcome is not None:
        return outcome.first_offset, outcome.record_count, outcome.plain_bytes
    count = unit.header.record_count if isinstance(unit, RecordBatch) else 0
    return unit.first_offset, count, None


def rows_of(pending: PendingUnit, base_offset: int, rows: int) -> UnitRows:
    """Return what the records of a batch share."""
    unit = pending.unit
    if isinstance(unit, RecordBatch):
        timestamp_type = int(unit.header.is_log_append_time)
    else:
        timestamp_type = -1 if unit.magic == 0 else int(unit.is_log_append_time)
    return UnitRows(rows, timestamp_type, pending.transaction_state, base_offset)
