"""Finds ranges of zero bytes, which come from lost writes and preallocated files."""

import numpy as np

from seglake.segment_codec.walk.window import Window

_PIECE_BYTES = 1 << 20


def is_zero(window: Window, position: int, size_bytes: int) -> bool:
    """Return whether all bytes of a range are zero."""
    stop = position + size_bytes
    while position < stop:
        piece = window.view(position, min(_PIECE_BYTES, stop - position))
        if np.frombuffer(piece, np.uint8).any():
            return False
        position += len(piece)
    return True


class ZeroEnd:
    """Zero bytes at the end of a file or range; their start is searched for once."""

    def __init__(self, window: Window, stop: int) -> None:
        """Store the arguments; nothing is read yet.

        Args:
            window: bytes of the file.
            stop: position at which the zero bytes end.
        """
        self._window = window
        self._stop = stop
        self._start: int | None = None

    def has(self, position: int) -> bool:
        """Return whether there are only zero bytes from a position to the stop."""
        if self._start is None:
            self._start = self._found()
        return position >= self._start

    def _found(self) -> int:
        """Return the position of the first zero byte before the stop."""
        stop = self._stop
        while stop > 0:
            size_bytes = min(_PIECE_BYTES, stop)
            start = stop - size_bytes
            piece = self._window.beside(start, size_bytes).view(start, size_bytes)
            written = len(bytes(piece).rstrip(b"\0"))
            if written:
                return start + written
            stop = start
        return stop
