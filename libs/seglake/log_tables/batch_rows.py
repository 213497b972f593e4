"""Makes rows of `batches`, one for each valid batch."""

from enum import StrEnum
from typing import Any, NamedTuple

from seglake.kafka_log.transaction_markers import TransactionState
from seglake.log_tables.record_rows import Origin
from seglake.segment_codec.formats.codec import CODECS
from seglake.segment_codec.formats.control_record import ControlType
from seglake.segment_codec.formats.message_set import CODEC_MASK, Wrapper
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.formats.units import Unit

_CODEC_NAMES = tuple(codec.name.lower() for codec in CODECS)


class BatchState(StrEnum):
    """Result of decoding a batch; value of the column `state`."""

    DECODED = "decoded"
    CONTROL = "control"
    EMPTY = "empty"
    ABORTED = "aborted"


BATCH_STATES = tuple(BatchState)


class BatchOutcome(NamedTuple):
    """Result of decoding a batch, with the values for its table row.

    Attributes:
        first_offset: first offset of the ingested part; it is inside the batch if the log start or
            a range's start is.
        last_offset: last offset of the ingested part; it is inside the batch if a range's end is.
        record_count: number of records in the batch.
        row_count: number of rows in `records`.
        uncompressed_bytes: uncompressed size of the records; None if they were not decoded.
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
    """Origin, broker and segment of a batch or of damage, and the run's start time.

    Attributes:
        origin_position: position of the file's first byte in the original segment.
        started_at_us: start of the run, in microseconds since 1970.
    """

    origin: Origin
    broker_id: int | None
    segment: str
    origin_position: int
    started_at_us: int


class HeaderColumns(NamedTuple):
    """Header fields of a batch, in columns of `batches`; None for a field that the format lacks."""

    timestamp_type: int  # Kafka's number: 0 create, 1 log append, -1 none
    base_timestamp_ms: int | None
    max_timestamp_ms: int | None
    delete_horizon_ms: int | None
    leader_epoch: int | None
    producer_id: int | None
    producer_epoch: int | None
    base_sequence: int | None
    is_transactional: bool
    is_control: bool
    crc: int


def batch_row(outcome: BatchOutcome, place: Place) -> tuple[Any, ...]:
    """Return a row of `batches`, in the order of its columns."""
    unit, origin = outcome.unit, place.origin
    header = _header_values(unit)
    return (
        origin.source_id,
        origin.key.topic_id,
        origin.key.partition,
        outcome.first_offset,
        outcome.last_offset,
        outcome.record_count,
        outcome.row_count,
        unit.magic,
        codec_name(unit),
        unit.size_bytes,
        outcome.uncompressed_bytes,
        *header[:-1],
        outcome.control_type,
        outcome.transaction_state,
        header[-1],
        place.broker_id,
        place.segment,
        place.origin_position + unit.position,
        outcome.state,
        origin.run_id,
        origin.generation,
    )


def header_columns(unit: Unit) -> HeaderColumns:
    """Return the header values of a batch, or of a run's first message."""
    return HeaderColumns._make(_header_values(unit))


def _header_values(unit: Unit) -> tuple[Any, ...]:
    """Return the values of a header in the order of `HeaderColumns`."""
    if not isinstance(unit, RecordBatch):
        time_ms = unit.timestamp_ms if isinstance(unit, Wrapper) else unit.max_timestamp_ms
        kind = -1 if unit.magic == 0 else int(unit.is_log_append_time)
        return (kind, None, time_ms, None, None, None, None, None, False, False, unit.crc)
    header = unit.header
    base_ms: int | None = header.base_timestamp_ms
    horizon_ms: int | None = None
    if header.has_delete_horizon:
        base_ms, horizon_ms = None, base_ms
    return (
        int(header.is_log_append_time),
        base_ms,
        header.max_timestamp_ms,
        horizon_ms,
        _known(max(header.partition_leader_epoch, -1)),  # no checksum covers the epoch
        _known(header.producer_id),
        _known(header.producer_epoch),
        _known(header.base_sequence),
        header.is_transactional,
        header.is_control,
        header.crc,
    )


def codec_name(unit: Unit) -> str | None:
    """Return the name of a batch's codec; None for an id that Kafka has not assigned."""
    match unit:
        case RecordBatch():
            codec_id = unit.header.codec_id
        case Wrapper():
            codec_id = unit.attributes & CODEC_MASK
        case _:
            codec_id = 0
    return name_of_codec(codec_id)


def name_of_codec(codec_id: int) -> str | None:
    """Return the name of a codec; None for an id that Kafka has not assigned."""
    return _CODEC_NAMES[codec_id] if codec_id < len(_CODEC_NAMES) else None


def _known(value: int) -> int | None:
    """Return a value; None for -1, which Kafka writes for 'no value'."""
    return None if value == -1 else value
