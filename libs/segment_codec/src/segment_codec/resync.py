"""Finding the way again behind bytes that do not say how long they are.

A forward scan looks for something like a header, and the checksum decides. A value may itself hold
whole batches (a topic of backups, a tool's test data), so a find must also lead on: the chain of
sound batches that begins with it has to reach a place known to be a batch start, or a header that
continues the offsets.
"""

import struct
from collections.abc import Callable, Iterator

import numpy as np

from segment_codec import _message_kernels, message_set, record_batch
from segment_codec._checksum import crc32, crc32c
from segment_codec.window import Window

_PREFIX = struct.Struct(">qiIb")
_PREFIX_BYTES = 17
_PIECE_BYTES = 1 << 20


def is_zero(window: Window, position: int, size_bytes: int) -> bool:
    """Whether all these bytes are zero."""
    stop = position + size_bytes
    while position < stop:
        piece = window.view(position, min(_PIECE_BYTES, stop - position))
        if np.frombuffer(piece, np.uint8).any():
            return False
        position += len(piece)
    return True


def stands_header(window: Window, position: int, *, may_be_cut: bool) -> bool:
    """Whether the file ends here, is zero from here on, or goes on with a header that may be right.

    Args:
        may_be_cut: the batch may be longer than the file, as in the last segment.
    """
    left = window.size_bytes - position
    if left < _PREFIX_BYTES:
        return left == 0 or may_be_cut or is_zero(window, position, left)
    offset, length, _, magic = _PREFIX.unpack_from(window.view(position, _PREFIX_BYTES))
    smallest = record_batch.SMALLEST_LENGTH if magic == 2 else message_set.SMALLEST_SIZE
    if 0 <= magic <= 2 and length >= smallest and offset >= 0:
        return may_be_cut or length <= left - record_batch.LENGTH_STOP
    return length == 0 and is_zero(window, position, left)


class Resync:
    """Finds the next sound batch of one segment.

    Args:
        stop: a batch start or the end of the file; nothing beyond is looked at.
        limit_offset: offsets from here on cannot be in the segment.
        anchors: gives positions that may be batch starts; one counts when a sound batch begins
            there.
    """

    def __init__(
        self,
        window: Window,
        stop: int,
        limit_offset: int,
        anchors: Callable[[], tuple[int, ...]],
    ) -> None:
        self._window = window
        self._stop = stop
        self._limit_offset = limit_offset
        self._load_anchors = anchors
        self._anchors: frozenset[int] | None = None

    def next_sound(self, start: int, low_offset: int) -> int | None:
        """The first position from `start` on where the log goes on, or None.

        Time is linear in the bytes looked at: no batch is proved twice.

        Args:
            low_offset: the batch found has no lower offset.
        """
        if self._anchors is None:
            self._anchors = frozenset(self._load_anchors())
        seen: set[int] = set()
        longest, longest_bytes = None, 0
        for candidate in self._candidates(start, low_offset):
            if candidate in seen:
                continue
            end, leads_on = self._chain(candidate, low_offset, seen, self._anchors)
            if leads_on:
                return candidate
            if end - candidate > longest_bytes:
                longest, longest_bytes = candidate, end - candidate
        return longest

    def _candidates(self, start: int, low_offset: int) -> Iterator[int]:
        piece_start = start
        while self._stop - piece_start >= _PREFIX_BYTES:
            piece = self._window.view(piece_start, min(_PIECE_BYTES, self._stop - piece_start))
            data = np.frombuffer(piece, np.uint8)
            left = self._stop - piece_start
            place = _message_kernels.find_header(data, 0, left, low_offset, self._limit_offset)
            while place >= 0:
                yield piece_start + place
                place = _message_kernels.find_header(
                    data, place + 1, left, low_offset, self._limit_offset
                )
            if len(piece) == left:
                return
            piece_start += len(piece) - record_batch.HEADER_BYTES + 1

    def _chain(
        self, position: int, low_offset: int, seen: set[int], anchors: frozenset[int]
    ) -> tuple[int, bool]:
        """Where the sound batches from `position` on end, and whether the log goes on there."""
        start = position
        while position < self._stop:
            if position in seen:
                return position, False
            step = self._proved(position, low_offset)
            if step is None:
                break
            seen.add(position)
            if position != start and position in anchors:
                return position, True
            size_bytes, low_offset = step
            position += size_bytes
        if position == start:
            return position, False
        return position, self._goes_on(position, low_offset)

    def _goes_on(self, position: int, low_offset: int) -> bool:
        left = self._stop - position
        if left < _PREFIX_BYTES:
            return True
        offset, length, _, magic = _PREFIX.unpack_from(self._window.view(position, _PREFIX_BYTES))
        if 0 <= magic <= 2 and low_offset <= offset < self._limit_offset:
            return True
        return length == 0 and is_zero(self._window, position, left)

    def _proved(self, position: int, low_offset: int) -> tuple[int, int] | None:
        """Size and end offset of the batch at `position`, if its checksum holds."""
        left = self._stop - position
        if left < _PREFIX_BYTES:
            return None
        offset, length, crc, magic = _PREFIX.unpack_from(self._window.view(position, _PREFIX_BYTES))
        smallest = record_batch.SMALLEST_LENGTH if magic == 2 else message_set.SMALLEST_SIZE
        size_bytes = record_batch.LENGTH_STOP + length
        if not 0 <= magic <= 2 or length < smallest or size_bytes > left:
            return None
        if not low_offset <= offset < self._limit_offset:
            return None
        data = self._window.view(position, size_bytes)
        if magic < 2:
            is_sound = crc32(data[message_set.CHECKSUM_START :]) == crc
            return (size_bytes, offset + 1) if is_sound else None
        header = record_batch.BatchHeader._make(record_batch.HEADER.unpack_from(data))
        if (
            crc32c(data[record_batch.CHECKSUM_START :]) != header.crc
            or header.last_offset_delta < 0
        ):
            return None
        return size_bytes, header.last_offset + 1
