"""Reads facts from batch headers: newest timestamp, transaction marker, last batch, defect."""

import numpy as np

from seglake.kafka_log.segment_survey import LastBatch
from seglake.kafka_log.transaction_markers import Marker
from seglake.segment_codec.formats.control_record import ControlType, control_type
from seglake.segment_codec.formats.defects import Defect
from seglake.segment_codec.formats.errors import DefectCode, DefectError
from seglake.segment_codec.formats.message_set import MessageRun, Wrapper
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.formats.reference_decoder import decode
from seglake.segment_codec.formats.units import Unit
from seglake.segment_codec.kernels.batch_run import BatchKind, BatchRun

MOST_CONTROL_BYTES = 1 << 20  # a control batch above this size is treated as damaged


def max_timestamp_ms(unit: Unit) -> int | None:
    """Return a batch's newest timestamp in ms since 1970, from its header; None in magic 0."""
    match unit:
        case RecordBatch():
            return unit.header.max_timestamp_ms
        case Wrapper():
            return unit.timestamp_ms
        case MessageRun():
            return unit.max_timestamp_ms


def marker_of(unit: Unit) -> Marker | None:
    """Return the transaction marker in a control batch; None if it has no readable marker."""
    if not isinstance(unit, RecordBatch) or not unit.header.is_control:
        return None
    kind = control_kind(unit)
    if kind not in (ControlType.COMMIT, ControlType.ABORT):
        return None
    return Marker(unit.first_offset, unit.header.producer_id, kind is ControlType.COMMIT)


def control_kind(batch: RecordBatch) -> ControlType | None:
    """Return the type of a control batch; None if its record cannot be read."""
    try:
        records = decode(batch, MOST_CONTROL_BYTES)
        return control_type(records, is_transactional=batch.header.is_transactional)
    except DefectError:
        return None


def markers_of(run: BatchRun) -> list[Marker]:
    """Return the transaction markers in a run of batches."""
    is_marker = run.is_marker
    if not is_marker.any():
        return []
    places = np.flatnonzero(is_marker)
    fields = (run.column("base_offset"), run.column("producer_id"), run.kinds == BatchKind.COMMIT)
    return list(map(Marker, *(field[places].tolist() for field in fields)))


def counted_offset(unit: Unit) -> int:
    """Return the offset after a batch if its records had consecutive offsets.

    The result is the first offset plus the header's record count. After compaction, the batch's
    true end may be higher. Headers of old formats have no count, so the result is the first offset.
    """
    return unit.first_offset + (unit.header.record_count if isinstance(unit, RecordBatch) else 0)


def last_batch_of(unit: Unit) -> LastBatch:
    """Return the header fields that the ledger stores for the last batch of a range."""
    epoch = unit.header.partition_leader_epoch if isinstance(unit, RecordBatch) else -1
    return LastBatch(unit.first_offset, unit.crc, None if epoch < 0 else epoch)


def defect_of(unit: Unit, code: DefectCode, detail: str) -> Defect:
    """Return the defect for a batch with a valid checksum and invalid content.

    Args:
        unit: the batch, which gives the defect's position, size and header fields.
        code: the kind of the defect.
        detail: the reason, in words.
    """
    header = unit.header if isinstance(unit, RecordBatch) else None
    return Defect(
        unit.position,
        unit.size_bytes,
        code,
        detail,
        expected_offset=unit.first_offset,
        base_offset=None if header is None else unit.first_offset,
        last_offset=unit.last_offset,
        record_count=None if header is None else header.record_count,
        magic=unit.magic,
        codec_id=None if header is None else header.codec_id,
    )
