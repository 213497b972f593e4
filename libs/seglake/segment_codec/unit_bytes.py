"""The decompressed bytes of a unit."""

from seglake.segment_codec.message_set import MessageRun, Wrapper, wrapped_messages
from seglake.segment_codec.offset_order import Unit
from seglake.segment_codec.record_batch import RecordBatch, plain_records


def plain_bytes(unit: Unit, max_bytes: int) -> bytes | memoryview:
    """Decompress a unit.

    Raises:
        DefectError: it cannot be decompressed, or has more bytes than that.
    """
    match unit:
        case RecordBatch():
            return plain_records(unit, max_bytes)
        case Wrapper():
            return wrapped_messages(unit, max_bytes)
        case MessageRun():
            return unit.data
        case _:
            raise TypeError(f"no unit of a log: {unit!r}")
