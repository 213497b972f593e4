"""A batch as the columns of `batches`, from a sound unit or from what a damaged header claims."""

from typing import NamedTuple

from seglake.pipelines.segment_inspect.findings import BatchFound, Origin, RecordFound
from seglake.pipelines.segment_inspect.verdicts import Sound
from seglake.segment_codec import message_set, record_batch
from seglake.segment_codec.codec import Codec
from seglake.segment_codec.message_set import Wrapper
from seglake.segment_codec.offset_order import Unit
from seglake.segment_codec.record import Record
from seglake.segment_codec.record_batch import BatchHeader, RecordBatch
from seglake.segment_codec.segment import PREFIX, PREFIX_BYTES
from seglake.segment_codec.window import ByteSource, Window

_CODEC_NAMES = {int(codec): codec.name.lower() for codec in Codec}
_HEADER_READ_BYTES = 128  # enough for a header of either format


class _Fields(NamedTuple):
    """What the header of either format gives."""

    magic: int
    codec: str | None
    timestamp_type: int
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


def sound_batch(sound: Sound, origin: Origin, segment: str) -> BatchFound:
    """A batch whose checksum holds and whose records can be decoded."""
    unit = sound.unit
    fields = _unit_fields(unit)
    return _found(
        fields,
        origin,
        segment,
        position=unit.position,
        size_bytes=unit.size_bytes,
        base_offset=sound.first_offset,
        last_offset=unit.last_offset,
        record_count=sound.record_count,
        uncompressed_bytes=sound.plain_bytes,
        control_type=sound.control_type,
        valid=True,
    )


def claimed_batch(
    source: ByteSource, position: int, size_bytes: int, origin: Origin, segment: str
) -> BatchFound | None:
    """What the header of a damaged batch claims; None where no whole batch may lie.

    Nothing of it is proved, only that a batch of the claimed length fits into these bytes.
    """
    if size_bytes <= PREFIX_BYTES:
        return None
    window = Window(source, _HEADER_READ_BYTES)
    offset, length, _, magic = PREFIX.unpack_from(window.view(position, PREFIX_BYTES))
    claimed_bytes = record_batch.LENGTH_STOP + length
    smallest = record_batch.SMALLEST_LENGTH if magic == 2 else message_set.SMALLEST_SIZE
    if magic not in (0, 1, 2) or length < smallest or claimed_bytes > size_bytes:
        return None
    base_offset: int | None = offset
    record_count: int | None = None
    last_offset = offset
    if magic == 2:
        head = window.view(position, record_batch.HEADER_BYTES)
        header = BatchHeader._make(record_batch.HEADER.unpack_from(head))
        fields = _batch_fields(header)
        last_offset, record_count = header.last_offset, header.record_count
    else:
        fields = _message_fields(window, position, magic)
        if fields.codec == Codec.NONE.name.lower():
            record_count = 1
        else:
            base_offset = None
    return _found(
        fields,
        origin,
        segment,
        position=position,
        size_bytes=claimed_bytes,
        base_offset=base_offset,
        last_offset=last_offset,
        record_count=record_count,
        uncompressed_bytes=None,
        control_type=None,
        valid=False,
    )


def record_facts(record: Record, unit: Unit, origin: Origin) -> RecordFound:
    """A record of a sound batch."""
    return RecordFound(
        origin.topic,
        origin.partition,
        record.offset,
        record.timestamp_ms,
        _timestamp_type(unit),
        record.key,
        record.value,
        record.headers,
    )


def codec_name(codec_id: int | None) -> str | None:
    """The codec's name; None for ids that Kafka has not given out."""
    return None if codec_id is None else _CODEC_NAMES.get(codec_id)


def _timestamp_type(unit: Unit) -> int:
    """Kafka's number: 0 create, 1 log append, -1 none."""
    if isinstance(unit, RecordBatch):
        return int(unit.header.is_log_append_time)
    return -1 if unit.magic == 0 else int(unit.is_log_append_time)


def _unit_fields(unit: Unit) -> _Fields:
    if isinstance(unit, RecordBatch):
        return _batch_fields(unit.header)
    time_ms = unit.timestamp_ms if isinstance(unit, Wrapper) else unit.max_timestamp_ms
    return _legacy_fields(
        unit.magic,
        unit.attributes & message_set.CODEC_MASK,
        _timestamp_type(unit),
        time_ms,
        unit.crc,
    )


def _batch_fields(header: BatchHeader) -> _Fields:
    base_ms: int | None = header.base_timestamp_ms
    horizon_ms: int | None = None
    if header.has_delete_horizon:
        base_ms, horizon_ms = None, base_ms
    return _Fields(
        magic=header.magic,
        codec=codec_name(header.codec_id),
        timestamp_type=int(header.is_log_append_time),
        base_timestamp_ms=base_ms,
        max_timestamp_ms=header.max_timestamp_ms,
        delete_horizon_ms=horizon_ms,
        leader_epoch=_known(header.partition_leader_epoch),
        producer_id=_known(header.producer_id),
        producer_epoch=_known(header.producer_epoch),
        base_sequence=_known(header.base_sequence),
        is_transactional=header.is_transactional,
        is_control=header.is_control,
        crc=header.crc,
    )


def _message_fields(window: Window, position: int, magic: int) -> _Fields:
    head = window.view(position, message_set.PREFIX_BYTES + magic * message_set.TIMESTAMP.size)
    _, _, crc, _, attributes = message_set.PREFIX.unpack_from(head)
    time_ms: int | None = None
    timestamp_type = -1
    if magic == 1:
        (time_ms,) = message_set.TIMESTAMP.unpack_from(head, message_set.PREFIX_BYTES)
        timestamp_type = int(attributes & message_set.LOG_APPEND_TIME != 0)
    return _legacy_fields(magic, attributes & message_set.CODEC_MASK, timestamp_type, time_ms, crc)


def _legacy_fields(
    magic: int, codec_id: int, timestamp_type: int, time_ms: int | None, crc: int
) -> _Fields:
    return _Fields(
        magic=magic,
        codec=codec_name(codec_id),
        timestamp_type=timestamp_type,
        base_timestamp_ms=None,
        max_timestamp_ms=time_ms,
        delete_horizon_ms=None,
        leader_epoch=None,
        producer_id=None,
        producer_epoch=None,
        base_sequence=None,
        is_transactional=False,
        is_control=False,
        crc=crc,
    )


def _found(
    fields: _Fields,
    origin: Origin,
    segment: str,
    *,
    position: int,
    size_bytes: int,
    base_offset: int | None,
    last_offset: int,
    record_count: int | None,
    uncompressed_bytes: int | None,
    control_type: str | None,
    valid: bool,
) -> BatchFound:
    return BatchFound(
        **fields._asdict(),
        source_id=origin.source_id,
        topic_id=origin.topic_id,
        topic=origin.topic,
        partition=origin.partition,
        broker_id=origin.broker_id,
        segment=segment,
        position=position,
        size_bytes=size_bytes,
        base_offset=base_offset,
        last_offset=last_offset,
        record_count=record_count,
        uncompressed_bytes=uncompressed_bytes,
        control_type=control_type,
        valid=valid,
    )


def _known(value: int) -> int | None:
    """Kafka writes -1 for what a batch does not have."""
    return None if value == -1 else value
