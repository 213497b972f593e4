"""Opens, lists and writes files: the one module that does. Effect.

Listings show what is on the disk: names that start with `_` or `.` and empty files too, which
Spark's and Hadoop's listings hide. A storage has no state and pickles, so tasks may carry it.
"""

import contextlib
import os
import posixpath
import re
import stat
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, NamedTuple, Protocol, Self

from lake.errors import FileShrankError, NotFoundError, StorageError, UnsupportedUriError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_OUTPUT_BUFFER_BYTES = 1 << 20
_NOT_SUPPORTED_YET = {"s3": "S3", "s3a": "S3", "hdfs": "HDFS"}


class FileInfo(NamedTuple):
    """One entry of a folder; size and time are those of the moment it was listed."""

    path: str
    name: str
    size_bytes: int
    modified_at_ms: int
    is_folder: bool


class Reader(Protocol):
    """An open file of a size that was fixed when it was opened, though it may have grown since."""

    @property
    def size_bytes(self) -> int: ...

    def read(self, position: int, length: int) -> bytes:
        """Return the bytes of `[position, min(position + length, size_bytes))`.

        Raises:
            FileShrankError: the file no longer reaches that far.
        """

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


class Storage(ABC):
    """What a place for files must be able to do; paths are those that `open_storage` returned.

    Every method raises StorageError, and NotFoundError where something should be there and is not.
    """

    @abstractmethod
    def list_folder(self, path: str) -> list[FileInfo]:
        """List one level, sorted by name: files and folders.

        Left out is what vanishes meanwhile, and what is neither (a pipe, a link to nowhere).
        """

    @abstractmethod
    def info(self, path: str) -> FileInfo | None:
        """Describe a file or folder; None when there is none."""

    @abstractmethod
    def open_reader(self, path: str) -> Reader:
        """Open a file for reads at any position; use it in a `with` block."""

    @abstractmethod
    def read_bytes(self, path: str) -> bytes:
        """Return the whole content of a small file."""

    @abstractmethod
    def write_bytes(self, path: str, data: bytes) -> None:
        """Put a whole file, durable on return; readers see the old content or the new, no mix."""

    @abstractmethod
    def open_output(self, path: str) -> BinaryIO:
        """Create a file that is not there yet and its folder; the content is not yet durable."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Make sure that no file is at the path; that none was there is fine."""

    @abstractmethod
    def make_folder(self, path: str) -> None:
        """Make sure that the folder and those above it exist, durable on return."""

    @abstractmethod
    def sync(self, paths: Iterable[str]) -> None:
        """Make files, and their names in their folders, survive a power cut."""

    def join(self, path: str, *names: str) -> str:
        """Return the path of something below a folder; names may hold slashes."""
        return posixpath.join(path, *names)

    def without_links(self, path: str) -> str:
        """Return where a path really leads; most storages have no links."""
        return path


def open_storage(uri: str) -> tuple[Storage, str]:
    """Choose the storage for a URI; touches nothing.

    Takes plain paths, `file:/path` and `file:///path`. As in Hadoop, percent signs are not
    decoded. The path returned is absolute, without a trailing slash; links are not resolved.

    Raises:
        UnsupportedUriError: another scheme, another host, or nothing at all.
    """
    match = _SCHEME.match(uri)
    if match is None:
        path = uri
    elif match[1].lower() == "file":
        path = _path_of_file_uri(uri, uri[match.end() :])
    else:
        raise _unsupported(uri)
    if not path or "\0" in path:
        raise _unsupported(uri)
    return LocalStorage(), posixpath.normpath(posixpath.join(Path.cwd(), path)).replace("//", "/")


def _path_of_file_uri(uri: str, rest: str) -> str:
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        if host not in ("", "localhost"):
            raise _unsupported(uri)
        return slash + path
    if not rest.startswith("/"):
        raise _unsupported(uri)
    return rest


def _unsupported(uri: str) -> UnsupportedUriError:
    scheme = _SCHEME.match(uri)
    return UnsupportedUriError(
        uri=uri,
        schemes=("a plain path", "file:/path", "file:///path"),
        place=None if scheme is None else _NOT_SUPPORTED_YET.get(scheme[1].lower()),
    )


