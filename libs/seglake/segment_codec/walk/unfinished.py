"""Recognises unfinished batches at the end of a log, by their headers.

A broker appends a batch from its first byte on. So a file may end within a batch, and only a part
of its last batches may be on the disk. Such bytes begin with a header whose fields are plausible,
as far as they are in the file. All other bytes at the end are damage.
"""

from typing import NamedTuple

from seglake.segment_codec.formats import message_set, record_batch
from seglake.segment_codec.formats.codec import Codec
from seglake.segment_codec.formats.record_batch import CODEC_MASK, LENGTH_STOP, BatchHeader
from seglake.segment_codec.formats.units import PREFIX, PREFIX_BYTES, smallest_length
from seglake.segment_codec.walk.window import Window
from seglake.segment_codec.walk.zero_bytes import ZeroEnd

_MOST_FILE_BYTES = (1 << 31) - 1  # a segment's size is an int32 in brokers
_INT16, _INT32, _INT64 = ((1 << bits) - 1 for bits in (15, 31, 63))
_KNOWN_ATTRIBUTES = 0x7F  # attribute bits that Kafka has defined for magic 2
_MOST_RECORDS = 1 << 24  # most records that are plausible
_NONE = -1  # Kafka's value for a missing epoch, time, producer or sequence


class HeaderClaims(NamedTuple):
    """Header of an unfinished batch; fields after the end of the file are None.

    Attributes:
        size_bytes: size of the whole batch.
        last_offset: last offset; also None if the header ends before it.
    """

    size_bytes: int | None = None
    base_offset: int | None = None
    last_offset: int | None = None
    record_count: int | None = None
    magic: int | None = None
    codec_id: int | None = None

    @property
    def next_offset(self) -> int | None:
        """Return the lowest possible exclusive end of the batch's offsets."""
        last = self.base_offset if self.last_offset is None else self.last_offset
        return None if last is None else last + 1

    def believed_end(self, expected_offset: int) -> int | None:
        """Return the exclusive end of the batch's offsets if its header is plausible, else None.

        No checksum can be verified. A plausible batch begins at the end of the log, has one record
        for each offset, and no more records than a producer may send.

        Args:
            expected_offset: exclusive end of the log before the batch.
        """
        end = self.next_offset
        if end is None or self.base_offset is None:
            return None
        is_wrapper = (
            self.magic in (0, 1) and self.codec_id != Codec.NONE
        )  # a wrapper's header has the last offset of the wrapper
        start = expected_offset if is_wrapper else self.base_offset
        count = end - start
        has_all = self.record_count in (None, count)
        is_next = start == expected_offset and has_all and 0 < count <= _MOST_RECORDS
        return end if is_next else None


