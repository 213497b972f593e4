"""Selects the storage of a path by its scheme."""

from collections.abc import Callable, Iterable
from typing import Any, BinaryIO, TypeVar, cast

from seglake.storage.errors import PlaceError, UnsupportedUriError
from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.local_storage import LocalStorage
from seglake.storage.storage import Storage

Method = TypeVar("Method", bound=Callable[..., Any])

_EXPECTED = (
    "a plain path",
    "file:/path",
    "file:///path",
    "s3://bucket/key",
    "hdfs://host:port/path",
)
_LOCAL_SCHEMES = ("", "file")


def _by_path(method: Method) -> Method:
    """Return a method that passes its call on to the storage of the path, its first argument."""

    # Any: the arguments and results are those of `method`.
    def passed_on(self: "Storages", path: str, *rest: Any) -> Any:
        return getattr(self._of(path), method.__name__)(path, *rest)

    return cast("Method", passed_on)


class Storages(Storage):
    """Storage that passes each call to the storage of the path's scheme (local, HDFS or S3)."""

    def __init__(self, properties: HadoopProperties) -> None:
        """Store the properties; the storage of a scheme is made with its first path.

        Args:
            properties: addresses and credentials of remote stores.
        """
        self._properties = properties
        self._by_scheme: dict[str, Storage] = dict.fromkeys(_LOCAL_SCHEMES, LocalStorage())

    locate = _by_path(Storage.locate)
    list_folder = _by_path(Storage.list_folder)
    list_after = _by_path(Storage.list_after)
    info = _by_path(Storage.info)
    link_problem = _by_path(Storage.link_problem)
    open_reader = _by_path(Storage.open_reader)
    open_listed = _by_path(Storage.open_listed)
    read_bytes = _by_path(Storage.read_bytes)
    write_bytes = _by_path(Storage.write_bytes)
    open_output = _by_path(Storage.open_output)
    delete = _by_path(Storage.delete)
    delete_folder = _by_path(Storage.delete_folder)
    make_folder = _by_path(Storage.make_folder)
    needs_sync = _by_path(Storage.needs_sync)
    requests_at_once = _by_path(Storage.requests_at_once)
    without_links = _by_path(Storage.without_links)
    creates_exclusively = _by_path(Storage.creates_exclusively)
    pauses_s = _by_path(Storage.pauses_s)
    hadoop_uri = _by_path(Storage.hadoop_uri)
    hadoop_properties = _by_path(Storage.hadoop_properties)
    delta_options = _by_path(Storage.delta_options)

    def discard(self, output: BinaryIO, path: str) -> None:
        """Abandon an output that is not closed yet."""
        self._of(path).discard(output, path)

    def failure(self, action: str, path: str, text: str) -> PlaceError:
        """Return seglake's error for an error text of delta-rs at a path."""
        return self._of(path).failure(action, path, text)

    def sync(self, paths: Iterable[str]) -> None:
        """Make files durable, each in its own storage."""
        by_storage: dict[Storage, list[str]] = {}
        for path in paths:
            by_storage.setdefault(self._of(path), []).append(path)
        for storage, group in by_storage.items():
            storage.sync(group)

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
