"""Finds runs of messages of the old formats: consecutive messages that form one unit."""

import numpy as np

from seglake.segment_codec.formats import message_set
from seglake.segment_codec.formats.message_set import MessageRun
from seglake.segment_codec.walk.batch_checksums import BatchChecksums
from seglake.segment_codec.walk.segment_bounds import SegmentBounds
from seglake.segment_codec.walk.window import Window

_LOWEST, _HIGHEST = -(1 << 63) + 1, 1 << 62


class MessageRunFinder:
    """Finder of consecutive valid messages in a segment."""

    def __init__(
        self,
        window: Window,
        bounds: SegmentBounds,
        stop: int,
        checksums: BatchChecksums,
        *,
        compares_neighbours: bool,
    ) -> None:
        """Start before the first message; the arguments are those of `SegmentWalk`.

        Args:
            window: bytes of the file.
            bounds: bounds of the segment.
            stop: position at which the walk ends.
            checksums: checksums of the file's batches.
            compares_neighbours: whether to exclude a run's last message if the next message
                contradicts its offset.
        """
        self._window = window
        self._bounds = bounds
        self._stop = stop
        self._checksums = checksums
        self._compares_neighbours = compares_neighbours
        self._found = np.zeros(8, np.int64)  # the array `run` of `scan_messages`

    def run_at(self, position: int, size_bytes: int, low_offset: int) -> MessageRun | None:
        """Return the run that begins with an uncompressed message; None if the message is invalid.

        Args:
            position: position of the message.
            size_bytes: size of the message in its header.
            low_offset: exclusive end of the offsets read so far.
        """
        head = self._window.view(position, message_set.PREFIX_BYTES)
        if size_bytes > message_set.LONG_MESSAGE_BYTES and not self._is_sound(position, head):
            return None
        offset = message_set.PREFIX.unpack_from(head)[0]
        most = min(max(message_set.RUN_BYTES, size_bytes), self._stop - position)
        low, high = low_offset, self._bounds.limit_offset
        if offset < low:  # an out-of-order run must end where later messages are in order again
            low, high = offset, low
        breaks = (stop for stop in self._bounds.run_breaks if offset < stop < high)
        high = min(breaks, default=high)
        data = self._window.buffered(position, size_bytes, most)
        self._begin(low)
        sound: int | None = 0 if size_bytes > message_set.LONG_MESSAGE_BYTES else -1
        while sound is not None:
            self._scan(data, high, sound)
            at = int(self._found[0])
            sound, stop = (None, 0) if at == sound else self._continuation(position, data, most)
            if sound is not None and stop > len(data):
                data = self._window.view(position, most)
        return self._run_of(position, data)

    def lone(self, position: int, data: memoryview) -> MessageRun | None:
        """Return a run of one out-of-order message; None if its offset is out of bounds."""
        self._begin(_LOWEST)
        self._scan(data, _HIGHEST, 0)
        return self._run_of(position, data)

    def _begin(self, low: int) -> None:
        """Start an empty run whose messages must have offsets from `low` on."""
        self._found[:] = (0, 0, -1, max(low, _LOWEST) - 1, -(1 << 63), 0, 0, 0)

    def _scan(self, data: memoryview, high: int, sound: int) -> None:
        """Extend the run by the valid messages in `data`, see `scan_messages`."""
        # imported only when needed, since numba takes 0.2 s
        from seglake.segment_codec.kernels import message_kernels

        message_kernels.scan_messages(
            np.frombuffer(data, np.uint8),
            data[16],
            data[17],
            high,
            self._bounds.may_have_holes,
            sound,
            self._found,
        )

    def _continuation(self, position: int, data: memoryview, most: int) -> tuple[int | None, int]:
        """Return how the run continues after `data`, and how many bytes that needs.

        Returns:
            The index in `data` of a long message with a valid checksum, -1 if a short message may
            follow, or None if the run ends; and the number of bytes of the run to read for it.
        """
        at = int(self._found[0])
        rest = data[at:]
        if len(rest) < message_set.PREFIX_BYTES:
            return (-1, most) if len(data) < most else (None, 0)
        size = message_set.PREFIX.unpack_from(rest)[1]
        stop = at + message_set.SIZE_STOP + size
        if size < 0 or stop > most or rest[16:18] != data[16:18]:
            return None, 0
        if stop - at > message_set.LONG_MESSAGE_BYTES:
            return (at if self._is_sound(position + at, rest, is_ahead=True) else None), stop
        return (-1 if stop > len(data) else None), stop

    def _is_sound(self, position: int, head: memoryview, *, is_ahead: bool = False) -> bool:
        """Return whether a message's checksum is valid for the length in its header."""
        _, size, crc, magic, _ = message_set.PREFIX.unpack_from(head)
        size_bytes = message_set.SIZE_STOP + size
        return bool(self._checksums.of(position, size_bytes, magic, is_ahead=is_ahead) == crc)

    def _run_of(self, position: int, data: memoryview) -> MessageRun | None:
        """Return the messages found so far as a MessageRun; None if there are none."""
        size_bytes, count, first, last, largest = (int(value) for value in self._found[:5])
        if count == 0:
            return None
        _, _, crc, magic, attributes = message_set.PREFIX.unpack_from(data)
        if self._is_last_contradicted(position):
            size_bytes, last, largest = (int(value) for value in self._found[5:])
            count -= 1
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

    def _is_last_contradicted(self, position: int) -> bool:
        """Return whether the message after a run contradicts the run's last offset.

        Then the run ends before its last message, which is judged by itself. Only runs that may
        have holes are checked.
        """
        size_bytes, count, _, last = (int(value) for value in self._found[:4])
        if not self._bounds.may_have_holes or not self._compares_neighbours or count < 2:
            return False
        stop = position + size_bytes
        if self._stop - stop < message_set.PREFIX_BYTES:
            return False
        prefix = self._window.view(stop, message_set.PREFIX_BYTES)
        return bool(message_set.PREFIX.unpack_from(prefix)[0] <= last)
