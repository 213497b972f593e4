"""Lets DuckDB read a lake's files on any storage.

DuckDB accepts Python file systems of fsspec. DuckDB gets plain names instead of paths, since a path
may contain credentials and characters that are special in globs.
"""

from datetime import UTC, datetime
from typing import Any

from fsspec import AbstractFileSystem

from seglake.lake.duckdb_sql import SCHEME
from seglake.storage.reader_file import ReaderFile
from seglake.storage.storage import Storage


# Any: fsspec has no types.
class StorageFiles(AbstractFileSystem):  # type: ignore[misc]
    """Read-only file system of a folder's files; `seglake://x/y` is the file x/y in the folder."""

    protocol = SCHEME
    cachable = False

    def __init__(self, storage: Storage, folder: str) -> None:
        """Store the storage and the folder."""
        super().__init__()
        self._storage = storage
        self._folder = folder

    def open(self, path: str, mode: str = "rb", **_: Any) -> ReaderFile:
        """Return an open file for reading; raise PermissionError for any other mode."""
        if mode != "rb":
            raise PermissionError(path)
        return _OpenFile(self._storage.open_reader(self._at(path)))

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Return a file's name, size in bytes and type, with fsspec's keys."""
        with self._storage.open_reader(self._at(path)) as reader:
            return {"name": path, "size": reader.size_bytes, "type": "file"}

    def glob(self, path: str, **_: Any) -> list[str]:
        """Return a list with only the path itself, since paths here have no patterns."""
        return [path]

    def exists(self, path: str, **_: Any) -> bool:
        """Return whether the file exists."""
        return self._storage.info(self._at(path)) is not None

    def modified(self, path: str) -> datetime:
        """Return a constant time, since data files never change."""
        return datetime.fromtimestamp(0, UTC)

    def _at(self, path: str) -> str:
        """Return the storage's path for a `seglake://` name."""
        return self._storage.join(self._folder, path.removeprefix(f"{SCHEME}://"))


class _OpenFile(ReaderFile):
    """File for fsspec that closes its reader with itself."""

    def close(self) -> None:
        """Close the file and its reader."""
        if not self.closed:
            self._reader.__exit__(None, None, None)
        super().close()
