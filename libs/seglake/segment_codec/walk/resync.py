"""Finding the next batch after bytes that do not say how long they are.

A forward scan looks for something like a header, and the checksum decides. A value may itself hold
whole batches (a topic of backups, a tool's test data), so a match must also lead on: the chain of
valid batches that begins with it has to touch a known batch start, or to reach the end of the file
or a header that continues the offsets.
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
_MOST_VAIN_STOPS = 1 << 14  # some 6 microseconds each


class _Search(NamedTuple):
    """What is known of the positions from `start` on: the first that leads on, and its offset."""

    start: int
    low_offset: int
    found: int | None
    offset: int = 0


class Resync:
    """Finds the next valid batch of one segment.

    Args:
        stop: a batch start or the end of the file; nothing beyond it is read.
        limit_offset: offsets from here on cannot be in the segment.
        anchors: returns positions that may be batch starts; one counts only if a valid batch
            begins there.
    """

    def __init__(
        self,
        window: Window,
        stop: int,
        limit_offset: int,
        anchors: Callable[[], tuple[int, ...]],
    ) -> None:
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
        """The first position from `start` on where the log continues, or None.

        Time is linear in the bytes searched: a result holds for every later start before it, so a
        series of damaged batches is searched once. It holds for higher offsets, too: what did not
        lead on for lower ones does not for them.

        Args:
            low_offset: the batch found has no lower offset.
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
        """Where a batch of a false length ends, if its checksum holds up to a header in it.

        No checksum covers a length. One that is too large by chance ends where a batch begins, and
        hides those in front of that. The nearest headers are always tried. Those farther away are
        tried until this search has tried too many in vain, from wherever it began: each of a
        thousand batches may claim to reach over all behind it.
        """
        stop = min(position + size_bytes + record_batch.HEADER_BYTES, self._stop)
        for index, candidate in enumerate(self._candidates(position + 1, stop, 0)):
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
        """Whether the file ends here, is zero from here on, or continues with a plausible header.

        Args:
            may_be_cut: the batch may be longer than the file, as in the last segment.
        """
        left = self._window.size_bytes - position
        if left < PREFIX_BYTES:
            return left == 0 or may_be_cut or self._zero_end.has(position)
        offset, length, _, magic = PREFIX.unpack_from(self._seen(position, PREFIX_BYTES))
        if 0 <= magic <= 2 and length >= smallest_length(magic) and offset >= 0:
            return may_be_cut or length <= left - record_batch.LENGTH_STOP
        return length == 0 and self._zero_end.has(position)

    def is_valid(self, position: int, low_offset: int) -> bool:
        """Whether a batch or message whose checksum holds begins here."""
        return self._verified(position, low_offset) is not None

    def _search(self, start: int, low_offset: int, may_be_old: bool) -> int | None:
        if self._anchors is None:
            self._anchors = frozenset(self._load_anchors())
        seen: set[int] = set()
        for candidate in self._candidates(start, self._stop, low_offset):
            if candidate in seen:
                continue
            if self._leads_on(candidate, low_offset, seen, may_be_old):
                return candidate
        return None

    def _may_be_old(self, damaged: int) -> bool:
        """Whether what is damaged may be an old message; its magic byte may be damaged too."""
        if damaged < 0 or self._stop - damaged < PREFIX_BYTES:
            return True
        return int(self._seen(damaged, PREFIX_BYTES)[PREFIX_BYTES - 1]) != 2

    def _candidates(self, start: int, stop: int, low_offset: int) -> Iterator[int]:
        """What looks like a header, with 61 bytes of it before `stop` or that at the file's end."""
        from seglake.segment_codec.kernels import message_kernels  # numba: 0.2 s

        piece_start = start
        while stop - piece_start >= PREFIX_BYTES:
            least = min(record_batch.HEADER_BYTES, stop - piece_start)
            most = min(_PIECE_BYTES, stop - piece_start)
            piece = self._window.buffered(piece_start, least, most)
            data = np.frombuffer(piece, np.uint8)
            left = self._stop - piece_start
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
        """Whether valid batches lead from here to where the log continues."""
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
        """Where a value that begins here would end, by what would then be its length field.

        An int32 in the old formats, a varint of some bytes in magic 2. The log may well continue
        after a value: it is the last field of an old message, and nearly the last of a new one,
        which ends with a count of headers and so never at the end of the file.
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
        left = self._stop - position
        if left < _OFFSET.size:
            return left == 0
        (offset,) = _OFFSET.unpack(self._seen(position, _OFFSET.size))
        is_next = low_offset <= offset < self._limit_offset
        if left < PREFIX_BYTES:
            return bool(is_next)
        _, length, _, magic = PREFIX.unpack_from(self._seen(position, PREFIX_BYTES))
        if is_next and 0 <= magic <= 2:
            # An impossible length is damaged, or no length at all: then the offset must fit.
            return bool(length >= smallest_length(magic) or offset == low_offset)
        return length == 0 and self._zero_stop.has(position)

    def _verified(self, position: int, low_offset: int) -> tuple[int, int] | None:
        """Size and end offset of the batch at `position`, if its checksum holds."""
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
        """A view of bytes that a walk need not be at; its window stays where it is."""
        return self._window.beside(position, length).view(position, length)
