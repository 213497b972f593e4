"""Selects the storage of a path by its scheme."""

from collections.abc import Iterable, Mapping, Sequence
from typing import BinaryIO

from seglake.storage.errors import PlaceError, UnsupportedUriError
from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.local_storage import LocalStorage
from seglake.storage.storage import FileInfo, Reader, Storage

_EXPECTED = (
    "a plain path",
    "file:/path",
    "file:///path",
    "s3://bucket/key",
    "hdfs://host:port/path",
)
_LOCAL_SCHEMES = ("", "file")


class Storages(Storage):
    """Storage that passes each call to the storage of the path's scheme (local, HDFS or S3)."""

    def __init__(self, properties: HadoopProperties) -> None:
        """Store the properties; the storage of a scheme is made with its first path.

        Args:
            properties: addresses and credentials of remote stores.
        """
        self._properties = properties
        self._by_scheme: dict[str, Storage] = dict.fromkeys(_LOCAL_SCHEMES, LocalStorage())

    def locate(self, uri: str) -> str:
        """Return the absolute path of a URI in the storage of its scheme."""
        return self._of(uri).locate(uri)

    def list_folder(self, path: str) -> list[FileInfo]:
        """Return the entries of a folder, sorted by name."""
        return self._of(path).list_folder(path)

    def list_after(self, folder: str, name: str) -> list[FileInfo]:
        """Return the files of a folder whose names come after `name`, sorted."""
        return self._of(folder).list_after(folder, name)

    def info(self, path: str) -> FileInfo | None:
        """Return a description of a file or folder; None if it does not exist."""
        return self._of(path).info(path)

    def link_problem(self, path: str) -> str:
        """Return why a link is broken; empty for an intact link and for other paths."""
        return self._of(path).link_problem(path)

    def open_reader(self, path: str) -> Reader:
        """Open a file for reads at any position."""
        return self._of(path).open_reader(path)

    def open_listed(self, path: str, size_bytes: int) -> Reader:
        """Open a file that never changes; its listed size saves a request."""
        return self._of(path).open_listed(path, size_bytes)

    def read_bytes(self, path: str) -> bytes:
        """Return the whole content of a small file."""
        return self._of(path).read_bytes(path)

    def write_bytes(self, path: str, data: bytes) -> None:
        """Write a whole file, durable on return."""
        self._of(path).write_bytes(path, data)

    def open_output(self, path: str) -> BinaryIO:
        """Create a file that does not exist yet, for writing."""
        return self._of(path).open_output(path)

    def delete(self, path: str) -> None:
        """Delete a file, if it exists."""
        self._of(path).delete(path)

    def delete_folder(self, path: str) -> None:
        """Delete a folder with its content, if it exists."""
        self._of(path).delete_folder(path)

    def discard(self, output: BinaryIO, path: str) -> None:
        """Abandon an output that is not closed yet."""
        self._of(path).discard(output, path)

    def make_folder(self, path: str) -> None:
        """Create a folder and its parents, if missing."""
        self._of(path).make_folder(path)

    def sync(self, paths: Iterable[str]) -> None:
        """Make files durable, each in its own storage."""
        by_storage: dict[Storage, list[str]] = {}
        for path in paths:
            by_storage.setdefault(self._of(path), []).append(path)
        for storage, group in by_storage.items():
            storage.sync(group)

    def needs_sync(self, path: str) -> bool:
        """Return whether a power cut may undo a write until it is synced."""
        return self._of(path).needs_sync(path)

    def requests_at_once(self, path: str) -> int:
        """Return how many requests should run in parallel on a path's storage."""
        return self._of(path).requests_at_once(path)

    def without_links(self, path: str) -> str:
        """Return the path with links resolved."""
        return self._of(path).without_links(path)

    def creates_exclusively(self, folder: str) -> bool:
        """Return whether only one of several writers can create the same file in a folder."""
        return self._of(folder).creates_exclusively(folder)

    def pauses_s(self, path: str) -> Sequence[float]:
        """Return the seconds to wait before each try of a commit."""
        return self._of(path).pauses_s(path)

    def failure(self, action: str, path: str, text: str) -> PlaceError:
        """Return seglake's error for an error text of delta-rs at a path."""
        return self._of(path).failure(action, path, text)

    def hadoop_uri(self, path: str) -> str:
        """Return the path as Hadoop clients write it."""
        return self._of(path).hadoop_uri(path)

    def hadoop_properties(self, path: str) -> Mapping[str, str]:
        """Return the properties that a Hadoop client needs for a path."""
        return self._of(path).hadoop_properties(path)

    def delta_options(self, path: str) -> Mapping[str, str]:
        """Return the options that delta-rs needs for a path."""
        return self._of(path).delta_options(path)

    def _of(self, path: str) -> Storage:
        """Return the storage of a path; raise UnsupportedUriError for an unknown scheme."""
        scheme, colon, _ = path.partition(":")
        if not colon or "/" in scheme:
            scheme = ""  # a plain path that contains a colon
        storage = self._by_scheme.get(scheme.lower())
        return self._remote(path, scheme.lower()) if storage is None else storage

    def _remote(self, path: str, scheme: str) -> Storage:
        """Make the storage of a remote scheme, which all schemes of its store share."""
        # Imported here, so that runs on local disks load no client of a remote store.
        from seglake.storage.hdfs_access import HDFS_SCHEMES
        from seglake.storage.s3_storage import S3_SCHEMES, S3Storage

        if scheme in S3_SCHEMES:
            self._by_scheme |= dict.fromkeys(S3_SCHEMES, S3Storage(self._properties))
        elif scheme in HDFS_SCHEMES:
            from seglake.storage.hdfs_storage import HdfsStorage

            self._by_scheme |= dict.fromkeys(HDFS_SCHEMES, HdfsStorage(self._properties))
        else:
            raise UnsupportedUriError(uri=path, schemes=_EXPECTED)
        return self._by_scheme[scheme]
