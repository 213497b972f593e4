"""Reads ahead on remote storages, for callers that advance through a file in small steps.

A walk over the headers of a segment reads 4 KiB, skips a batch, and reads again. A remote request
waits tens of milliseconds for its first byte. In this time some megabytes can be read, so one
longer read is faster than a second request. Callers that read whole windows, or at scattered
positions, get no extra bytes.
"""

from typing import Protocol, Self

_FIRST_BYTES = 128 << 10
_MOST_BYTES = 4 << 20


class RangeReader(Protocol):
    """Interface of a remote file that is read in ranges and has no open connection.

    Threads may share it, since each read is a separate request.
    """

    size_bytes: int

    def read(self, position: int, length: int) -> bytes:
        """Return the bytes [position, position + length), which must be within the file."""


class ReadAhead:
    """Reader that reads ahead after each step forward: 128 KiB, then doubled up to 4 MiB.

    It keeps the bytes of the last fetch. Threads may share it, but then some bytes may be fetched
    twice.
    """

    def __init__(self, reader: RangeReader) -> None:
        """Store the reader; nothing is fetched yet.

        Args:
            reader: reader of the file; the caller closes it.
        """
        self.size_bytes = reader.size_bytes
        self._reader = reader
        self._kept: tuple[int, bytes] = (0, b"")
        self._last: tuple[int, int] | None = None  # range that was fetched last
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
        """Return the least number of bytes to fetch; 0 unless the read is a step forward."""
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
        """Do nothing, since no connection stays open between requests."""
