"""Units of a log: a batch (magic 2), or a wrapper or a run of messages (magic 0 and 1).

All formats have offset, length and magic in the same 17 bytes::

     0  offset  i64
     8  length  i32  bytes after this field
    12          4 bytes, different in each format
    16  magic   i8   0 to 2

Source: apache/kafka 1eb7644, Records.java.
"""

import struct

from seglake.segment_codec.formats import message_set, record_batch
from seglake.segment_codec.formats.message_set import MessageRun, Wrapper, wrapped_messages
from seglake.segment_codec.formats.record_batch import RecordBatch, plain_records

Unit = RecordBatch | Wrapper | MessageRun

PREFIX = struct.Struct(">qiIb")
PREFIX_BYTES = PREFIX.size
HIGHEST_OFFSET = (1 << 63) - 1  # exclusive: the offset after a record must fit an int64


def smallest_length(magic: int) -> int:
    """Return the smallest valid length field of a batch or message.

    >>> [smallest_length(magic) for magic in (0, 1, 2)]
    [14, 14, 49]
    """
    return record_batch.SMALLEST_LENGTH if magic == 2 else message_set.SMALLEST_SIZE


def plain_bytes(unit: Unit, max_bytes: int) -> bytes | memoryview:
    """Return the decompressed records or messages of a unit.

    Args:
        unit: the batch, wrapper or run of messages.
        max_bytes: highest accepted size of the result.

    Raises:
        DefectError: the unit cannot be decompressed, or expands to more than `max_bytes`.
    """
    match unit:
        case RecordBatch():
            return plain_records(unit, max_bytes)
        case Wrapper():
            return wrapped_messages(unit, max_bytes)
        case MessageRun():
            return unit.data
        case _:
            raise TypeError(f"not a unit of a log: {unit!r}")
