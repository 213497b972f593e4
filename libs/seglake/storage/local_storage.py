"""Storage on local and mounted file systems."""

import contextlib
import errno
import io
import os
import posixpath
import re
import shutil
import stat
import sys
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Self

from seglake.storage.errors import (
    FileShrankError,
    NotFoundError,
    PlaceError,
    RefusedError,
    StorageError,
    UnsupportedUriError,
)
from seglake.storage.storage import FileInfo, Reader, Storage

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_OUTPUT_BUFFER_BYTES = 1 << 20
_REFUSALS = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP}
)
# error number in an error text of Rust
_ERROR_NUMBER = re.compile(r"(?:\(os error |Os \{ code: )([0-9]+)")


@contextlib.contextmanager
def _named(action: str, path: str) -> Iterator[None]:
    """Turn the operating system's errors into seglake's errors, with the action and the path."""
    try:
        yield
    except FileNotFoundError as error:
        raise NotFoundError(action=action, path=path) from error
    except OSError as error:
        kind = RefusedError if error.errno in _REFUSALS else StorageError
        raise kind(action=action, path=path, reason=error.strerror or str(error)) from error


def _described(path: str, name: str, status: os.stat_result) -> FileInfo:
    """Return the entry of a path in its folder's listing.

    The entry has a problem unless the path is a file or a folder.
    """
    is_folder = stat.S_ISDIR(status.st_mode)
    is_known = is_folder or stat.S_ISREG(status.st_mode)
    return FileInfo(
        path,
        name,
        status.st_size,
        status.st_mtime_ns // 1_000_000,
        is_folder,
        "" if is_known else "it is neither a file nor a folder",
    )


def _link_problem(path: str) -> str:
    """Return why a link is broken.

    The result is empty if the link is intact or has vanished, or if the path is no link.
    """
    try:
        target = os.readlink(path)  # noqa: PTH115  (Path would normalize the target)
    except OSError:
        return ""
    try:
        Path(path).stat()
    except OSError as error:
        reason = ", which does not exist" if error.errno == errno.ENOENT else f": {error.strerror}"
        return f"it is a link to {target}{reason}"
    return ""


class LocalStorage(Storage):
    """Storage for plain paths, `file:/path` and `file:///path`."""

    def locate(self, uri: str) -> str:
        """Return the absolute, normalized path of a plain path or a file URI."""
        match = _SCHEME.match(uri)
        if match is None:
            path = uri
        elif match[1].lower() == "file":
            path = _path_of_file_uri(uri, uri[match.end() :])
        else:
            raise _unsupported(uri)
        if not path or "\0" in path:
            raise _unsupported(uri)
        return posixpath.normpath(posixpath.join(Path.cwd(), path)).replace("//", "/")

    def list_folder(self, path: str) -> list[FileInfo]:
        """Return the entries of a folder, sorted by name."""
        return self._listed(path)

    def list_after(self, folder: str, name: str) -> list[FileInfo]:
        """Return a folder's files whose names come after `name`; other entries are not examined."""
        try:
            listed = self._listed(folder, after=name)
        except NotFoundError:
            return []
        return [entry for entry in listed if not (entry.is_folder or entry.problem)]

    def _listed(self, path: str, *, after: str = "") -> list[FileInfo]:
        """Return a folder's entries whose names come after `after`, sorted by name."""
        entries = []
        with _named("list", path), os.scandir(path) as found:
            for entry in found:
                if entry.name <= after:
                    continue
                try:
                    status = entry.stat()
                except OSError as error:
                    if problem := _link_problem(entry.path):
                        entries.append(FileInfo(entry.path, entry.name, 0, 0, False, problem))
                    elif not isinstance(error, FileNotFoundError):
                        raise
                else:
                    entries.append(_described(entry.path, entry.name, status))
        entries.sort()  # all paths begin with the folder's path, so this sorts by name
        return entries

    def info(self, path: str) -> FileInfo | None:
        """Return a description of a file or folder; None if it does not exist."""
        try:
            with _named("access", path):
                status = os.stat(path)  # noqa: PTH116  (Path would double the time)
        except NotFoundError:
            return None
        return _described(path, posixpath.basename(path), status)

    def link_problem(self, path: str) -> str:
        """Return why a link is broken; empty for an intact link and for other paths."""
        return _link_problem(path)

    def open_reader(self, path: str) -> Reader:
        """Open a file for reads at any position."""
        return _LocalReader(path)

    def read_bytes(self, path: str) -> bytes:
        """Return the whole content of a small file."""
        # `Path.read_bytes` would take twice as long for a small file.
        with _named("read", path), open(path, "rb") as file:  # noqa: PTH123
            return file.read()

    def write_bytes(self, path: str, data: bytes) -> None:
        """Write a whole file under a temporary name, sync it, rename it, and sync the folder."""
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
            _sync(target.parent)

    def open_output(self, path: str) -> BinaryIO:
        """Create a new file for writing, buffered; `sync` makes it durable."""
        with _named("create", path):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            return io.BufferedWriter(_LocalOutput(path, "x"), _OUTPUT_BUFFER_BYTES)

    def failure(self, action: str, path: str, text: str) -> PlaceError:
        """Return seglake's error for an error text of delta-rs, by the error number in it."""
        found = _ERROR_NUMBER.search(text)
        if found is None:
            return StorageError(action=action, path=path, reason=text)
        number = int(found[1])
        kind = RefusedError if number in _REFUSALS else StorageError
        return kind(action=action, path=path, reason=os.strerror(number))

    def without_links(self, path: str) -> str:
        """Return the path with all links resolved."""
        return str(Path(path).resolve())

    def delete(self, path: str) -> None:
        """Delete a file, if it exists."""
        with _named("delete", path):
            Path(path).unlink(missing_ok=True)

    def delete_folder(self, path: str) -> None:
        """Delete a folder with its content, if it exists."""
        with contextlib.suppress(NotFoundError), _named("delete", path):
            shutil.rmtree(path)

    def make_folder(self, path: str) -> None:
        """Create a folder and missing parents, and sync the folders that got new entries."""
        folder = Path(path)
        with _named("make folder", path):
            missing = [new for new in (folder, *folder.parents) if not new.exists()]
            folder.mkdir(parents=True, exist_ok=True)
            for new in missing:
                _sync(new.parent)

    def sync(self, paths: Iterable[str]) -> None:
        """Sync files, their folders and the parents of these folders."""
        files = [Path(path) for path in paths]
        for file in files:
            with _named("sync", str(file)):
                _sync(file)
        folders = {file.parent for file in files}
        # A partition folder may be as new as its file, so its entry must be durable, too.
        for folder in sorted(folders | {folder.parent for folder in folders}):
            with _named("sync", str(folder)):
                _sync(folder)


