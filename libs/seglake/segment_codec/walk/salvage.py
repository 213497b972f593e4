"""Decodes a batch with a wrong checksum, if its structure is intact.

The structure is intact if the bytes can be decompressed, the lengths fill them exactly, the number
of records is the one in the header, and their offsets rise within the header's range. The usual
decoder is used. It verifies the checksums of messages inside a compressed set, so it gets a copy of
the set with corrected checksums; the result shows which of them were valid.

The records cannot be trusted, because any byte of them may be wrong.
"""

import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seglake.segment_codec.formats import message_set, record_batch
from seglake.segment_codec.formats.checksum import crc32
from seglake.segment_codec.formats.errors import DefectCode, DefectError, malformed
from seglake.segment_codec.formats.flipped_bit import FlippedBit, flipped_bit
from seglake.segment_codec.formats.message_set import MessageRun, Wrapper, wrapped_messages
from seglake.segment_codec.formats.record_batch import BatchHeader, RecordBatch
from seglake.segment_codec.formats.units import HIGHEST_OFFSET, Unit
from seglake.segment_codec.kernels.columns import LOWEST_OFFSET, ColumnBuilder
from seglake.segment_codec.kernels.flush import Columns
from seglake.segment_codec.kernels.outcomes import UnitOutcome

CHECKSUM_FIELD = "crc"
_MAGIC_PLACE = record_batch.CRC_START - 1  # all formats have the magic here
_CODEC_BITS = range(3)
_CONTROL_BIT = 5
# Bits of magic and attributes that change how the bytes are parsed.
_MISREAD_MESSAGE = frozenset(
    [FlippedBit(_MAGIC_PLACE, bit) for bit in range(8)]
    + [FlippedBit(_MAGIC_PLACE + 1, bit) for bit in _CODEC_BITS]
)
_MISREAD_BATCH = frozenset(
    FlippedBit(record_batch.CHECKSUM_START + 1, bit) for bit in (*_CODEC_BITS, _CONTROL_BIT)
)
# These bits, for magic 0, 1 and 2.
_MISREAD = (_MISREAD_MESSAGE, _MISREAD_MESSAGE, _MISREAD_BATCH)
_CRC = struct.Struct(">I")


_FIELD_STOPS = tuple(
    (struct.calcsize(record_batch.HEADER.format[: place + 2]), name)
    for place, name in enumerate(BatchHeader._fields)
)


class WholeBatch(NamedTuple):
    """Records of a damaged batch with an intact structure.

    Attributes:
        flipped: the single bit whose flip makes the checksum valid; None if there is none.
        timestamp_type: Kafka's number; -1 for magic 0.
        has_right_checksum: for each message of a compressed set, whether its own checksum is valid;
            None for other batches, whose records have no checksums.
    """

    columns: Columns
    flipped: FlippedBit | None
    base_offset: int
    timestamp_type: int
    is_transactional: bool
    has_right_checksum: NDArray[np.bool_] | None


def whole_batch(content: bytes, max_bytes: int, *, inner_offset: int | None = None) -> WholeBatch:
    """Decode a batch, a compressed set or a message whose checksum is wrong.

    Args:
        content: all bytes of the batch, set or message.
        max_bytes: highest accepted size of the uncompressed records.
        inner_offset: absolute offset of a message from a set; the offset in the message may be
            relative.

    Raises:
        DefectError: the structure is not intact, or there are no records, as in a marker.
    """
    magic = content[_MAGIC_PLACE] if len(content) > _MAGIC_PLACE else -1
    if magic == 2:
        batch = _record_batch(content, max_bytes)
    elif magic in (0, 1):
        batch = _message(content, max_bytes, inner_offset)
    else:
        raise DefectError(DefectCode.UNSUPPORTED_MAGIC, f"magic {magic} in {len(content)} bytes")
    if batch.flipped in _MISREAD[magic]:
        raise malformed("the flipped bit decides how the bytes are parsed")
    return batch


def holds_no_record(content: bytes) -> bool:
    """Return whether a batch has no user records: it is a control batch, or has no records."""
    if content[_MAGIC_PLACE] != 2:
        return False
    header = BatchHeader._make(record_batch.HEADER.unpack_from(content))
    return header.is_control or header.record_count == 0


def header_field(content: bytes, position: int) -> str | None:
    """Return the name of the header field at a byte of the batch; None if it is not in the header.

    Of the old formats, only the checksum has a name.
    """
    if content[_MAGIC_PLACE] == 2:
        return next((name for stop, name in _FIELD_STOPS if position < stop), None)
    checksum = range(message_set.CRC_START, message_set.CHECKSUM_START)
    return CHECKSUM_FIELD if position in checksum else None