class UnfinishedEnd:
    """Recognizer of unfinished batches at the end of a log's last segment."""

    def __init__(self, window: Window, limit_offset: int) -> None:
        """Start a walk.

        Args:
            window: bytes of the file.
            limit_offset: exclusive upper limit of the segment's offsets.
        """
        self._window = window
        self._zeros = ZeroEnd(window, window.size_bytes)
        self._limit_offset = limit_offset
        self._walked: frozenset[int] = frozenset()
        self._is_walked_to_end = False

    def claims(self, position: int, low_offset: int) -> HeaderClaims | None:
        """Return the header at a position; None if no unfinished batch can have this header.

        Args:
            position: position of the header.
            low_offset: lowest offset that the batch may have.
        """
        left = self._window.size_bytes - position
        length = min(left, record_batch.HEADER_BYTES)
        head = bytes(self._window.beside(position, length).view(position, length))
        most_bytes = _MOST_FILE_BYTES - position - LENGTH_STOP
        is_begun = (
            _fits(head, 0, 8, (low_offset, self._limit_offset - 1))
            and _fits(head, 8, 4, (message_set.SMALLEST_SIZE, most_bytes))
            and _fits(head, 16, 1, (0, 2))
        )
        if not is_begun:
            return None
        if length < PREFIX_BYTES:
            return HeaderClaims(base_offset=_offset_of(head))
        offset, size_bytes, _, magic = PREFIX.unpack_from(head)
        if size_bytes < smallest_length(magic):
            return None
        if magic == 2:
            return self._batch_claims(head, offset, size_bytes)
        return _message_claims(head, offset, size_bytes, magic)

    def reaches_end(self, position: int, low_offset: int) -> bool:
        """Return whether only unfinished batches and zeros follow, up to the end.

        The result of one call holds for all batches that it passes, so many calls take time linear
        in the number of batches.

        Args:
            position: position of a batch.
            low_offset: lowest offset that the batch may have.
        """
        if position not in self._walked:
            self._is_walked_to_end, self._walked = self._walk(position, low_offset)
        return self._is_walked_to_end

    def _walk(self, position: int, low_offset: int) -> tuple[bool, frozenset[int]]:
        """Follow the headers' sizes; return whether this reaches the end, and all positions."""
        walked: set[int] = set()
        while not self._zeros.has(position):
            walked.add(position)
            claims = self.claims(position, low_offset)
            if claims is None:
                return False, frozenset(walked)
            if claims.size_bytes is None or claims.base_offset is None:
                break
            position += claims.size_bytes
            low_offset = claims.base_offset + 1
            if position >= self._window.size_bytes:
                break
        return True, frozenset(walked)

    def _batch_claims(self, head: bytes, offset: int, length: int) -> HeaderClaims | None:
        """Parse a header of magic 2; return None if a field is implausible."""
        most_delta = self._limit_offset - 1 - offset
        codec_id = head[22] & CODEC_MASK if len(head) > 22 else None
        can_be = (
            _fits(head, 12, 4, (_NONE, _INT32))  # leader epoch
            and _fits(head, 21, 2, (0, _KNOWN_ATTRIBUTES))
            and (codec_id is None or codec_id <= Codec.ZSTD)
            and _fits(head, 23, 4, (0, most_delta))
            and _fits(head, 27, 8, (_NONE, _INT64))  # times
            and _fits(head, 35, 8, (_NONE, _INT64))
            and _fits(head, 43, 8, (_NONE, _INT64))  # producer id, epoch, sequence
            and _fits(head, 51, 2, (_NONE, _INT16))
            and _fits(head, 53, 4, (_NONE, _INT32))
        )
        size_bytes = LENGTH_STOP + length
        if not can_be:
            return None
        if len(head) < record_batch.HEADER_BYTES:
            return HeaderClaims(size_bytes, offset, magic=2, codec_id=codec_id)
        header = BatchHeader._make(record_batch.HEADER.unpack(head))
        most_records = header.last_offset_delta + 1
        if header.codec_id == Codec.NONE:
            room = length - record_batch.SMALLEST_LENGTH
            most_records = min(most_records, room // record_batch.SMALLEST_RECORD_BYTES)
        if not 0 <= header.record_count <= most_records:
            return None
        last_offset, count = header.last_offset, header.record_count
        return HeaderClaims(size_bytes, offset, last_offset, count, 2, codec_id)


def _message_claims(head: bytes, offset: int, length: int, magic: int) -> HeaderClaims | None:
    """Parse a header of magic 0 or 1; return None if a field is implausible."""
    time_bytes = magic * message_set.TIMESTAMP.size
    most_key_bytes = length - message_set.SMALLEST_SIZE - time_bytes
    attributes = head[17] if len(head) > 17 else 0
    known = CODEC_MASK | (message_set.LOG_APPEND_TIME if magic else 0)
    codec_id = attributes & CODEC_MASK
    can_be = (
        attributes & ~known == 0
        and codec_id <= Codec.LZ4
        and _fits(head, 18, time_bytes, (_NONE, _INT64))
        and _fits(head, 18 + time_bytes, 4, (_NONE, most_key_bytes))
    )
    if not can_be:
        return None
    return HeaderClaims(LENGTH_STOP + length, offset, offset, None, magic, codec_id)


def _offset_of(head: bytes) -> int | None:
    """Return the offset field of a header; None if the field is cut off."""
    return int.from_bytes(head[:8], signed=True) if len(head) >= 8 else None


def _fits(head: bytes, start: int, size: int, bounds: tuple[int, int]) -> bool:
    """Return whether a field, which may be cut off, can have a value within the bounds."""
    there = head[start : start + size]
    if not there:
        return True
    rest = size - len(there)
    least = int.from_bytes(there + b"\x00" * rest, signed=True)
    most = int.from_bytes(there + b"\xff" * rest, signed=True)
    return least <= bounds[1] and most >= bounds[0]
