"""One row of `batches` for each sound batch that was met."""

from enum import StrEnum
from typing import Any, NamedTuple

import pyarrow as pa

from seglake.lake.tables import BATCHES
from seglake.segment_codec.codec import CODECS
from seglake.segment_codec.control_record import ControlType
from seglake.segment_codec.message_set import CODEC_MASK, MessageRun, Wrapper
from seglake.segment_codec.offset_order import Unit
from seglake.segment_codec.record_batch import RecordBatch
from seglake.segment_codec.transactions import TransactionState

_CODEC_NAMES = tuple(codec.name.lower() for codec in CODECS)


class BatchState(StrEnum):
    """What was done with a batch."""

    DECODED = "decoded"
    CONTROL = "control"
    EMPTY = "empty"
    ABORTED = "aborted"


class BatchOutcome(NamedTuple):
    """What the decoder adds to a batch's own header.

    `first_offset` and `last_offset` are of what of it is taken: less than its own where the log
    start, or the end of a range, lies inside it. An old wrapper's header does not tell its records.
    """

    unit: Unit
    state: BatchState
    transaction_state: TransactionState
    control_type: ControlType | None
    first_offset: int
    last_offset: int
    record_count: int
    row_count: int
    uncompressed_bytes: int | None


class Place(NamedTuple):
    """Where a batch was found, and whose it is."""

    source_id: str
    topic_id: str | None
    partition: int
    broker_id: int | None
    segment: str
    origin_position: int  # of the file that was read, in its segment
    run_id: str


def batch_row(outcome: BatchOutcome, place: Place) -> tuple[Any, ...]:
    """The row's values in the order of the file's columns."""
    unit = outcome.unit
    header = _batch_fields(unit) if isinstance(unit, RecordBatch) else _legacy_fields(unit)
    (
        timestamp_type,
        base_timestamp_ms,
        max_timestamp_ms,
        delete_horizon_ms,
        epoch,
        producer_id,
        producer_epoch,
        base_sequence,
        is_transactional,
        is_control,
        crc,
    ) = header
    return (
        place.source_id,
        place.topic_id,
        place.partition,
        outcome.first_offset,
        outcome.last_offset,
        outcome.record_count,
        outcome.row_count,
        unit.magic,
        _codec_name(unit),
        unit.size_bytes,
        outcome.uncompressed_bytes,
        timestamp_type,
        base_timestamp_ms,
        max_timestamp_ms,
        delete_horizon_ms,
        epoch,
        producer_id,
        producer_epoch,
        base_sequence,
        is_transactional,
        is_control,
        outcome.control_type,
        outcome.transaction_state,
        crc,
        place.broker_id,
        place.segment,
        place.origin_position + unit.position,
        outcome.state,
        place.run_id,
    )


def _batch_fields(batch: RecordBatch) -> tuple[Any, ...]:
    header = batch.header
    base_ms: int | None = header.base_timestamp_ms
    horizon_ms: int | None = None
    if header.has_delete_horizon:
        base_ms, horizon_ms = None, base_ms
    return (
        int(header.is_log_append_time),
        base_ms,
        header.max_timestamp_ms,
        horizon_ms,
        _known(header.partition_leader_epoch),
        _known(header.producer_id),
        _known(header.producer_epoch),
        _known(header.base_sequence),
        header.is_transactional,
        header.is_control,
        header.crc,
    )


def _legacy_fields(unit: Wrapper | MessageRun) -> tuple[Any, ...]:
    time_ms = unit.timestamp_ms if isinstance(unit, Wrapper) else unit.max_timestamp_ms
    kind = -1 if unit.magic == 0 else int(unit.is_log_append_time)
    return (kind, None, time_ms, None, None, None, None, None, False, False, unit.crc)


def _codec_name(unit: Unit) -> str | None:
    """None for an id that Kafka has not given out, as a batch may have that is not decoded."""
    match unit:
        case RecordBatch():
            codec_id = unit.header.codec_id
        case Wrapper():
            codec_id = unit.attributes & CODEC_MASK
        case _:
            codec_id = 0
    return _CODEC_NAMES[codec_id] if codec_id < len(_CODEC_NAMES) else None


def _known(value: int) -> int | None:
    """Kafka writes -1 for what a batch does not have."""
    return None if value == -1 else value


def batches_table(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    """The collected rows as Arrow."""
    schema = BATCHES.file_schema
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
