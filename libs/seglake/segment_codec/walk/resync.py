"""Finds the next batch after damaged bytes of unknown length.

A forward scan finds bytes that look like a header, and then verifies the checksum. A value may
itself contain whole batches, for example in a topic of backups. So the chain of valid batches from
a match must also reach a known batch start, the end of the file, or a header that continues the
offsets.
"""

import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from seglake.segment_codec.formats import record_batch
from seglake.segment_codec.formats.units import PREFIX, PREFIX_BYTES, smallest_length
from seglake.segment_codec.formats.varints import read_varint
from seglake.segment_codec.walk.batch_checksums import BatchChecksums
from seglake.segment_codec.walk.window import Window
from seglake.segment_codec.walk.zero_bytes import ZeroEnd

_OFFSET = struct.Struct(">q")
_PIECE_BYTES = 1 << 20
_NEAR_STOPS = 16
# Failed tries after which far headers are skipped; each takes some 6 microseconds.
_MOST_VAIN_STOPS = 1 << 14


class _Search(NamedTuple):
    """Last search: its start, and the first position from there at which the log continues."""

    start: int
    low_offset: int
    found: int | None
    offset: int = 0


class Resync:
    """Finder of the next valid batch in a segment."""

    def __init__(
        self,
        window: Window,
        stop: int,
        limit_offset: int,
        anchors: Callable[[], tuple[int, ...]],
    ) -> None:
        """Start a walk.

        Args:
            window: bytes of the file.
            stop: a batch start or the end of the file; nothing after it is read.
            limit_offset: exclusive upper limit of the segment's offsets.
            anchors: returns positions that may be batch starts; a position is used only if a valid
                batch begins there.
        """
        self._window = window
        self.checksums = BatchChecksums(window)
        self._zero_stop = ZeroEnd(window, stop)
        self._zero_end = ZeroEnd(window, window.size_bytes)
        self._stop = stop
        self._limit_offset = limit_offset
        self._load_anchors = anchors
        self._anchors: frozenset[int] | None = None
        self._last = {may_be_old: _Search(0, 0, 0) for may_be_old in (False, True)}
        self._vain_stops = 0

    def next_valid(self, start: int, low_offset: int) -> int | None:
        """Return the first position from `start` at which the log continues; None if there is none.

        The last result is kept, so a series of damaged batches is searched only once. It is also
        valid for a higher `low_offset`, because a position that was rejected would be rejected
        again.

        Args:
            start: first position to search.
            low_offset: lowest offset that a batch at this position may have.
        """
        may_be_old = self._may_be_old(start - 1)
        last, begin = self._last[may_be_old], start
        if last.start <= start and last.low_offset <= low_offset:
            if last.found is None:
                return None
            if start <= last.found:
                if low_offset <= last.offset:
                    return last.found
                begin = last.found + 1
        found = self._search(begin, low_offset, may_be_old)
        offset = 0
        if found is not None:
            (offset,) = _OFFSET.unpack(self._seen(found, _OFFSET.size))
        self._last[may_be_old] = _Search(start, low_offset, found, offset)
        return found

    def proved_stop(self, position: int, size_bytes: int, magic: int, expected: int) -> int | None:
        """Return the true end of a batch whose length is too large, if its checksum proves one.

        No checksum covers the length. A wrong length may by chance end at the start of another
        batch and hide the batches before it. Each header within the length may be the true end. The
        nearest headers are always tried. Farther headers are tried until too many tries have
        failed, since each of a thousand batches may have a length that spans all later ones.

        Args:
            position: position of the batch.
            size_bytes: size of the batch by its length field.
            magic: magic of the batch.
            expected: checksum in the batch's header.

        Returns:
            The position of the header at the true end; None if none is proved.
        """
        stop = min(position + size_bytes + record_batch.HEADER_BYTES, self._stop)
        # A shorter batch would have no bytes for the checksum, and the checksum of no bytes is 0.
        start = position + record_batch.LENGTH_STOP + smallest_length(magic)
        for index, candidate in enumerate(
            self._candidates(start, stop, 0, self._window.size_bytes)
        ):
            found = candidate - position
            if found >= size_bytes:
                return None
            if self.checksums.of(position, found, magic) == expected:
                return candidate
            self._vain_stops += 1
            if index >= _NEAR_STOPS and self._vain_stops > _MOST_VAIN_STOPS:
                return None
        return None

    def may_continue_at(self, position: int, *, may_be_cut: bool) -> bool:
        """Return whether a batch may end at a position: a header, zeros or the file's end follow.

        Args:
            position: position after a batch.
            may_be_cut: whether the next batch may be truncated, as in the last segment.
        """
        left = self._window.size_bytes - position
        if left < PREFIX_BYTES:
            return left == 0 or may_be_cut or self._zero_end.has(position)
        offset, length, _, magic = PREFIX.unpack_from(self._seen(position, PREFIX_BYTES))
        if 0 <= magic <= 2 and length >= smallest_length(magic) and offset >= 0:
            return may_be_cut or length <= left - record_batch.LENGTH_STOP
        return length == 0 and self._zero_end.has(position)

    def is_valid(self, position: int, low_offset: int) -> bool:
        """Return whether a batch or message with a valid checksum begins at a position."""
        return self._verified(position, low_offset) is not None

    def _search(self, start: int, low_offset: int, may_be_old: bool) -> int | None:
        """Search for the first position from `start` at which the log continues."""
        if self._anchors is None:
            self._anchors = frozenset(self._load_anchors())
        seen: set[int] = set()
        for candidate in self._candidates(start, self._stop, low_offset, self._stop):
            if candidate in seen:
                continue
            if self._leads_on(candidate, low_offset, seen, may_be_old):
                return candidate
        return None

    def _may_be_old(self, damaged: int) -> bool:
        """Return whether damaged bytes may be a message of magic 0 or 1, by their magic."""
        if damaged < 0 or self._stop - damaged < PREFIX_BYTES:
            return True
        return int(self._seen(damaged, PREFIX_BYTES)[PREFIX_BYTES - 1]) != 2

    def _candidates(self, start: int, stop: int, low_offset: int, end: int) -> Iterator[int]:
        """Yield positions in [start, stop) of possible headers of batches that end by `end`.

        A header has 61 bytes, except at the file's end.
        """
        # imported only when needed, since numba takes 0.2 s
        from seglake.segment_codec.kernels import message_kernels

        piece_start = start
        while stop - piece_start >= PREFIX_BYTES:
            least = min(record_batch.HEADER_BYTES, stop - piece_start)
            most = min(_PIECE_BYTES, stop - piece_start)
            piece = self._window.buffered(piece_start, least, most)
            data = np.frombuffer(piece, np.uint8)
            left = end - piece_start
            place = message_kernels.find_header(data, 0, left, low_offset, self._limit_offset)
            while place >= 0:
                yield piece_start + place
                place = message_kernels.find_header(
                    data, place + 1, left, low_offset, self._limit_offset
                )
            if piece_start + len(piece) == stop:
                return
            piece_start += len(piece) - record_batch.HEADER_BYTES + 1

    def _leads_on(self, start: int, low_offset: int, seen: set[int], may_be_old: bool) -> bool:
        """Return whether valid batches from `start` end where the log continues."""
        anchors = self._anchors or frozenset()
        value_stops: frozenset[int] = frozenset()
        position = start
        while position < self._stop:
            if position in seen:
                return False
            step = self._verified(position, low_offset)
            if step is None:
                break
            seen.add(position)
            if position in anchors:
                return True
            if position == start:
                value_stops = self._value_stops(start, may_be_old)
            size_bytes, low_offset = step
            position += size_bytes
            if position in value_stops:
                return False
        return position != start and self._goes_on(position, low_offset)

    def _value_stops(self, position: int, may_be_old: bool) -> frozenset[int]:
        """Return the possible ends of a value whose length may be the bytes before a position.

        The length is an int32 in the old formats, and a varint in magic 2. The log may continue at
        such an end: a value is the last field of an old message. In magic 2 a count of headers
        follows a value, so a value never ends with the file.
        """
        before = bytes(self._seen(max(0, position - 5), min(5, position)))
        old = int.from_bytes(before[-4:], "big", signed=True) if may_be_old else 0
        new = [
            read_varint(before, len(before) - count, len(before))[0]
            for count in range(2, len(before) + 1)
            if before[-1] < 0x80 and all(byte >= 0x80 for byte in before[-count:-1])
        ]
        stops = {position + length for length in new if length > 0} - {self._stop}
        return frozenset(stops | ({position + old} if old > 0 else set()))

    def _goes_on(self, position: int, low_offset: int) -> bool:
        """Return whether the log plausibly continues at a position after valid batches."""
        left = self._stop - position
        if left < _OFFSET.size:
            return left == 0
        (offset,) = _OFFSET.unpack(self._seen(position, _OFFSET.size))
        is_next = low_offset <= offset < self._limit_offset
        if left < PREFIX_BYTES:
            return bool(is_next)
        _, length, _, magic = PREFIX.unpack_from(self._seen(position, PREFIX_BYTES))
        if is_next and 0 <= magic <= 2:
            # An impossible length shows damage or no header at all: then the offset must fit
            # exactly.
            return bool(length >= smallest_length(magic) or offset == low_offset)
        return length == 0 and self._zero_stop.has(position)

    def _verified(self, position: int, low_offset: int) -> tuple[int, int] | None:
        """Return size and end offset of the batch at a position; None without a valid one."""
        left = self._stop - position
        if left < PREFIX_BYTES:
            return None
        offset, length, crc, magic = PREFIX.unpack_from(self._seen(position, PREFIX_BYTES))
        size_bytes = record_batch.LENGTH_STOP + length
        if not 0 <= magic <= 2 or length < smallest_length(magic) or size_bytes > left:
            return None
        if not low_offset <= offset < self._limit_offset:
            return None
        if magic < 2:
            computed = self.checksums.of(position, size_bytes, magic, is_ahead=True)
            return (size_bytes, offset + 1) if computed == crc else None
        header = record_batch.BatchHeader._make(
            record_batch.HEADER.unpack_from(self._seen(position, record_batch.HEADER_BYTES))
        )
        if header.last_offset_delta < 0:
            return None
        if self.checksums.of(position, size_bytes, magic, is_ahead=True) != header.crc:
            return None
        return size_bytes, header.last_offset + 1

    def _seen(self, position: int, length: int) -> memoryview:
        """Return bytes at any position; the walk's window stays where it is."""
        return self._window.beside(position, length).view(position, length)
