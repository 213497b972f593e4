"""A reader of ours as the file that other libraries want."""

import io

from seglake.storage.storage import Reader


class ReaderFile(io.RawIOBase):
    """A reader of ours as the file that pyarrow and fsspec want. Closing it closes no reader."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._reader.size_bytes}
        self._position = base[whence] + offset
        return self._position

    def read(self, size: int = -1) -> bytes:
        rest = max(0, self._reader.size_bytes - self._position)
        length = rest if size < 0 else min(size, rest)
        data = self._reader.read(self._position, length)
        self._position += len(data)
        return data
