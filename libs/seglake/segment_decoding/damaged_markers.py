"""Proves that damaged bytes or missing offsets were transaction markers.

A marker has no record, so a damaged marker loses nothing if its transaction's outcome is known.
"""

from collections.abc import Iterable, Set

from seglake.kafka_log.batch_headers import marker_of
from seglake.kafka_log.transaction_markers import Marker
from seglake.segment_codec.formats import record_batch
from seglake.segment_codec.formats.flipped_bit import flipped_bit, with_flipped
from seglake.segment_codec.formats.record_batch import BatchHeader, RecordBatch

_MAGIC = 2
_MAGIC_PLACE = record_batch.CRC_START - 1
# A marker has 78 bytes. In spans up to this size, random damage hardly ever looks like one flipped
# bit.
_MOST_BYTES = 512
_MOST_OFFSETS = 1000


def is_flipped_marker(content: bytes) -> bool:
    """Return whether damaged bytes are a commit or abort marker with one flipped bit.

    The checksum proves it: other damage passes this test in one of a million cases.
    """
    if not record_batch.HEADER_BYTES < len(content) <= _MOST_BYTES:
        return False
    flipped = flipped_bit(content) if content[_MAGIC_PLACE] == _MAGIC else None
    if flipped is None:
        return False
    sound = with_flipped(content, flipped)
    header = BatchHeader._make(record_batch.HEADER.unpack_from(sound))
    is_whole = header.batch_length == len(sound) - record_batch.LENGTH_STOP
    is_single = (header.record_count, header.last_offset_delta) == (1, 0)
    payload = memoryview(sound)[record_batch.HEADER_BYTES :]
    unit = RecordBatch(0, len(sound), header, payload)
    return is_whole and is_single and marker_of(unit) is not None


def unread_markers(markers: Iterable[Marker]) -> frozenset[int]:
    """Return the offsets of markers that other files or copies prove, but that were not read."""
    return frozenset(each.offset for each in markers if not each.is_read and each.is_placed)


def are_markers(start: int, stop: int, proved: Set[int]) -> bool:
    """Return whether a proved marker exists at every offset in [start, stop)."""
    return stop - start <= _MOST_OFFSETS and all(at in proved for at in range(start, stop))
