"""Messages of magic 0 and 1, plain and in compressed wrappers.

Layout, in bytes from the first byte of the message, integers big-endian; both formats, the
second without the timestamp in magic 0::

     0  offset        i64
     8  size          i32  bytes after this field
    12  crc           u32  CRC-32 of bytes [16, end)
    16  magic         i8
    17  attributes    i8   codec 0-2, append time 3 (magic 1)
    18  timestamp     i64  magic 1 only
        key length    i32  -1 for null
        key
        value length  i32  -1 for null
        value              the compressed messages when there is a codec
"""

import struct
import zlib
from collections.abc import Sequence

from support.encoder.compression import Codec, SnappyLayout, compressed
from support.encoder.record import EncodedBatch, Record, offsets_of

_PREFIX = struct.Struct(">qiI")
_START = (struct.Struct(">bb"), struct.Struct(">bbq"))
_LENGTH = struct.Struct(">i")
_CRC_BYTES = 4
_APPEND_TIME = 1 << 3
_NULL = _LENGTH.pack(-1)
_NO_TIMESTAMP = -1


def message(
    offset: int, record: Record, magic: int, *, log_append_time_ms: int | None = None
) -> EncodedBatch:
    """One message that is not compressed, as it lies in a segment."""
    attributes = 0
    if log_append_time_ms is not None:
        attributes = _APPEND_TIME
        record = record._replace(timestamp_ms=log_append_time_ms)
    data = message_bytes(offset, record, magic, attributes)
    return EncodedBatch(data, offset, offset, _NO_TIMESTAMP if magic == 0 else record.timestamp_ms)


def messages(
    base_offset: int,
    records: Sequence[Record],
    magic: int,
    *,
    log_append_time_ms: int | None = None,
) -> list[EncodedBatch]:
    """Several plain messages, one after the other."""
    return [
        message(offset, record, magic, log_append_time_ms=log_append_time_ms)
        for record, offset in zip(records, offsets_of(records, base_offset), strict=True)
    ]


def wrapper(
    base_offset: int,
    records: Sequence[Record],
    magic: int,
    codec: Codec,
    *,
    log_append_time_ms: int | None = None,
    snappy_layout: SnappyLayout = SnappyLayout.XERIAL,
    inner_magic: int | None = None,
) -> EncodedBatch:
    """A message whose value is the other messages, compressed.

    Its offset is the last record's. Inner offsets are absolute in magic 0, relative to
    `base_offset` in magic 1. Magic 0 writes lz4 with the header checksum its readers expect, the
    broken one. `inner_magic` is for the mixtures an old cleaner left.
    """
    offsets = offsets_of(records, base_offset)
    first_inner = 0 if magic == 0 else base_offset
    content = b"".join(
        [
            message_bytes(
                offset - first_inner, record, magic if inner_magic is None else inner_magic
            )
            for record, offset in zip(records, offsets, strict=True)
        ]
    )
    max_timestamp_ms = max(record.timestamp_ms for record in records)
    if log_append_time_ms is not None:
        max_timestamp_ms = log_append_time_ms
    stored = compressed(
        content, codec, snappy_layout=snappy_layout, lz4_header_is_broken=magic == 0
    )
    batch = payload_wrapper(
        offsets[-1],
        stored,
        magic,
        codec,
        timestamp_ms=max_timestamp_ms,
        is_append_time=log_append_time_ms is not None,
    )
    return batch._replace(base_offset=base_offset)


def payload_wrapper(
    offset: int,
    payload: bytes | None,
    magic: int,
    codec: Codec | int,
    *,
    timestamp_ms: int = 0,
    is_append_time: bool = False,
) -> EncodedBatch:
    """A wrapper around any bytes: compress them first. None: the null value no wrapper may have."""
    attributes = int(codec) | (_APPEND_TIME if is_append_time else 0)
    data = message_bytes(offset, Record(None, payload, timestamp_ms), magic, attributes)
    return EncodedBatch(data, offset, offset, _NO_TIMESTAMP if magic == 0 else timestamp_ms)


def message_bytes(offset: int, record: Record, magic: int, attributes: int = 0) -> bytes:
    """Encode one message, plain or inner or wrapper; headers of the record are left out."""
    if magic == 0:
        start = _START[0].pack(magic, attributes)
    else:
        start = _START[1].pack(magic, attributes, record.timestamp_ms)
    key, value = record.key, record.value
    body = b"".join(
        [
            start,
            _NULL if key is None else _LENGTH.pack(len(key)) + key,
            _NULL if value is None else _LENGTH.pack(len(value)) + value,
        ]
    )
    return _PREFIX.pack(offset, _CRC_BYTES + len(body), zlib.crc32(body)) + body


def with_right_message_checksum(data: bytes) -> bytes:
    """Return a message whose bytes from the magic on were changed, with the right checksum."""
    body = data[_PREFIX.size :]
    return data[: _PREFIX.size - _CRC_BYTES] + struct.pack(">I", zlib.crc32(body)) + body
