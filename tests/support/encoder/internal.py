"""Bytes of records of internal topics, field by field, as Kafka's message formats have them."""

import struct
import uuid
from collections.abc import Mapping, Sequence


def int8(number: int) -> bytes:
    return struct.pack(">b", number)


def int16(number: int) -> bytes:
    return struct.pack(">h", number)


def int32(number: int) -> bytes:
    return struct.pack(">i", number)


def int64(number: int) -> bytes:
    return struct.pack(">q", number)


def uvarint(number: int) -> bytes:
    """Seven bits a byte, the lowest first."""
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def string(text: str | bytes | None) -> bytes:
    """A string or bytes with a length of 16 bits, before the flexible versions."""
    if text is None:
        return int16(-1)
    content = text.encode() if isinstance(text, str) else text
    return int16(len(content)) + content


def long_bytes(content: bytes) -> bytes:
    """Bytes with a length of 32 bits, before the flexible versions."""
    return int32(len(content)) + content


def compact(text: str | bytes | None) -> bytes:
    """A string or bytes in a flexible version."""
    if text is None:
        return uvarint(0)
    content = text.encode() if isinstance(text, str) else text
    return uvarint(len(content) + 1) + content


def array(elements: Sequence[bytes]) -> bytes:
    """An array before the flexible versions."""
    return int32(len(elements)) + b"".join(elements)


def compact_array(elements: Sequence[bytes]) -> bytes:
    """An array in a flexible version."""
    return uvarint(len(elements) + 1) + b"".join(elements)


def tagged(fields: Mapping[int, bytes] | None = None) -> bytes:
    """The tagged fields that end each struct of a flexible version."""
    parts = [uvarint(tag) + uvarint(len(data)) + data for tag, data in (fields or {}).items()]
    return uvarint(len(parts)) + b"".join(parts)


def offset_key(group: str, topic: str, partition: int, key_type: int = 1) -> bytes:
    """The key of an offset commit."""
    return int16(key_type) + string(group) + string(topic) + int32(partition)


def offset_value(offset: int, time_ms: int, metadata: str = "") -> bytes:
    """The value of an offset commit, version 3, of a client that tells no epoch."""
    return int16(3) + int64(offset) + int32(-1) + string(metadata) + int64(time_ms)


def metadata_value(type_id: int, version: int, *fields: bytes) -> bytes:
    """A record of the metadata log."""
    return uvarint(1) + uvarint(type_id) + uvarint(version) + b"".join(fields)


def topic_value(name: str, topic_id: uuid.UUID) -> bytes:
    """A record that gives a topic its id."""
    return metadata_value(2, 0, compact(name), topic_id.bytes, tagged())


def config_value(resource_type: int, resource_name: str, name: str, value: str | None) -> bytes:
    """A record that sets a config."""
    return metadata_value(
        4, 0, int8(resource_type), compact(resource_name), compact(name), compact(value), tagged()
    )
