"""Reads ahead where each read is a request, for callers that hop through a file in small steps.

A walk over the headers of a segment reads 4 KiB, skips a batch, reads again. Far away a request
waits tens of milliseconds for its first byte, and as long again for some megabytes: reading what
lies between is quicker than asking for each. Who reads whole windows, or here and there, is left
alone.
"""

from typing import Protocol, Self

_FIRST_BYTES = 128 << 10
_MOST_BYTES = 4 << 20


class RangeReader(Protocol):
    """A file across the network: it reads ranges that lie within its size, and keeps nothing open.

    Threads may share it, for each read is a request of its own.
    """

    size_bytes: int

    def read(self, position: int, length: int) -> bytes: ...


class ReadAhead:
    """A reader in front of another: after a step forward it fetches more, twice as much each time.

    Threads may share it; then they may fetch some bytes twice. It keeps at most 4 MiB.
    """

    def __init__(self, reader: RangeReader) -> None:
        self.size_bytes = reader.size_bytes
        self._reader = reader
        self._kept: tuple[int, bytes] = (0, b"")
        self._last: tuple[int, int] | None = None  # the bytes fetched last
        self._ahead_bytes = _FIRST_BYTES

    def read(self, position: int, length: int) -> bytes:
        """Return the bytes of a range; see `Reader.read`."""
        rest = self.size_bytes - position
        length = min(length, rest)
        if position < 0 or length <= 0:
            return b""
        start, kept = self._kept
        if start <= position and position + length <= start + len(kept):
            return kept[position - start : position - start + length]
        fetched = self._reader.read(position, min(rest, max(length, self._more_bytes(position))))
        self._last = (position, position + len(fetched))
        if len(fetched) > length or self.size_bytes <= _FIRST_BYTES:  # a small file is asked twice
            self._kept = (position, fetched)
        return fetched[:length]

    def _more_bytes(self, position: int) -> int:
        """How many bytes to fetch at least."""
        last = self._last
        if last is None or not last[0] < position <= last[1] + _MOST_BYTES:
            self._ahead_bytes = _FIRST_BYTES
            return 0
        ahead_bytes = self._ahead_bytes
        self._ahead_bytes = min(2 * ahead_bytes, _MOST_BYTES)
        return ahead_bytes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        """Nothing is held open between requests."""
