"""Messages of magic 0 and 1, alone or in wrappers, as written by brokers up to 0.10.2.

Layout, in bytes from the first byte of the message, integers big-endian::

     0  offset         i64  not in the checksum; in a wrapper, the offset of its last message
     8  message_size   i32  bytes after this field, 14 at least
    12  crc            u32  CRC-32 of the bytes from 16 to the end
    16  magic          i8   0 or 1
    17  attributes     i8   codec 0-2, timestamp type 3 (magic 1)
    18  timestamp_ms   i64  magic 1 only; in magic 0 later fields are 8 bytes earlier
    26  key_length     i32  negative: no key
    30  key, value_length i32 (negative: no value), value

A message with a codec is a wrapper: its value is a compressed sequence of ordinary messages. In a
wrapper of magic 0 their offsets are absolute, in magic 1 they are relative to the last one. Kafka's
reader ignores the wrapper's offset in magic 0, and an offset of 0 in magic 1. The walk
(`offset_places`) ignores it too, if the inner offsets fit the neighbouring batches.

Source: apache/kafka 1eb7644, LegacyRecord.java, AbstractLegacyRecordBatch.java.
"""

import struct
from dataclasses import dataclass

from seglake.segment_codec.formats.checksum import crc32
from seglake.segment_codec.formats.codec import Codec
from seglake.segment_codec.formats.compression import decompress
from seglake.segment_codec.formats.errors import DefectCode, DefectError, malformed

PREFIX = struct.Struct(">qiIbb")
PREFIX_BYTES = PREFIX.size
CRC_START = struct.calcsize(">qi")
CHECKSUM_START = struct.calcsize(">qiI")
SIZE_STOP = struct.calcsize(">qi")
SMALLEST_SIZE = 14
TIMESTAMP = struct.Struct(">q")
LENGTH = struct.Struct(">i")
LONG_MESSAGE_BYTES = 64 << 10  # messages above this size are verified one by one
RUN_BYTES = 4 << 20  # most bytes of a run; each run is one row of `batches`

CODEC_MASK = 0x07
LOG_APPEND_TIME = 0x08


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A compressed message with a valid checksum; `value` is a view of the compressed messages.

    The first offset is unknown until the value is decompressed, so `first_offset` is `last_offset`.

    Attributes:
        timestamp_ms: timestamp of the wrapper, in ms since 1970; None in magic 0.
        part: bytes [start, stop) of the decompressed messages that this object includes; None for
            all of them.
        false_offset: offset in the header, if the inner messages prove another `last_offset`; else
            None.
        follows: end of the previous batch, if the inner messages certainly begin at this offset and
            their last message is unreadable.
    """

    position: int
    size_bytes: int
    magic: int
    last_offset: int
    crc: int
    attributes: int
    timestamp_ms: int | None
    value: memoryview | None
    part: tuple[int, int] | None = None
    false_offset: int | None = None
    follows: int | None = None

    @property
    def first_offset(self) -> int:
        """Return the last offset, since the first one is unknown before decompression."""
        return self.last_offset

    @property
    def is_log_append_time(self) -> bool:
        """Return whether the timestamp is the broker's append time; False in magic 0."""
        return self.magic == 1 and self.attributes & LOG_APPEND_TIME != 0

    @property
    def is_resolved(self) -> bool:
        """Return whether inner messages or neighbours show that the header's offset is wrong."""
        return self.false_offset is not None or self.follows is not None

    @property
    def append_time_ms(self) -> int | None:
        """Return the append time of all inner messages; None if each has its own timestamp."""
        return self.timestamp_ms if self.is_log_append_time else None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRun:
    """Consecutive valid, uncompressed messages of one magic and timestamp type; offsets rise.

    `crc` is the checksum of the first message; `data` is a view of all messages.
    """

    position: int
    size_bytes: int
    magic: int
    first_offset: int
    last_offset: int
    crc: int
    attributes: int
    message_count: int
    max_timestamp_ms: int | None
    data: memoryview

    @property
    def is_log_append_time(self) -> bool:
        """Return whether timestamps are the broker's append times; False in magic 0."""
        return self.magic == 1 and self.attributes & LOG_APPEND_TIME != 0


