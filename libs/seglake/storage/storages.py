"""All places at once: the scheme of a path says which storage serves it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import BinaryIO

from seglake.storage.errors import PlaceError, UnsupportedUriError
from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.hdfs_access import HDFS_SCHEMES
from seglake.storage.hdfs_storage import HdfsStorage
from seglake.storage.local_storage import LocalStorage
from seglake.storage.s3_storage import S3_SCHEMES, S3Storage
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
    """Serves sources and lakes in different places side by side.

    Args:
        properties: where stores are and how to reach them.
    """

    def __init__(self, properties: HadoopProperties) -> None:
        self._by_scheme: dict[str, Storage] = dict.fromkeys(_LOCAL_SCHEMES, LocalStorage())
        self._by_scheme |= dict.fromkeys(S3_SCHEMES, S3Storage(properties))
        self._by_scheme |= dict.fromkeys(HDFS_SCHEMES, HdfsStorage(properties))

    def locate(self, uri: str) -> str:
        return self._of(uri).locate(uri)

    def list_folder(self, path: str) -> list[FileInfo]:
        return self._of(path).list_folder(path)

    def list_after(self, folder: str, name: str) -> list[FileInfo]:
        return self._of(folder).list_after(folder, name)

    def info(self, path: str) -> FileInfo | None:
        return self._of(path).info(path)

    def link_problem(self, path: str) -> str:
        return self._of(path).link_problem(path)

    def open_reader(self, path: str) -> Reader:
        return self._of(path).open_reader(path)

    def read_bytes(self, path: str) -> bytes:
        return self._of(path).read_bytes(path)

    def write_bytes(self, path: str, data: bytes) -> None:
        self._of(path).write_bytes(path, data)

    def open_output(self, path: str) -> BinaryIO:
        return self._of(path).open_output(path)

    def delete(self, path: str) -> None:
        self._of(path).delete(path)

    def delete_folder(self, path: str) -> None:
        self._of(path).delete_folder(path)

    def discard(self, output: BinaryIO, path: str) -> None:
        self._of(path).discard(output, path)

    def make_folder(self, path: str) -> None:
        self._of(path).make_folder(path)

    def sync(self, paths: Iterable[str]) -> None:
        by_storage: dict[Storage, list[str]] = {}
        for path in paths:
            by_storage.setdefault(self._of(path), []).append(path)
        for storage, group in by_storage.items():
            storage.sync(group)

    def needs_sync(self, path: str) -> bool:
        return self._of(path).needs_sync(path)

    def requests_at_once(self, path: str) -> int:
        return self._of(path).requests_at_once(path)

    def without_links(self, path: str) -> str:
        return self._of(path).without_links(path)

    def creates_exclusively(self, folder: str) -> bool:
        return self._of(folder).creates_exclusively(folder)

    def pauses_s(self, path: str) -> Sequence[float]:
        return self._of(path).pauses_s(path)

    def failure(self, action: str, path: str, text: str) -> PlaceError:
        return self._of(path).failure(action, path, text)

    def hadoop_uri(self, path: str) -> str:
        return self._of(path).hadoop_uri(path)

    def hadoop_properties(self, path: str) -> Mapping[str, str]:
        return self._of(path).hadoop_properties(path)

    def delta_options(self, path: str) -> Mapping[str, str]:
        return self._of(path).delta_options(path)

    def _of(self, path: str) -> Storage:
        scheme, colon, _ = path.partition(":")
        if not colon or "/" in scheme:
            scheme = ""  # a plain path that has a colon somewhere
        storage = self._by_scheme.get(scheme.lower())
        if storage is None:
            raise UnsupportedUriError(uri=path, schemes=_EXPECTED)
        return storage
