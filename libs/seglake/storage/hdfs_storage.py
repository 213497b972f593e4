"""HDFS: `hdfs://host:port/path`, `hdfs://nameservice/path`, `hdfs:///path`, `viewfs://`. Effect.

A file is there from its creation and has its content, durable on the data nodes, when it is
closed: the client asks for that with each block's last packet. Changes of names are durable when
the name node answers.

hdfs-native is imported late: it is of no use to runs on local paths, and must not be loaded before
a process forks.
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

# A name node that was told to (dfs.namenode.avoid.write.stale.datanode) leaves out a data node
# after 30 s of silence; where there are many, another choice goes well sooner.
_SYNC_SECONDS = 10
_BLOCK_PAUSES_S = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0)
_COMMIT_PAUSES_S = (0.0, 0.0, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0)
_URI_CHARACTERS = "/:@!$&'()*+,;=~"  # that delta-rs leaves as they are


class _Place(NamedTuple):
    """A path on a name node, and the way to it."""

    client: "Client"
    access: HdfsAccess
    name: str
    path: str


class HdfsStorage(RemoteStorage):
    """Serves every name node and mount table, as the properties describe them."""

    def locate(self, uri: str) -> str:
        return hdfs_access.located(uri, self._properties)

    def list_folder(self, path: str) -> list[FileInfo]:
        place = self._place(path)
        with _named("list", place):
            found = list(place.client.list_status(place.name))
        if len(found) == 1 and found[0].path == place.name and not found[0].isdir:
            raise StorageError(action="list", path=path, reason="it is a file")
        entries = [_described(place.access.uri, status) for status in found]
        entries.sort(key=lambda entry: entry.name)
        return entries

    def info(self, path: str) -> FileInfo | None:
        place = self._place(path)
        with contextlib.suppress(NotFoundError), _named("look at", place):
            return _described(place.access.uri, place.client.get_file_info(place.name))
        return None

    def open_reader(self, path: str) -> Reader:
        return ReadAhead(_HdfsReader(self._place(path)))

    def read_bytes(self, path: str) -> bytes:
        with self.open_reader(path) as reader:
            return reader.read(0, reader.size_bytes)

    def write_bytes(self, path: str, data: bytes) -> None:
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
        return cast(BinaryIO, _HdfsOutput(self._place(path)))

    def discard(self, output: BinaryIO, path: str) -> None:
        if isinstance(output, _HdfsOutput):
            output.discard()
        self.delete(path)

    def delete(self, path: str) -> None:
        place = self._place(path)
        with contextlib.suppress(NotFoundError), _named("delete", place):
            place.client.delete(place.name)

    def delete_folder(self, path: str) -> None:
        place = self._place(path)
        with contextlib.suppress(NotFoundError), _named("delete", place):
            place.client.delete(place.name, recursive=True)

    def make_folder(self, path: str) -> None:
        place = self._place(path)
        with _named("make folder", place):
            place.client.mkdirs(place.name, place.access.folder_permission, create_parent=True)

    def pauses_s(self, path: str) -> Sequence[float]:
        return _COMMIT_PAUSES_S

    def failure(self, action: str, path: str, text: str) -> PlaceError:
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
        access = hdfs_access.access_of(path, self._properties)
        return _Place(hdfs_clients.client_of(access), access, hdfs_access.split(path)[1], path)


class _HdfsReader:
    """A `RangeReader`.

    Of a file that is still being written, the size is that of its finished blocks.
    """

    def __init__(self, place: _Place) -> None:
        self._place = place
        with _named("open", place):
            self._file = place.client.read(place.name)
        self.size_bytes = self._file.size

    def read(self, position: int, length: int) -> bytes:
        try:
            with _named("read", self._place):
                return self._file.read_range(position, length)
        except StorageError as error:
            raise self._changed(error) from None

    def _changed(self, error: StorageError) -> StorageError:
        """Say what became of the file, if that is why it cannot be read."""
        now = _HdfsReader(self._place)
        if now.size_bytes >= self.size_bytes:
            return error
        return FileShrankError(
            path=self._place.path, expected_bytes=self.size_bytes, found_bytes=now.size_bytes
        )


class _HdfsOutput(RemoteOutput):
    """A new file; its content is there to stay when it is closed.

    One that is discarded stays as it is, unfinished: whoever does so deletes it.
    """

    def __init__(self, place: _Place) -> None:
        super().__init__()
        self._place = place
        self._writer: RawFileWriter | None = None
        with _named("create", place):
            self._writer = _create(place)

    def _send(self, data: "ReadableBuffer") -> None:
        with _named("write", self._place):
            if self._position == 0 or self._writer is None:  # none only where nothing went well
                self._begin(data)
            else:
                self._writer.write(data)

    def _begin(self, data: "ReadableBuffer") -> None:
        """Write the first bytes, to other data nodes where one that was named does not answer.

        The client does not ask for others by itself; the name node names them by chance, and after
        a while knows better. Only the answer to a sync tells that all of them are there, and the
        client can wait for it without end; one that dies later is left out by the client.
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
        if self._writer is not None:
            with _named("write", self._place):
                self._writer.close()

    def _forget(self) -> None:
        self._writer = None


def _create(place: _Place) -> "RawFileWriter":
    """Create a file; what the client wraps around this would finish it when it is let go."""
    from hdfs_native import WriteOptions

    options = WriteOptions(
        permission=place.access.file_permission, overwrite=False, create_parent=True
    )
    return place.client.inner.create(place.name, options)


@contextlib.contextmanager
def _named(action: str, place: _Place) -> Iterator[None]:
    """Turn the client's errors into ours; theirs have stacks of Java in them."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        raise error_of(action, place.path, error, place.access.uri) from None


def _described(uri: str, found: "FileStatus") -> FileInfo:
    return FileInfo(
        path=f"{uri}{found.path}",
        name=posixpath.basename(found.path),
        size_bytes=found.length,
        modified_at_ms=found.modification_time,
        is_folder=found.isdir,
    )
