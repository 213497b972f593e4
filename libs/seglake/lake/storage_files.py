"""A lake's files for DuckDB, on any storage. Effect: reads.

DuckDB accepts Python file systems in the form of fsspec. It gets plain names only: a path may have
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
        """Return the path alone: each path names one file."""
        return [path]

    def exists(self, path: str, **_: Any) -> bool:
        return self._storage.info(self._at(path)) is not None

    def modified(self, path: str) -> datetime:
        """Return a constant time: data files never change."""
        return datetime.fromtimestamp(0, UTC)

    def _at(self, path: str) -> str:
        return self._storage.join(self._folder, path.removeprefix(f"{SCHEME}://"))


class _OpenFile(ReaderFile):
    """Open file that closes its reader when it is closed."""

    def close(self) -> None:
        if not self.closed:
            self._reader.__exit__(None, None, None)
        super().close()
