"""Storage on HDFS: `hdfs://host:port/path`, `hdfs://nameservice/path`, `viewfs://`.

A file exists from its creation on. Its content is durable on the data nodes when it is closed,
because the client requests a sync with each block's last packet. Renames and deletions are durable
once the name node answers.

hdfs-native is imported late, because runs on local paths do not need it, and it must not be loaded
before a process forks.
"""

import contextlib
import posixpath
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, cast
from urllib.parse import quote

from seglake.storage import hdfs_access, hdfs_clients
from seglake.storage.daemon_call import called
from seglake.storage.errors import (
    FileShrankError,
    LakeFolderError,
    NotFoundError,
    PlaceError,
    StorageError,
)
from seglake.storage.hdfs_access import HdfsAccess
from seglake.storage.hdfs_errors import error_of, failure, has_no_sync, is_passing
from seglake.storage.read_ahead import ReadAhead
from seglake.storage.remote_output import RemoteOutput
from seglake.storage.storage import FileInfo, Reader, RemoteStorage

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer
    from hdfs_native import Client, FileStatus
    from hdfs_native._internal import RawFileWriter

# The name node stops choosing a data node that was silent for 30 s
# (dfs.namenode.avoid.write.stale.datanode), if so configured; with many nodes, a retry reaches
# other nodes sooner.
_SYNC_SECONDS = 10
_BLOCK_PAUSES_S = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0)
_COMMIT_PAUSES_S = (0.0, 0.0, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0)
_URI_CHARACTERS = "/:@!$&'()*+,;=~"  # characters that delta-rs does not encode in a URI


class _Place(NamedTuple):
    """Path with its client, and the path's name on the name node."""

    client: "Client"
    access: HdfsAccess
    name: str
    path: str


class HdfsStorage(RemoteStorage):
    """Storage on all name nodes and mount tables in the properties."""

    def locate(self, uri: str) -> str:
        """Return the normalized path of a URI; see `hdfs_access.located`."""
        return hdfs_access.located(uri, self._properties)

    def list_folder(self, path: str) -> list[FileInfo]:
        """Return the entries of a folder, sorted by name."""
        place = self._place(path)
        with _named("list", place):
            found = list(place.client.list_status(place.name))
        if len(found) == 1 and found[0].path == place.name and not found[0].isdir:
            raise StorageError(action="list", path=path, reason="it is a file")
        entries = [_described(place.access.uri, status) for status in found]
        entries.sort(key=lambda entry: entry.name)
        return entries

    def info(self, path: str) -> FileInfo | None:
        """Return a description of a file or folder; None if it does not exist."""
        place = self._place(path)
        with contextlib.suppress(NotFoundError), _named("access", place):
            return _described(place.access.uri, place.client.get_file_info(place.name))
        return None

    def open_reader(self, path: str) -> Reader:
        """Open a file for reads at any position; the reader reads ahead."""
        return ReadAhead(_HdfsReader(self._place(path)))

    def read_bytes(self, path: str) -> bytes:
        """Return the whole content of a small file."""
        with self.open_reader(path) as reader:
            return reader.read(0, reader.size_bytes)

    def write_bytes(self, path: str, data: bytes) -> None:
        """Write a whole file under a temporary name, and rename it."""
        folder, _, name = path.rpartition("/")
        unfinished = self._place(f"{folder}/.{name}.{uuid.uuid4().hex}.tmp")
        with _named("write", self._place(path)):
            try:
                with _HdfsOutput(unfinished) as output:
                    output.write(data)
                unfinished.client.rename(unfinished.name, self._place(path).name, overwrite=True)
            except BaseException:
                with contextlib.suppress(OSError, RuntimeError):
                    unfinished.client.delete(unfinished.name)
                raise

    def open_output(self, path: str) -> BinaryIO:
        """Create a new file for writing; its content is durable once it is closed."""
        return cast(BinaryIO, _HdfsOutput(self._place(path)))

    def discard(self, output: BinaryIO, path: str) -> None:
        """Abandon an output that is not closed yet, and delete its file."""
        if isinstance(output, _HdfsOutput):
            output.discard()
        self.delete(path)

    def delete(self, path: str) -> None:
        """Delete a file, if it exists."""
        place = self._place(path)
        with contextlib.suppress(NotFoundError), _named("delete", place):
            place.client.delete(place.name)

    def delete_folder(self, path: str) -> None:
        """Delete a folder with its content, if it exists."""
        place = self._place(path)
        with contextlib.suppress(NotFoundError), _named("delete", place):
            place.client.delete(place.name, recursive=True)

    def make_folder(self, path: str) -> None:
        """Create a folder and missing parents, with the configured umask."""
        place = self._place(path)
        with _named("make folder", place):
            place.client.mkdirs(place.name, place.access.folder_permission, create_parent=True)

    def pauses_s(self, path: str) -> Sequence[float]:
        """Return the seconds to wait before each try of a commit, while a stand-by takes over."""
        return _COMMIT_PAUSES_S

    def failure(self, action: str, path: str, text: str) -> PlaceError:
        """Return seglake's error for an error text of delta-rs."""
        return failure(action, path, text, hdfs_access.split(path)[0])

    def delta_options(self, path: str) -> Mapping[str, str]:
        """Return the client's properties for delta-rs, with the active name node in first place.

        Raises:
            LakeFolderError: delta-rs would encode a character of the name, and so write to another
                path.
        """
        _, name = hdfs_access.split(path)
        if quote(name, safe=_URI_CHARACTERS) != name:
            reason = "on HDFS its name may only have letters, digits and -_.~="
            raise LakeFolderError(path=path, reason=reason)
        return hdfs_clients.config_now(hdfs_access.access_of(path, self._properties))

    def _place(self, path: str) -> _Place:
        """Return the client of a path's name node, and the path's name there."""
        access = hdfs_access.access_of(path, self._properties)
        return _Place(hdfs_clients.client_of(access), access, hdfs_access.split(path)[1], path)


