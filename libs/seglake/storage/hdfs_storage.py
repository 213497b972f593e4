"""HDFS: `hdfs://host:port/path`, `hdfs://nameservice/path`, `hdfs:///path`, `viewfs://`. Effect.

A file exists from its creation. Its content is durable on the data nodes once it is closed: the
client requests that with each block's last packet. Changes of names are durable once the name node
answers.

hdfs-native is imported late: runs on local paths do not need it, and it must not be loaded before a
process forks.
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
from seglake.storage.hdfs_errors import error_of, failure, is_passing
from seglake.storage.read_ahead import ReadAhead
from seglake.storage.remote_output import RemoteOutput
from seglake.storage.storage import FileInfo, Reader, RemoteStorage

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer
    from hdfs_native import Client, FileStatus
    from hdfs_native._internal import RawFileWriter

# With dfs.namenode.avoid.write.stale.datanode, a name node leaves out a data node after 30 s of
# silence; with many data nodes, another choice succeeds sooner.
_SYNC_SECONDS = 10
_BLOCK_PAUSES_S = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0)
_COMMIT_PAUSES_S = (0.0, 0.0, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0)
_URI_CHARACTERS = "/:@!$&'()*+,;=~"  # characters that delta-rs does not encode


class _Place(NamedTuple):
    """A path on a name node, with its client."""

    client: "Client"
    access: HdfsAccess
    name: str
    path: str


class HdfsStorage(RemoteStorage):
    """Storage on every name node and mount table that the properties describe."""

    def locate(self, uri: str) -> str:
        """Return the whole path of a URI; see `hdfs_access.located`."""
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
        with contextlib.suppress(NotFoundError), _named("look at", place):
            return _described(place.access.uri, place.client.get_file_info(place.name))
        return None

    def open_reader(self, path: str) -> Reader:
        """Open a file for reads at any position, with reading ahead."""
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
        """Give up an output that is not closed yet, and delete its file."""
        if isinstance(output, _HdfsOutput):
            output.discard()
        self.delete(path)

    def delete(self, path: str) -> None:
        """Delete a file, if it exists."""
        place = self._place(path)
        with contextlib.suppress(NotFoundError), _named("delete", place):
            place.client.delete(place.name)

    def delete_folder(self, path: str) -> None:
        """Delete a folder with all that is in it, if it exists."""
        place = self._place(path)
        with contextlib.suppress(NotFoundError), _named("delete", place):
            place.client.delete(place.name, recursive=True)

    def make_folder(self, path: str) -> None:
        """Create a folder and those above it, with the user's permissions."""
        place = self._place(path)
        with _named("make folder", place):
            place.client.mkdirs(place.name, place.access.folder_permission, create_parent=True)

    def pauses_s(self, path: str) -> Sequence[float]:
        """Return longer pauses than on a disk, in which a stand-by name node can take over."""
        return _COMMIT_PAUSES_S

    def failure(self, action: str, path: str, text: str) -> PlaceError:
        """Return our error for a text of delta-rs."""
        return failure(action, path, text, hdfs_access.split(path)[0])

    def delta_options(self, path: str) -> Mapping[str, str]:
        """Return the client's properties, the name node that is active now as the first.

        Raises:
            LakeFolderError: delta-rs would write a folder of another name.
        """
        _, name = hdfs_access.split(path)
        if quote(name, safe=_URI_CHARACTERS) != name:
            reason = "on HDFS its name may have letters, digits and -_.~= only"
            raise LakeFolderError(path=path, reason=reason)
        return hdfs_clients.config_now(hdfs_access.access_of(path, self._properties))

    def _place(self, path: str) -> _Place:
        """Return a path's client and its path on the name node."""
        access = hdfs_access.access_of(path, self._properties)
        return _Place(hdfs_clients.client_of(access), access, hdfs_access.split(path)[1], path)


class _HdfsReader:
    """Reader of one file by ranges.

    The size of a file that is still being written is that of its finished blocks.
    """

    def __init__(self, place: _Place) -> None:
        """Open the file, and fix its size."""
        self._place = place
        with _named("open", place):
            self._file = place.client.read(place.name)
        self.size_bytes = self._file.size

    def read(self, position: int, length: int) -> bytes:
        """Return a range of bytes; say so if the file has become shorter."""
        try:
            with _named("read", self._place):
                return self._file.read_range(position, length)
        except StorageError as error:
            raise self._changed(error) from None

    def _changed(self, error: StorageError) -> StorageError:
        """Return the error, or that the file shrank, if that explains it."""
        now = _HdfsReader(self._place)
        if now.size_bytes >= self.size_bytes:
            return error
        return FileShrankError(
            path=self._place.path, expected_bytes=self.size_bytes, found_bytes=now.size_bytes
        )


class _HdfsOutput(RemoteOutput):
    """A new file whose content is durable once it is closed.

    A discarded output stays unfinished on HDFS: the caller deletes the file.
    """

    def __init__(self, place: _Place) -> None:
        """Create the file."""
        super().__init__()
        self._place = place
        self._writer: RawFileWriter | None = None
        with _named("create", place):
            self._writer = _create(place)

    def _send(self, data: "ReadableBuffer") -> None:
        """Append bytes."""
        with _named("write", self._place):
            if self._position == 0 or self._writer is None:  # no writer: no write has succeeded yet
                self._begin(data)
            else:
                self._writer.write(data)

    def _begin(self, data: "ReadableBuffer") -> None:
        """Write the first bytes, to other data nodes if one of the chosen ones does not answer.

        The client does not ask for other data nodes by itself. The name node chooses them at
        random, and after a while leaves out silent ones. Only the answer to a sync proves that all
        of them work, and the client may wait for it forever. The client itself handles a data node
        that dies later.
        """
        failure: Exception
        for pause_s in _BLOCK_PAUSES_S:
            time.sleep(pause_s)
            writer = self._writer = self._writer or _create(self._place)
            try:
                writer.write(data)
                called(writer.hsync).result(_SYNC_SECONDS)
                return
            except NotImplementedError:  # files with erasure codes have no sync
                return
            except TimeoutError:
                failure = OSError(f"a data node acknowledged nothing for {_SYNC_SECONDS} s")
            except (OSError, RuntimeError) as error:
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
        """Release the writer without closing the file."""
        self._writer = None


def _create(place: _Place) -> "RawFileWriter":
    """Create a file with the bare writer: the client's wrapper would finish abandoned files."""
    from hdfs_native import WriteOptions

    options = WriteOptions(
        permission=place.access.file_permission, overwrite=False, create_parent=True
    )
    return place.client.inner.create(place.name, options)


@contextlib.contextmanager
def _named(action: str, place: _Place) -> Iterator[None]:
    """Turn the client's errors into ours, without Java stack traces."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        raise error_of(action, place.path, error, place.access.uri) from None


def _described(uri: str, found: "FileStatus") -> FileInfo:
    """Return the entry of a file or folder."""
    return FileInfo(
        path=f"{uri}{found.path}",
        name=posixpath.basename(found.path),
        size_bytes=found.length,
        modified_at_ms=found.modification_time,
        is_folder=found.isdir,
    )
