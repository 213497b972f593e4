"""A file that is written elsewhere and that nothing finishes but `close`. Effect.

Python closes a file that nobody holds any more, and one whose `with` block failed. Neither may
finish half a file: a reader would take it for a whole one.
"""

import io
from abc import abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class RemoteOutput(io.RawIOBase):
    """What a storage gives as an output; its three ways to the place are for subclasses."""

    def __init__(self) -> None:
        self._position = 0

    @abstractmethod
    def _send(self, data: "ReadableBuffer") -> None:
        """Write bytes, at least one, behind those before."""

    @abstractmethod
    def _finish(self) -> None:
        """Make what was sent a whole file; called once at most."""

    @abstractmethod
    def _forget(self) -> None:
        """Let go of the way to the place, without a word to it; may be called again."""

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def write(self, data: "ReadableBuffer", /) -> int:
        if self.closed:
            raise ValueError("write to a closed file")
        size_bytes = memoryview(data).nbytes
        if size_bytes:
            self._send(data)
        self._position += size_bytes
        return size_bytes

    def close(self) -> None:
        if not self.closed:
            super().close()
            try:
                self._finish()
            finally:
                self._forget()

    def discard(self) -> None:
        """Close without finishing the file."""
        self._forget()
        super().close()

    def __exit__(self, *raised: object) -> None:
        if raised[0] is None:
            self.close()
        else:
            self.discard()

    def __del__(self) -> None:
        self.discard()
