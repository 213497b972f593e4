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

    Threads may share it; then they may fetch some bytes twice. It keeps what was read last, and at
    most 4 MiB behind it.
    """

    def __init__(self, reader: RangeReader) -> None:
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
        wanted = max(length - len(held), self._more_bytes(begin))
        fetched = self._reader.read(begin, min(self.size_bytes - begin, wanted))
        self._last = (begin, begin + len(fetched))
        whole = held + fetched
        self._kept = (position, whole)
        return whole[:length]

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
