"""Finds messages of the old formats that lie in order, and can be one unit."""

import numpy as np

from seglake.segment_codec import message_set
from seglake.segment_codec.message_set import MessageRun
from seglake.segment_codec.segment_items import SegmentBounds
from seglake.segment_codec.window import Window

_LOWEST, _HIGHEST = -(1 << 63) + 1, 1 << 62


class MessageRunFinder:
    """Finds the runs of one walk; the arguments are those of `SegmentWalk`."""

    def __init__(
        self, window: Window, bounds: SegmentBounds, stop: int, *, compares_neighbours: bool
    ) -> None:
        self._window = window
        self._bounds = bounds
        self._stop = stop
        self._compares_neighbours = compares_neighbours
        self._found = np.zeros(5, np.int64)  # bytes, messages, first and last offset, newest time

    def run_at(self, position: int, size_bytes: int, low_offset: int) -> MessageRun | None:
        """The run that begins with a message that is not compressed, if it is in order.

        Args:
            size_bytes: of the message.
            low_offset: the end of what was read before.
        """
        head = self._window.view(position, message_set.PREFIX_BYTES)
        offset, _, _, magic, attributes = message_set.PREFIX.unpack_from(head)
        most = min(max(message_set.RUN_BYTES, size_bytes), self._stop - position)
        low, high = low_offset, self._bounds.limit_offset
        if offset < low:  # it came late: the run ends where the order is right again
            low, high = offset, low
        breaks = (stop for stop in self._bounds.run_breaks if offset < stop < high)
        high = min(breaks, default=high)
        data = self._window.buffered(position, size_bytes, most)
        while True:
            self._scan(data, magic, attributes, low, high, self._bounds.may_have_holes)
            if len(data) == most or self._is_complete(data):
                break
            data = self._window.view(position, most)
        self._leave_last(position, data, magic, attributes)
        return self._run_of(position, data) if self._found[1] else None

    def lone(self, position: int, data: memoryview) -> MessageRun | None:
        """A valid message whose offset fits nowhere; None for one that is out of all ranges."""
        holes = self._bounds.may_have_holes
        self._scan(data, data[16], data[17], _LOWEST, _HIGHEST, holes)
        return self._run_of(position, data) if self._found[1] else None

    def _scan(
        self, data: memoryview, magic: int, attributes: int, low: int, high: int, holes: bool
    ) -> None:
        from seglake.segment_codec import _message_kernels  # numba takes 0.2 s

        _message_kernels.scan_messages(
            np.frombuffer(data, np.uint8), magic, attributes & 0xFF, low, high, holes, self._found
        )

    def _leave_last(self, position: int, data: memoryview, magic: int, attributes: int) -> None:
        """End a run with holes before its last message, if the message behind it contradicts that.

        The last one is then judged for itself: a false offset is not one of the run.
        """
        size_bytes, count, first, last, _ = (int(value) for value in self._found)
        if not self._bounds.may_have_holes or not self._compares_neighbours or count < 2:
            return
        stop = position + size_bytes
        if self._stop - stop < message_set.PREFIX_BYTES:
            return
        behind = self._window.view(stop, message_set.PREFIX_BYTES)
        if message_set.PREFIX.unpack_from(behind)[0] <= last:
            self._scan(data, magic, attributes, first, last, True)

    def _is_complete(self, data: memoryview) -> bool:
        """Whether the run ended at a message that is complete in `data`, not at the edge."""
        rest = data[int(self._found[0]) :]
        if len(rest) < message_set.PREFIX_BYTES:
            return False
        size = message_set.PREFIX.unpack_from(rest)[1]
        return bool(0 <= size <= len(rest) - message_set.SIZE_STOP)

    def _run_of(self, position: int, data: memoryview) -> MessageRun:
        size_bytes, count, first, last, largest = (int(value) for value in self._found)
        _, _, crc, magic, attributes = message_set.PREFIX.unpack_from(data)
        return MessageRun(
            position=position,
            size_bytes=size_bytes,
            magic=magic,
            first_offset=first,
            last_offset=last,
            crc=crc,
            attributes=attributes,
            message_count=count,
            max_timestamp_ms=largest if magic == 1 else None,
            data=data[:size_bytes],
        )
