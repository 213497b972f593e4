"""Parses the header at the start of damaged bytes, without trusting its fields."""

from seglake.segment_codec.formats import message_set, record_batch
from seglake.segment_codec.formats.message_set import Wrapper
from seglake.segment_codec.formats.record_batch import BatchHeader, RecordBatch
from seglake.segment_codec.formats.units import PREFIX, PREFIX_BYTES, Unit, smallest_length
from seglake.segment_codec.walk.window import ByteSource, Window

_HEADER_READ_BYTES = 128  # enough for a header of either format
_NO_BYTES = memoryview(b"")


def claimed_unit(source: ByteSource, position: int, size_bytes: int) -> Unit | None:
    """Return the batch or message that a header describes, without its payload.

    Only the length is checked: it must fit. All other fields may be wrong.

    Args:
        source: bytes of the file.
        position: position of the header.
        size_bytes: number of damaged bytes from `position` on.

    Returns:
        The batch or message; None if its length does not fit into these bytes.
    """
    if size_bytes <= PREFIX_BYTES:
        return None
    window = Window(source, _HEADER_READ_BYTES)
    _, length, _, magic = PREFIX.unpack_from(window.view(position, PREFIX_BYTES))
    claimed_bytes = record_batch.LENGTH_STOP + length
    if magic not in (0, 1, 2) or length < smallest_length(magic) or claimed_bytes > size_bytes:
        return None
    if magic == 2:
        head = window.view(position, record_batch.HEADER_BYTES)
        header = BatchHeader._make(record_batch.HEADER.unpack_from(head))
        return RecordBatch(position, claimed_bytes, header, _NO_BYTES)
    head = window.view(position, message_set.PREFIX_BYTES + magic * message_set.TIMESTAMP.size)
    offset, _, crc, _, attributes = message_set.PREFIX.unpack_from(head)
    if not attributes & message_set.CODEC_MASK:
        return message_set.single_message(position, head, _NO_BYTES)
    time_ms = message_set.timestamp_of(head, magic)
    return Wrapper(position, claimed_bytes, magic, offset, crc, attributes, time_ms, None)
