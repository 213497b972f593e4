"""Checksum of a plain message of magic 0 or 1, from its fields. Pure.

What it covers, big-endian::

    magic        i8
    attributes   i8    bit 3: log append time
    timestamp    i64   magic 1 only
    key          i32 length, -1 for null, and bytes
    value        i32 length, -1 for null, and bytes

Source: apache/kafka 1eb7644, org.apache.kafka.common.record.LegacyRecord.
"""

import struct

from seglake.segment_codec._checksum import crc32

_START = (struct.Struct(">bb"), struct.Struct(">bbq"))
_LENGTH = struct.Struct(">i")
_NULL = _LENGTH.pack(-1)
_LOG_APPEND_TIME = 1 << 3


def message_checksum(
    magic: int, key: bytes | None, value: bytes | None, timestamp_ms: int, *, is_append_time: bool
) -> int:
    """Return the CRC-32 in the header of an uncompressed message.

    Args:
        timestamp_ms: ignored with magic 0.
    """
    attributes = _LOG_APPEND_TIME if magic == 1 and is_append_time else 0
    fields = (magic, attributes, timestamp_ms)[: 2 + magic]
    return crc32(_START[magic].pack(*fields) + _field(key) + _field(value))


def _field(content: bytes | None) -> bytes:
    return _NULL if content is None else _LENGTH.pack(len(content)) + content