def _record_batch(content: bytes, max_bytes: int) -> WholeBatch:
    """Decode a damaged batch of magic 2."""
    if len(content) < record_batch.HEADER_BYTES:
        raise malformed(f"{len(content)} bytes are too few for a batch")
    header = BatchHeader._make(record_batch.HEADER.unpack_from(content))
    if header.batch_length != len(content) - record_batch.LENGTH_STOP:
        raise malformed(
            f"the header says {header.batch_length}, the batch has {len(content)} bytes"
        )
    if header.is_control:
        raise malformed("a control batch has no user records")
    if header.record_count < 1 or header.last_offset_delta < 0 or header.base_offset < 0:
        raise malformed(
            f"{header.record_count} records, last offset delta {header.last_offset_delta}"
        )
    payload = memoryview(content)[record_batch.HEADER_BYTES :]
    columns = _columns(RecordBatch(0, len(content), header, payload), max_bytes)
    offsets = columns.offsets
    if len(offsets) != header.record_count:
        raise malformed(f"{len(offsets)} of {header.record_count} records have an offset")
    if offsets[0] < header.base_offset or offsets[-1] > header.last_offset:
        raise malformed(f"offsets {offsets[0]} to {offsets[-1]}")
    return WholeBatch(
        columns=columns,
        flipped=flipped_bit(content),
        base_offset=header.base_offset,
        timestamp_type=int(header.is_log_append_time),
        is_transactional=header.is_transactional,
        has_right_checksum=None,
    )


def _message(content: bytes, max_bytes: int, inner_offset: int | None) -> WholeBatch:
    """Decode a damaged message, or a damaged compressed set, of magic 0 or 1."""
    if len(content) < message_set.PREFIX_BYTES:
        raise malformed(f"a message of {len(content)} bytes")
    offset, size, _, magic, attributes = message_set.PREFIX.unpack_from(content)
    if size != len(content) - message_set.SIZE_STOP:
        raise malformed(f"a size of {size} in a message of {len(content)} bytes")
    if magic == 1 and len(content) < message_set.PREFIX_BYTES + message_set.TIMESTAMP.size:
        raise malformed(f"a message of {len(content)} bytes")
    is_set = attributes & message_set.CODEC_MASK != 0 and inner_offset is None
    unit: Wrapper | MessageRun
    has_right_checksum: NDArray[np.bool_] | None
    if is_set:
        unit, has_right_checksum = _set(memoryview(content), max_bytes)
    else:
        restored, has_right_checksum = _with_right_checksums(content)[0], None
        unit = message_set.single_message(0, memoryview(content), restored)
    columns = _columns(unit, max_bytes)
    if inner_offset is not None:
        columns = columns._replace(offsets=np.full(1, inner_offset, np.int64))
    if is_set and columns.offsets[-1] != offset:
        raise malformed(f"the set states offset {offset}, its last message has another")
    return WholeBatch(
        columns=columns,
        flipped=flipped_bit(content),
        base_offset=int(columns.offsets[0]),
        timestamp_type=-1 if magic == 0 else int(unit.is_log_append_time),
        is_transactional=False,
        has_right_checksum=has_right_checksum,
    )


def _set(content: memoryview, max_bytes: int) -> tuple[Wrapper, NDArray[np.bool_]]:
    """Decompress a set, correct its checksums, and return which of them were valid."""
    offset, _, crc, magic, attributes = message_set.PREFIX.unpack_from(content)
    timestamp_ms = message_set.timestamp_of(content, magic)
    value = message_set.body(content, magic)[1]
    found = Wrapper(0, len(content), magic, offset, crc, attributes, timestamp_ms, value)
    restored, has_right_checksum = _with_right_checksums(wrapped_messages(found, max_bytes))
    plain = attributes & ~message_set.CODEC_MASK
    unit = Wrapper(0, len(content), magic, offset, crc, plain, timestamp_ms, restored)
    return unit, has_right_checksum


def _with_right_checksums(
    messages: bytes | memoryview,
) -> tuple[memoryview, NDArray[np.bool_]]:
    """Return a copy of messages with corrected checksums, and whether each was valid before."""
    restored = bytearray(messages)
    was_right = bytearray()
    position = 0
    while position < len(restored):
        start = position + message_set.CHECKSUM_START
        if len(restored) - position < message_set.PREFIX_BYTES:
            raise malformed("the last message of a set is truncated")
        _, size, crc, _, _ = message_set.PREFIX.unpack_from(restored, position)
        stop = position + message_set.SIZE_STOP + size
        if size < message_set.SMALLEST_SIZE or stop > len(restored):
            raise malformed(f"a message of size {size} in a set")
        computed = crc32(memoryview(restored)[start:stop], 0)
        was_right.append(computed == crc)
        _CRC.pack_into(restored, position + message_set.CRC_START, computed)
        position = stop
    return memoryview(restored).toreadonly(), np.frombuffer(was_right, np.bool_)


def _columns(unit: Unit, max_bytes: int) -> Columns:
    """Decode a unit to columns; raise DefectError if it is damaged or has no records."""
    builder = ColumnBuilder(max_bytes)
    builder.add(unit, LOWEST_OFFSET, HIGHEST_OFFSET)
    columns, (outcome,) = builder.flush()
    if not isinstance(outcome, UnitOutcome):
        raise malformed("the structure of a message in the set is damaged")
    if outcome.fault is not None:
        raise DefectError(*outcome.fault)
    if not len(columns.offsets):
        raise malformed("there are no records")
    return columns