def wrapped_messages(wrapper: Wrapper, max_bytes: int) -> bytes | memoryview:
    """Decompress a wrapper's messages, or only its `part`.

    Args:
        wrapper: the wrapper.
        max_bytes: highest accepted size of all messages of the wrapper.

    Raises:
        DefectError: unsupported_codec (zstd was never legal in this format), decompression_failed,
            decompression_limit, or malformed_record if the wrapper is empty.
    """
    codec_id = wrapper.attributes & CODEC_MASK
    if codec_id >= Codec.ZSTD:
        raise DefectError(
            DefectCode.UNSUPPORTED_CODEC,
            f"codec id {codec_id} is invalid in magic {wrapper.magic}",
        )
    if wrapper.value is None:
        raise malformed("the wrapper has no value")
    messages = decompress(Codec(codec_id), wrapper.value, magic=wrapper.magic, max_bytes=max_bytes)
    if not len(messages):
        raise malformed("the wrapper has no messages")
    return messages if wrapper.part is None else messages[slice(*wrapper.part)]


def timestamp_of(message: memoryview, magic: int) -> int | None:
    """Return the timestamp in a message's header, in ms since 1970; None in magic 0."""
    return int(TIMESTAMP.unpack_from(message, PREFIX_BYTES)[0]) if magic else None


def single_message(position: int, head: memoryview, data: memoryview) -> MessageRun:
    """Return a run of one message.

    Args:
        position: position of the message in the segment.
        head: at least the bytes of the message's header.
        data: all bytes of the message; empty if only the header's fields are needed.
    """
    offset, size, crc, magic, attributes = PREFIX.unpack_from(head)
    return MessageRun(
        position=position,
        size_bytes=SIZE_STOP + size,
        magic=magic,
        first_offset=offset,
        last_offset=offset,
        crc=crc,
        attributes=attributes,
        message_count=1,
        max_timestamp_ms=timestamp_of(head, magic),
        data=data,
    )


def body(message: memoryview, magic: int) -> tuple[memoryview | None, memoryview | None]:
    """Return key and value of a message.

    Raises:
        DefectError: key and value do not fill the message exactly.
    """
    key, position = _bytes_field(message, PREFIX_BYTES + (TIMESTAMP.size if magic else 0))
    value, position = _bytes_field(message, position)
    if position != len(message):
        raise malformed(f"key and value end at byte {position} of a message of {len(message)}")
    return key, value


def message_checksum(
    magic: int, key: bytes | None, value: bytes | None, timestamp_ms: int, *, is_append_time: bool
) -> int:
    """Return the CRC-32 that the header of an uncompressed message must have.

    Args:
        magic: 0 or 1.
        key: the key; None for null.
        value: the value; None for null.
        timestamp_ms: the timestamp in ms since 1970; ignored for magic 0.
        is_append_time: whether the timestamp is the broker's append time; ignored for magic 0.
    """
    attributes = LOG_APPEND_TIME if magic == 1 and is_append_time else 0
    start = struct.pack(">bb", magic, attributes) + TIMESTAMP.pack(timestamp_ms) * magic
    return crc32(start + _stored(key) + _stored(value))


def _stored(content: bytes | None) -> bytes:
    """Encode a key or value as in a message: an i32 with its length, then the content."""
    return LENGTH.pack(-1) if content is None else LENGTH.pack(len(content)) + content


def _bytes_field(message: memoryview, position: int) -> tuple[memoryview | None, int]:
    """Return the key or value (None for null) at a position, and the position after it."""
    start = position + LENGTH.size
    if start > len(message):
        raise malformed("a message ends inside a length")
    (length,) = LENGTH.unpack_from(message, position)
    if length < 0:
        return None, start
    if length > len(message) - start:
        raise malformed(f"a field of {length} bytes in the {len(message) - start} that remain")
    return message[start : start + length], start + length