def _sync(path: Path) -> None:
    """Sync a file or a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class _LocalOutput(io.FileIO):
    """New file that the kernel starts writing to disk on close, which shortens later commits.

    On Linux the advice DONTNEED starts writing dirty pages (`generic_fadvise` in mm/fadvise.c). It
    does not wait for the disk, and errors still appear at `fsync`. Pages that are already on disk
    are dropped from the page cache.
    """

    def close(self) -> None:
        """Advise the kernel to start writing, and close the file."""
        if sys.platform == "linux" and not self.closed:
            with contextlib.suppress(OSError):  # the advice is optional
                os.posix_fadvise(self.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        super().close()


class _LocalReader:
    """Reader that threads may share, since it stores no position.

    Leaving the `with` block closes it.
    """

    def __init__(self, path: str) -> None:
        """Open a file, and store its size; raise StorageError for anything but a file."""
        with _named("open", path):
            # do not wait for the other end of a pipe
            self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            status = os.fstat(self._descriptor)
        self._path = path
        self._is_closed = False
        self.size_bytes = status.st_size
        if not stat.S_ISREG(status.st_mode):
            self._close()
            what = "a folder" if stat.S_ISDIR(status.st_mode) else "neither a file nor a folder"
            raise StorageError(action="open", path=path, reason=f"it is {what}")

    def read(self, position: int, length: int) -> bytes:
        """Return the bytes of `[position, min(position + length, size_bytes))`.

        Raises:
            FileShrankError: the file no longer has all of these bytes.
        """
        end = min(position + length, self.size_bytes)
        if position < 0 or position >= end:
            return b""
        data = b""
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
        """Return the reader itself."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Close the descriptor."""
        self._close()

    def _close(self) -> None:
        """Close the descriptor, once."""
        if not self._is_closed:
            self._is_closed = True
            os.close(self._descriptor)


def _path_of_file_uri(uri: str, rest: str) -> str:
    """Return the path in a file URI; `rest` is the URI without its scheme."""
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        if host not in ("", "localhost"):
            raise _unsupported(uri)
        return slash + path
    if not rest.startswith("/"):
        raise _unsupported(uri)
    return rest


def _unsupported(uri: str) -> UnsupportedUriError:
    """Return the error of a URI that is not a local path."""
    return UnsupportedUriError(uri=uri, schemes=("a plain path", "file:/path", "file:///path"))
