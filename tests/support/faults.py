"""Small batches with one fault each, and the codes that a walk and the decoders give for it."""

from seglake.segment_codec.formats.defects import Defect, Tail
from seglake.segment_codec.formats.errors import DefectCode, DefectError
from seglake.segment_codec.walk.segment import Item
from support.decoders import by_both
from support.encoder import Codec, EncodedBatch, Record, record_batch


def batch(offset: int, count: int = 2, codec: Codec = Codec.NONE) -> EncodedBatch:
    return record_batch(
        offset, [Record(b"k", b"some text %d" % i) for i in range(count)], codec=codec
    )


def bad_crc(part: EncodedBatch) -> EncodedBatch:
    return _changed(part, len(part.data) - 3, b"\xfe\xfe")


def with_magic(part: EncodedBatch, magic: int) -> EncodedBatch:
    return _changed(part, 16, bytes([magic]))


def with_offset(part: EncodedBatch, offset: int) -> EncodedBatch:
    return _changed(part, 0, offset.to_bytes(8, "big", signed=True))


def with_length(part: EncodedBatch, length: int) -> EncodedBatch:
    return _changed(part, 8, length.to_bytes(4, "big", signed=True))


def codes(items: list[Item], max_bytes: int) -> list[DefectCode]:
    """The defects in the order of the bytes, those that only decoding finds among them."""
    found = []
    for item in items:
        if isinstance(item, Defect):
            found.append(item.code)
        elif not isinstance(item, Tail):
            outcome = by_both(item, max_bytes if item.position else 1 << 20)
            if isinstance(outcome, DefectError):
                found.append(outcome.code)
    return found


def _changed(part: EncodedBatch, position: int, content: bytes) -> EncodedBatch:
    end = position + len(content)
    return part._replace(data=part.data[:position] + content + part.data[end:])
