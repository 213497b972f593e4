"""Wrappers of magic 0 and 1 whose messages are damaged or contradict them; their checksums hold."""

import struct
import zlib
from collections.abc import Sequence
from typing import NamedTuple

from support.encoder import Codec, EncodedBatch, Record, payload_wrapper
from support.encoder.compression import compressed
from support.encoder.message_set import message_bytes

FIRST_MS = 1000
_SIZE, _MAGIC = 8, 16


def inner(offset: int, magic: int, number: int, attributes: int = 0) -> bytes:
    """A message of record `number`, with the offset that it has inside of its wrapper."""
    return message_bytes(
        offset, Record(b"k", value_of(number), FIRST_MS + number), magic, attributes
    )


def value_of(number: int) -> bytes:
    return b"value %d" % number


def wrapped(
    last_offset: int,
    messages: Sequence[bytes],
    magic: int,
    *,
    codec: Codec = Codec.GZIP,
    append_time_ms: int | None = None,
    timestamp_ms: int = 0,
) -> EncodedBatch:
    """A wrapper around messages as they are."""
    return payload_wrapper(
        last_offset,
        compressed(b"".join(messages), codec),
        magic,
        codec,
        timestamp_ms=timestamp_ms if append_time_ms is None else append_time_ms,
        is_append_time=append_time_ms is not None,
    )


def sound_set(start: int, stop: int, magic: int) -> list[bytes]:
    """The messages of offsets [start, stop), as they lie in a wrapper."""
    first = start if magic == 0 else 0
    return [inner(first + index, magic, start + index) for index in range(stop - start)]


def with_bad_crc(message: bytes) -> bytes:
    return message[:-1] + bytes([message[-1] ^ 1])


def with_size(message: bytes, size: int) -> bytes:
    return message[:_SIZE] + struct.pack(">i", size) + message[_SIZE + 4 :]


def with_magic(message: bytes, magic: int) -> bytes:
    return _with_right_crc(message[:_MAGIC] + struct.pack(">b", magic) + message[_MAGIC + 1 :])


def with_length(message: bytes, field: int, length: int) -> bytes:
    """The message with another length of its key (0) or its value (1)."""
    place = _MAGIC + 2 + 8 * message[_MAGIC] + field * 5
    return _with_right_crc(message[:place] + struct.pack(">i", length) + message[place + 4 :])


def _with_right_crc(message: bytes) -> bytes:
    return message[:12] + struct.pack(">I", zlib.crc32(message[_MAGIC:])) + message[_MAGIC:]


class Bad(NamedTuple):
    """A message that cannot be decoded, made of a sound one, and how it is quarantined."""

    message: bytes
    code: str
    text: str


def bad_messages(message: bytes) -> dict[str, Bad]:
    """Every way in which a message can be damaged; its key has one byte."""
    offset = int.from_bytes(message[:8], "big")
    magic = message[_MAGIC]
    nested = message_bytes(offset, Record(None, compressed(message, Codec.GZIP)), magic, 1)
    return {
        "crc": Bad(with_bad_crc(message), "inner_crc_mismatch", "fails its checksum"),
        "magic": Bad(with_magic(message, 5), "malformed_record", "magic above 1"),
        "negative magic": Bad(with_magic(message, -1), "malformed_record", "magic above 1"),
        "size too large": Bad(with_size(message, 1 << 30), "malformed_record", "is truncated"),
        "size too small": Bad(with_size(message, 3), "malformed_record", "size is too small"),
        "negative size": Bad(with_size(message, -1), "malformed_record", "size is too small"),
        "size of a part": Bad(with_size(message, 20), "", ""),
        "key too long": Bad(with_length(message, 0, 500), "malformed_record", "do not fill"),
        "value too long": Bad(with_length(message, 1, 500), "malformed_record", "do not fill"),
        "value too short": Bad(with_length(message, 1, 1), "malformed_record", "do not fill"),
        "nested": Bad(nested, "nested_wrapper", "itself a wrapper"),
    }