@contextlib.contextmanager
def _named(action: str, path: str) -> Iterator[None]:
    """Turn the operating system's errors into ours, which name the action and the path."""
    try:
        yield
    except FileNotFoundError as error:
        raise NotFoundError(action=action, path=path) from error
    except OSError as error:
        raise StorageError(action=action, path=path, reason=error.strerror or str(error)) from error


def _described(path: str, name: str, status: os.stat_result) -> FileInfo:
    return FileInfo(
        path=path,
        name=name,
        size_bytes=status.st_size,
        modified_at_ms=status.st_mtime_ns // 1_000_000,
        is_folder=stat.S_ISDIR(status.st_mode),
    )


class LocalStorage(Storage):
    """The machine's own file system, or one that is mounted into it."""

    def list_folder(self, path: str) -> list[FileInfo]:
        entries = []
        with _named("list", path), os.scandir(path) as found:
            for entry in found:
                with contextlib.suppress(FileNotFoundError):
                    status = entry.stat()
                    if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
                        entries.append(_described(entry.path, entry.name, status))
        entries.sort(key=lambda entry: entry.name)
        return entries

    def info(self, path: str) -> FileInfo | None:
        try:
            with _named("look at", path):
                status = os.stat(path)  # noqa: PTH116  (Path costs as much as the call)
        except NotFoundError:
            return None
        return _described(path, posixpath.basename(path), status)

    def open_reader(self, path: str) -> Reader:
        return _LocalReader(path)

    def read_bytes(self, path: str) -> bytes:
        with _named("read", path):
            return Path(path).read_bytes()

    def write_bytes(self, path: str, data: bytes) -> None:
        target = Path(path)
        self.make_folder(str(target.parent))
        unfinished = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
        with _named("write", path):
            try:
                with unfinished.open("xb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                unfinished.replace(target)
            except BaseException:
                unfinished.unlink(missing_ok=True)
                raise
            _sync_folder(target.parent)

    def open_output(self, path: str) -> BinaryIO:
        with _named("create", path):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            return Path(path).open("xb", buffering=_OUTPUT_BUFFER_BYTES)

    def without_links(self, path: str) -> str:
        return str(Path(path).resolve())

    def delete(self, path: str) -> None:
        with _named("delete", path):
            Path(path).unlink(missing_ok=True)

    def make_folder(self, path: str) -> None:
        folder = Path(path)
        with _named("make folder", path):
            missing = [new for new in (folder, *folder.parents) if not new.exists()]
            folder.mkdir(parents=True, exist_ok=True)
            for new in missing:
                _sync_folder(new.parent)

    def sync(self, paths: Iterable[str]) -> None:
        files = [Path(path) for path in paths]
        for file in files:
            with _named("sync", str(file)):
                _sync_file(file)
        folders = {file.parent for file in files}
        # A partition folder may be as new as the file in it: its own name must last too.
        for folder in sorted(folders | {folder.parent for folder in folders}):
            with _named("sync", str(folder)):
                _sync_folder(folder)


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_sync_folder = _sync_file  # a folder is opened and synced like a file


class _LocalReader:
    """Reads by position, so threads may share it; the descriptor is closed on leaving `with`."""

    def __init__(self, path: str) -> None:
        with _named("open", path):
            self._descriptor = os.open(path, os.O_RDONLY)
            status = os.fstat(self._descriptor)
        self._path = path
        self._is_closed = False
        self.size_bytes = status.st_size
        if stat.S_ISDIR(status.st_mode):
            self._close()
            raise StorageError(action="open", path=path, reason="it is a folder")

    def read(self, position: int, length: int) -> bytes:
        end = min(position + length, self.size_bytes)
        if position < 0 or position >= end:
            return b""
        with _named("read", self._path):
            data = os.pread(self._descriptor, end - position, position)
        while len(data) < end - position:
            with _named("read", self._path):
                more = os.pread(self._descriptor, end - position - len(data), position + len(data))
            if not more:
                raise FileShrankError(
                    path=self._path,
                    expected_bytes=self.size_bytes,
                    found_bytes=position + len(data),
                )
            data += more
        return data

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._close()

    def _close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            os.close(self._descriptor)
