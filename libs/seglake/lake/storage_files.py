"""Serves a lake's files to DuckDB, on any storage. Effect: reads.

DuckDB accepts Python file systems in the form of fsspec. It gets only plain names: a path may have
characters that are special in its globs, and credentials that it need not know.
"""

from datetime import UTC, datetime
from typing import Any

from fsspec import AbstractFileSystem

from seglake.lake.duckdb_sql import SCHEME
from seglake.storage.reader_file import ReaderFile
from seglake.storage.storage import Storage


# Any: fsspec has no types.
class StorageFiles(AbstractFileSystem):  # type: ignore[misc]
    """Read-only file system of the files below a folder, named `seglake://path/below/it`."""

    protocol = SCHEME
    cachable = False

    def __init__(self, storage: Storage, folder: str) -> None:
        """Store the storage, which is borrowed, and the folder."""
        super().__init__()
        self._storage = storage
        self._folder = folder

    def open(self, path: str, mode: str = "rb", **_: Any) -> ReaderFile:
        """Return an open file for reading; raise PermissionError for any other mode."""
        if mode != "rb":
            raise PermissionError(path)
        return _OpenFile(self._storage.open_reader(self._at(path)))

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Return name, size in bytes and type of a file, as fsspec does."""
        with self._storage.open_reader(self._at(path)) as reader:
            return {"name": path, "size": reader.size_bytes, "type": "file"}

    def glob(self, path: str, **_: Any) -> list[str]:
        """Return the path alone: each path names one file."""
        return [path]

    def exists(self, path: str, **_: Any) -> bool:
        """Return whether the file exists."""
        return self._storage.info(self._at(path)) is not None

    def modified(self, path: str) -> datetime:
        """Return a constant time, since data files never change."""
        return datetime.fromtimestamp(0, UTC)

    def _at(self, path: str) -> str:
        """Return the path in the storage for a name."""
        return self._storage.join(self._folder, path.removeprefix(f"{SCHEME}://"))


class _OpenFile(ReaderFile):
    """An open file that closes its reader with it."""

    def close(self) -> None:
        """Close the file and its reader."""
        if not self.closed:
            self._reader.__exit__(None, None, None)
        super().close()