class _HdfsReader:
    """Reader of ranges of one file.

    If the file is still being written, its size has only the finished blocks.
    """

    def __init__(self, place: _Place) -> None:
        """Open the file, and fix its size."""
        self._place = place
        with _named("open", place):
            self._file = place.client.read(place.name)
        self.size_bytes = self._file.size

    def read(self, position: int, length: int) -> bytes:
        """Return a range of bytes; raise FileShrankError if the file has become shorter."""
        try:
            with _named("read", self._place):
                return self._file.read_range(position, length)
        except StorageError as error:
            raise self._changed(error) from None

    def _changed(self, error: StorageError) -> StorageError:
        """Return FileShrankError if the file has become shorter; else the error itself."""
        now = _HdfsReader(self._place)
        if now.size_bytes >= self.size_bytes:
            return error
        return FileShrankError(
            path=self._place.path, expected_bytes=self.size_bytes, found_bytes=now.size_bytes
        )


class _HdfsOutput(RemoteOutput):
    """New file on HDFS, whose content is durable once it is closed.

    Discarding leaves an unfinished file on HDFS, which the caller deletes.
    """

    def __init__(self, place: _Place) -> None:
        """Create the file."""
        super().__init__()
        self._place = place
        self._writer: RawFileWriter | None = None
        with _named("create", place):
            self._writer = _create(place)

    def _send(self, data: "ReadableBuffer") -> None:
        """Append bytes to the file on HDFS."""
        with _named("write", self._place):
            if self._position == 0 or self._writer is None:  # nothing has been written yet
                self._begin(data)
            else:
                self._writer.write(data)

    def _begin(self, data: "ReadableBuffer") -> None:
        """Write the first bytes; if a chosen data node does not answer, retry on other nodes.

        The client itself does not ask for other data nodes. The name node chooses data nodes at
        random, and avoids silent ones only after a while. Only the answer to a sync proves that all
        chosen nodes work, and the client may wait for that answer forever. If a data node dies
        later, the client replaces it.
        """
        failure: Exception
        for pause_s in _BLOCK_PAUSES_S:
            time.sleep(pause_s)
            writer = self._writer = self._writer or _create(self._place)
            try:
                writer.write(data)
                called(writer.hsync).result(_SYNC_SECONDS)
                return
            except TimeoutError:
                failure = OSError(f"a data node acknowledged nothing for {_SYNC_SECONDS} s")
            except (OSError, RuntimeError) as error:
                if has_no_sync(str(error)):  # closing it still awaits all data nodes
                    return
                if not is_passing(str(error)):
                    raise
                failure = error
            self._writer = None
            self._place.client.delete(self._place.name)
        raise failure

    def _finish(self) -> None:
        """Close the file, which makes it durable."""
        if self._writer is not None:
            with _named("write", self._place):
                self._writer.close()

    def _forget(self) -> None:
        """Abandon the writer without closing the file."""
        self._writer = None


def _create(place: _Place) -> "RawFileWriter":
    """Create a file with the raw writer, and the folders that it needs.

    The client's wrapper would complete abandoned files. Folders are created by a separate call:
    folders created together with a file get the name node's permissions instead of the configured
    umask's.
    """
    from hdfs_native import WriteOptions

    options = WriteOptions(
        permission=place.access.file_permission, overwrite=False, create_parent=False
    )
    try:
        return place.client.inner.create(place.name, options)
    except FileNotFoundError:
        folder, permission = posixpath.dirname(place.name), place.access.folder_permission
        place.client.mkdirs(folder, permission, create_parent=True)
        return place.client.inner.create(place.name, options)


@contextlib.contextmanager
def _named(action: str, place: _Place) -> Iterator[None]:
    """Turn the client's errors into seglake's errors, without Java stack traces."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        raise error_of(action, place.path, error, place.access.uri) from None


def _described(uri: str, found: "FileStatus") -> FileInfo:
    """Return the entry of a file or folder in a folder's listing."""
    return FileInfo(
        path=f"{uri}{found.path}",
        name=posixpath.basename(found.path),
        size_bytes=found.length,
        modified_at_ms=found.modification_time,
        is_folder=found.isdir,
    )
