"""A lake's files as DuckDB opens them, whatever storage they lie in. Effect: reads.

DuckDB takes Python's file systems in the form of fsspec, and plain names only: a place may have
characters that mean something in its globs, and credentials that it need not know.
"""

from datetime import UTC, datetime
from typing import Any

from fsspec import AbstractFileSystem

from seglake.lake.duckdb_sql import SCHEME
from seglake.storage.reader_file import ReaderFile
from seglake.storage.storage import Storage


# Any: fsspec has no types.
class StorageFiles(AbstractFileSystem):  # type: ignore[misc]
    """The files below a folder of a storage, as `seglake://path/below/it`; read-only."""

    protocol = SCHEME
    cachable = False

    def __init__(self, storage: Storage, folder: str) -> None:
        super().__init__()
        self._storage = storage
        self._folder = folder

    def open(self, path: str, mode: str = "rb", **_: Any) -> ReaderFile:
        if mode != "rb":
            raise PermissionError(path)
        return _OpenFile(self._storage.open_reader(self._at(path)))

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        with self._storage.open_reader(self._at(path)) as reader:
            return {"name": path, "size": reader.size_bytes, "type": "file"}

    def glob(self, path: str, **_: Any) -> list[str]:
        """Each path is one file's."""
        return [path]

    def exists(self, path: str, **_: Any) -> bool:
        return self._storage.info(self._at(path)) is not None

    def modified(self, path: str) -> datetime:
        """Data files are never changed."""
        return datetime.fromtimestamp(0, UTC)

    def _at(self, path: str) -> str:
        return self._storage.join(self._folder, path.removeprefix(f"{SCHEME}://"))


class _OpenFile(ReaderFile):
    """Closing it closes the reader."""

    def close(self) -> None:
        if not self.closed:
            self._reader.__exit__(None, None, None)
        super().close()
