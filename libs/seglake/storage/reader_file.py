"""Adapts a reader to the file interface of other libraries."""

import io

from seglake.storage.storage import Reader


class ReaderFile(io.RawIOBase):
    """A reader as a file for pyarrow and fsspec. Closing the file does not close the reader."""

    def __init__(self, reader: Reader) -> None:
        """Start at the first byte; the caller closes the reader."""
        self._reader = reader
        self._position = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position of the next byte."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position, and return it."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._reader.size_bytes}
        self._position = base[whence] + offset
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Return the next `size` bytes; all remaining bytes if it is negative."""
        rest = max(0, self._reader.size_bytes - self._position)
        length = rest if size < 0 else min(size, rest)
        data = self._reader.read(self._position, length)
        self._position += len(data)
        return data
