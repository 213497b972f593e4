"""Base of new remote files, which only `close` completes.

Python also closes a file when it is garbage-collected or when its `with` block fails. In neither
case may a partial file be completed, because readers could not distinguish it from a whole file.
"""

import io
from abc import abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class RemoteOutput(io.RawIOBase):
    """A new remote file; subclasses send the bytes."""

    def __init__(self) -> None:
        """Start without bytes."""
        self._position = 0

    @abstractmethod
    def _send(self, data: "ReadableBuffer") -> None:
        """Send some bytes, at least one, which follow the bytes sent before."""

    @abstractmethod
    def _finish(self) -> None:
        """Complete the file, so that readers see it; called at most once."""

    @abstractmethod
    def _forget(self) -> None:
        """Abandon the connection without completing the file; may be called again."""

    def writable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self._position

    def write(self, data: "ReadableBuffer", /) -> int:
        """Append bytes, and return their number."""
        if self.closed:
            raise ValueError("write to a closed file")
        size_bytes = memoryview(data).nbytes
        if size_bytes:
            self._send(data)
        self._position += size_bytes
        return size_bytes

    def close(self) -> None:
        """Complete the file and close it; later calls do nothing."""
        if not self.closed:
            super().close()
            try:
                self._finish()
            finally:
                self._forget()

    def discard(self) -> None:
        """Close without completing the file."""
        self._forget()
        super().close()

    def __exit__(self, *raised: object) -> None:
        """Complete the file, or discard it after an exception."""
        if raised[0] is None:
            self.close()
        else:
            self.discard()

    def __del__(self) -> None:
        """Discard a file that nobody closed."""
        self.discard()
