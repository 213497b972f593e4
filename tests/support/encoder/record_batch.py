"""Record batches of magic 2.

Layout, in bytes from the first byte of the batch, integers big-endian::

     0  base_offset         i64
     8  batch_length        i32  bytes after this field
    12  leader_epoch        i32
    16  magic               i8   2
    17  crc                 u32  CRC-32C of bytes [21, end)
    21  attributes          i16  codec 0-2, append time 3, transactional 4, control 5, horizon 6
    23  last_offset_delta   i32
    27  base_timestamp      i64  the delete horizon when attribute bit 6 is set
    35  max_timestamp       i64
    43  producer_id         i64
    51  producer_epoch      i16
    53  base_sequence       i32
    57  record_count        i32
    61  records             compressed as one when there is a codec
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

import crc32c

from support.encoder.compression import Codec, SnappyLayout, compressed
from support.encoder.record import EncodedBatch, Record, offsets_of
from support.encoder.varint import varint

_PREFIX = struct.Struct(">qiibI")
_CHECKED = struct.Struct(">hiqqqhii")
_CHECKSUM_POSITION = 17
_LENGTH_STARTS_AFTER = 12
_NULL = varint(-1)
CHECKSUM_START = _PREFIX.size
MAGIC = 2

_APPEND_TIME = 1 << 3
_TRANSACTIONAL = 1 << 4
_CONTROL = 1 << 5
_DELETE_HORIZON = 1 << 6


@dataclass(frozen=True, slots=True)
class Producer:
    """Who wrote a batch; all -1 without idempotence."""

    id: int = -1
    epoch: int = -1
    base_sequence: int = -1


NO_PRODUCER = Producer()


@dataclass(frozen=True, slots=True)
class Header:
    """The fields of a header beside base offset and codec. Nothing is checked: tests lie.

    None stands for what Kafka would write for the records of the batch.
    """

    leader_epoch: int = 0
    producer: Producer = NO_PRODUCER
    is_transactional: bool = False
    is_control: bool = False
    log_append_time_ms: int | None = None
    delete_horizon_ms: int | None = None
    last_offset_delta: int | None = None
    base_timestamp_ms: int | None = None
    max_timestamp_ms: int | None = None
    record_count: int | None = None
    extra_attributes: int = 0


PLAIN_HEADER = Header()


def record_batch(
    base_offset: int,
    records: Sequence[Record],
    header: Header = PLAIN_HEADER,
    *,
    codec: Codec = Codec.NONE,
    snappy_layout: SnappyLayout = SnappyLayout.XERIAL,
) -> EncodedBatch:
    """Encode records as one batch.

    Deltas of timestamps are against the delete horizon when there is one, else against the first
    record's timestamp. With `log_append_time_ms` the deltas stay those of the records and the
    header's maximum is the append time, as a broker leaves it. No records: a batch the cleaner
    kept; give its last_offset_delta and max_timestamp_ms.
    """
    offsets = offsets_of(records, base_offset)
    whole = _with_what_kafka_would_write(header, records, offsets, base_offset)
    base_timestamp_ms = whole.base_timestamp_ms
    if base_timestamp_ms is None:
        raise ValueError("a header made for records has a base timestamp")
    payload = b"".join(
        [
            record_bytes(record, offset - base_offset, record.timestamp_ms - base_timestamp_ms)
            for record, offset in zip(records, offsets, strict=True)
        ]
    )
    # A batch without records is stored plain, whatever it was before the cleaner emptied it.
    used = codec if records else Codec.NONE
    stored = compressed(payload, used, snappy_layout=snappy_layout)
    return payload_batch(base_offset, stored, whole, codec=used)


def payload_batch(
    base_offset: int, payload: bytes, header: Header, *, codec: Codec | int = Codec.NONE
) -> EncodedBatch:
    """Put a header with a right checksum before any bytes.

    The bytes are stored as they are: compress them first. Fields of the header that are None
    become 0, timestamps -1.
    """
    last_offset_delta = header.last_offset_delta or 0
    base_timestamp_ms = -1 if header.base_timestamp_ms is None else header.base_timestamp_ms
    max_timestamp_ms = -1 if header.max_timestamp_ms is None else header.max_timestamp_ms
    checked = _CHECKED.pack(
        _attributes(header, codec),
        last_offset_delta,
        base_timestamp_ms,
        max_timestamp_ms,
        header.producer.id,
        header.producer.epoch,
        header.producer.base_sequence,
        header.record_count or 0,
    )
    crc = crc32c.crc32c(payload, crc32c.crc32c(checked))
    length_bytes = CHECKSUM_START + len(checked) + len(payload) - _LENGTH_STARTS_AFTER
    prefix = _PREFIX.pack(base_offset, length_bytes, header.leader_epoch, MAGIC, crc)
    data = prefix + checked + payload
    return EncodedBatch(data, base_offset, base_offset + last_offset_delta, max_timestamp_ms)


def record_bytes(record: Record, offset_delta: int, timestamp_delta_ms: int) -> bytes:
    """Encode one record with its length before it."""
    key, value, _, headers, _ = record
    parts = [
        b"\0",
        varint(timestamp_delta_ms),
        varint(offset_delta),
        _NULL if key is None else varint(len(key)) + key,
        _NULL if value is None else varint(len(value)) + value,
        varint(len(headers)),
    ]
    for name, content in headers:
        name_bytes = name.encode() if isinstance(name, str) else name
        parts += [varint(len(name_bytes)), name_bytes]
        parts.append(_NULL if content is None else varint(len(content)) + content)
    body = b"".join(parts)
    return varint(len(body)) + body


def with_right_checksum(data: bytes) -> bytes:
    """Return a batch whose bytes from the attributes on were changed, with the right checksum."""
    changed = bytearray(data)
    crc = crc32c.crc32c(bytes(changed[CHECKSUM_START:]))
    struct.pack_into(">I", changed, _CHECKSUM_POSITION, crc)
    return bytes(changed)


def _with_what_kafka_would_write(
    header: Header, records: Sequence[Record], offsets: Sequence[int], base_offset: int
) -> Header:
    """Fill the fields that are None and are made from the records."""
    base_timestamp_ms = header.base_timestamp_ms
    if header.delete_horizon_ms is not None:
        base_timestamp_ms = header.delete_horizon_ms
    elif base_timestamp_ms is None:
        base_timestamp_ms = records[0].timestamp_ms if records else -1
    max_timestamp_ms = header.max_timestamp_ms
    if max_timestamp_ms is None:
        max_timestamp_ms = header.log_append_time_ms
    if max_timestamp_ms is None:
        max_timestamp_ms = max((record.timestamp_ms for record in records), default=-1)
    last_offset_delta = header.last_offset_delta
    if last_offset_delta is None:
        last_offset_delta = offsets[-1] - base_offset if offsets else 0
    count = len(records) if header.record_count is None else header.record_count
    return replace(
        header,
        base_timestamp_ms=base_timestamp_ms,
        max_timestamp_ms=max_timestamp_ms,
        last_offset_delta=last_offset_delta,
        record_count=count,
    )


def _attributes(header: Header, codec: int) -> int:
    attributes = int(codec) | header.extra_attributes
    if header.log_append_time_ms is not None:
        attributes |= _APPEND_TIME
    if header.is_transactional:
        attributes |= _TRANSACTIONAL
    if header.is_control:
        attributes |= _CONTROL
    if header.delete_horizon_ms is not None:
        attributes |= _DELETE_HORIZON
    return attributes
