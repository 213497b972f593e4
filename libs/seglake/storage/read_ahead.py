"""Reads ahead on remote stores, for callers that advance through a file in small steps.

A walk over the headers of a segment reads 4 KiB, skips a batch, reads again. A remote request waits
tens of milliseconds for its first byte, and as long again for some megabytes: one longer read beats
a second request. Callers that read whole windows, or at scattered places, get no extra bytes.
"""

from typing import Protocol, Self

_FIRST_BYTES = 128 << 10
_MOST_BYTES = 4 << 20


class RangeReader(Protocol):
    """A remote file that reads ranges within its size, and keeps nothing open.

    Threads may share it, for each read is a request of its own.
    """

    size_bytes: int

    def read(self, position: int, length: int) -> bytes:
        """Return the bytes [position, position + length), which lie within the file."""


class ReadAhead:
    """Reader that fetches more after each step forward, twice as much each time, up to 4 MiB.

    Threads may share it; then they may fetch some bytes twice. It keeps the last fetched bytes.
    """

    def __init__(self, reader: RangeReader) -> None:
        """Start without kept bytes.

        Args:
            reader: reader of the file; borrowed.
        """
        self.size_bytes = reader.size_bytes
        self._reader = reader
        self._kept: tuple[int, bytes] = (0, b"")
        self._last: tuple[int, int] | None = None  # the bytes fetched last
        self._ahead_bytes = _FIRST_BYTES

    def read(self, position: int, length: int) -> bytes:
        """Return the bytes of a range; see `Reader.read`."""
        length = min(length, self.size_bytes - position)
        if position < 0 or length <= 0:
            return b""
        start, kept = self._kept
        held = kept[position - start : position - start + length] if position >= start else b""
        if len(held) == length:
            return held
        begin = position + len(held)
        requested = max(length - len(held), self._more_bytes(begin))
        fetched = self._reader.read(begin, min(self.size_bytes - begin, requested))
        self._last = (begin, begin + len(fetched))
        whole = held + fetched
        self._kept = (position, whole)
        return whole[:length]

    def _more_bytes(self, position: int) -> int:
        """Return the fewest bytes to fetch; 0 unless the read is a step forward."""
        last = self._last
        if last is None or not last[0] < position <= last[1] + _MOST_BYTES:
            self._ahead_bytes = _FIRST_BYTES
            return 0
        ahead_bytes = self._ahead_bytes
        self._ahead_bytes = min(2 * ahead_bytes, _MOST_BYTES)
        return ahead_bytes

    def __enter__(self) -> Self:
        """Return the reader itself."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Do nothing: no connection stays open between requests."""
