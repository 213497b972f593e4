"""Finds zero bytes: a write was lost, or the file is longer than the writes to it."""

import numpy as np

from seglake.segment_codec.walk.window import Window

_PIECE_BYTES = 1 << 20


def is_zero(window: Window, position: int, size_bytes: int) -> bool:
    """Return whether all these bytes are zero."""
    stop = position + size_bytes
    while position < stop:
        piece = window.view(position, min(_PIECE_BYTES, stop - position))
        if np.frombuffer(piece, np.uint8).any():
            return False
        position += len(piece)
    return True


class ZeroEnd:
    """The zero bytes directly before a position; they are searched once."""

    def __init__(self, window: Window, stop: int) -> None:
        """Store the arguments; nothing is read yet.

        Args:
            window: bytes of the file; borrowed.
            stop: end of the zero bytes.
        """
        self._window = window
        self._stop = stop
        self._start: int | None = None

    def has(self, position: int) -> bool:
        """Return whether only zero bytes lie between this position and the stop."""
        if self._start is None:
            self._start = self._found()
        return position >= self._start

    def _found(self) -> int:
        """Return the position of the first of the zero bytes."""
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
