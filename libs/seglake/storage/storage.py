"""Interface of storages; only its implementations open, list and write files.

Listings show all entries, including empty files and names that start with `_` or `.`, which Spark's
and Hadoop's listings hide. A storage pickles without its connections, so tasks may contain it.
"""

import contextlib
import posixpath
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import BinaryIO, NamedTuple, Protocol, Self

from seglake.storage.errors import NotFoundError, PlaceError, StorageError
from seglake.storage.hadoop_properties import HadoopProperties

_NO_PAUSES_S = (0.0,) * 5
_REMOTE_REQUESTS_AT_ONCE = 32


class FileInfo(NamedTuple):
    """Entry of a folder; its size and time are those of the listing.

    Attributes:
        problem: why the entry can be neither read nor listed, such as a broken link or a pipe;
            empty for files and folders.
    """

    path: str
    name: str
    size_bytes: int
    modified_at_ms: int
    is_folder: bool
    problem: str = ""


class Reader(Protocol):
    """An open file; its size is fixed when it is opened, even if the file grows later."""

    @property
    def size_bytes(self) -> int:
        """Return the size when the file was opened."""

    def read(self, position: int, length: int) -> bytes:
        """Return the bytes of `[position, min(position + length, size_bytes))`.

        Raises:
            FileShrankError: the file no longer has all of these bytes.
        """

    def __enter__(self) -> Self:
        """Return the reader itself."""

    def __exit__(self, *raised: object) -> None:
        """Close the file."""


class Storage(ABC):
    """Interface of a storage.

    All methods except `locate` take paths that `locate` has returned.

    Every method may raise StorageError; its subclasses are NotFoundError for a missing file and
    RefusedError if a retry is useless. A remote store that does not answer raises StoreSilentError.
    """

    @abstractmethod
    def locate(self, uri: str) -> str:
        """Return the absolute path of a URI, without a trailing slash; access nothing.

        As in Hadoop, percent signs are not decoded. Links are not resolved.

        Raises:
            UnsupportedUriError: the scheme or the host is not supported, or the path is empty.
        """

    @abstractmethod
    def list_folder(self, path: str) -> list[FileInfo]:
        """Return a folder's files, folders, and entries with a `problem`, sorted by name.

        Entries that vanish during the listing are omitted.
        """

    def list_after(self, folder: str, name: str) -> list[FileInfo]:
        """Return a folder's files whose names come after `name`, sorted; empty without the folder.

        This is cheaper than a full listing if the store can start at a name.
        """
        try:
            entries = self.list_folder(folder)
        except NotFoundError:
            return []
        return [entry for entry in entries if entry.name > name and not entry.is_folder]

    @abstractmethod
    def info(self, path: str) -> FileInfo | None:
        """Return a description of a file or folder; None if it does not exist."""

    def link_problem(self, path: str) -> str:
        """Return why a link is broken; empty for an intact link and for other paths."""
        return ""

    @abstractmethod
    def open_reader(self, path: str) -> Reader:
        """Open a file for reads at any position; use it in a `with` block."""

    def open_listed(self, path: str, size_bytes: int) -> Reader:
        """Open a file that never changes, such as an object of a remote tier.

        Knowing the listed size saves a request. A missing file may be noticed only at the first
        read.

        Args:
            path: the file.
            size_bytes: size of the file in its folder's listing.
        """
        return self.open_reader(path)

    @abstractmethod
    def read_bytes(self, path: str) -> bytes:
        """Return the whole content of a small file."""

    @abstractmethod
    def write_bytes(self, path: str, data: bytes) -> None:
        """Write a whole file, durable on return; readers see the old or the new content."""

    @abstractmethod
    def open_output(self, path: str) -> BinaryIO:
        """Create a new file, and its folder if missing; the content is durable after `sync`."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Delete a file, if it exists."""

    def delete_folder(self, path: str) -> None:
        """Delete a folder with its content, if it exists."""
        try:
            entries = self.list_folder(path)
        except NotFoundError:
            return
        for entry in entries:
            if entry.is_folder:
                self.delete_folder(entry.path)
            else:
                self.delete(entry.path)

    def discard(self, output: BinaryIO, path: str) -> None:
        """Abandon an output that is not closed yet, so that no file stays at its path."""
        with contextlib.suppress(OSError, StorageError):
            output.close()
        self.delete(path)

    @abstractmethod
    def make_folder(self, path: str) -> None:
        """Create a folder and its parents, if missing, durable on return."""

    @abstractmethod
    def sync(self, paths: Iterable[str]) -> None:
        """Make files and their folder entries durable, so that they survive a power cut."""

    def needs_sync(self, path: str) -> bool:
        """Return whether a power cut may undo a write until it is synced."""
        return True

    def requests_at_once(self, path: str) -> int:
        """Return how many requests should run in parallel on a path's storage."""
        return 1

    def join(self, path: str, *names: str) -> str:
        """Return the path of an entry below a folder; a name may contain slashes."""
        return posixpath.join(path, *names)

    def without_links(self, path: str) -> str:
        """Return the path with all links resolved."""
        return path

    def creates_exclusively(self, folder: str) -> bool:
        """Return whether only one of several writers can create the same file.

        The method may try this in `folder`.
        """
        return True

    def pauses_s(self, path: str) -> Sequence[float]:
        """Return the seconds to wait before each try of a commit."""
        return _NO_PAUSES_S

    def failure(self, action: str, path: str, text: str) -> PlaceError:
        """Return seglake's error for an error text of delta-rs at a path."""
        return StorageError(action=action, path=path, reason=text)

    def hadoop_uri(self, path: str) -> str:
        """Return the path as Spark and other Hadoop clients write it."""
        return path

    def hadoop_properties(self, path: str) -> Mapping[str, str]:
        """Return the properties that a Hadoop client needs for a path; may contain secrets."""
        return {}

    def delta_options(self, path: str) -> Mapping[str, str]:
        """Return the options that delta-rs needs for a path; may contain secrets."""
        return {}


class RemoteStorage(Storage):
    """Base of remote storages, where each write, close and rename is durable at once."""

    def __init__(self, properties: HadoopProperties) -> None:
        """Store the properties; no store is contacted yet."""
        self._properties = properties

    def sync(self, paths: Iterable[str]) -> None:
        """Do nothing, since all writes are durable at once."""

    def needs_sync(self, path: str) -> bool:
        """Return False, since all writes are durable at once."""
        return False

    def requests_at_once(self, path: str) -> int:
        """Return how many requests should run in parallel over a network."""
        return _REMOTE_REQUESTS_AT_ONCE
