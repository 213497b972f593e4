"""Port to places for files; only its implementations open, list and write files.

Listings show all entries, also names that start with `_` or `.` and empty files, which Spark's and
Hadoop's listings hide. A storage pickles without its connections, so tasks may contain it.
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
    """One entry of a folder; size and time are those when it was listed.

    Attributes:
        problem: reason why it can be neither read nor listed, such as a broken link or a pipe;
            empty for files and folders.
    """

    path: str
    name: str
    size_bytes: int
    modified_at_ms: int
    is_folder: bool
    problem: str = ""


class Reader(Protocol):
    """An open file of a fixed size: the size when it was opened, though it may have grown since."""

    @property
    def size_bytes(self) -> int:
        """Return the size when the file was opened."""

    def read(self, position: int, length: int) -> bytes:
        """Return the bytes of `[position, min(position + length, size_bytes))`.

        Raises:
            FileShrankError: the file no longer reaches that far.
        """

    def __enter__(self) -> Self:
        """Return the reader itself."""

    def __exit__(self, *raised: object) -> None:
        """Close the file."""


class Storage(ABC):
    """Interface of a place for files; paths are those that `locate` returned.

    Every method raises StorageError, NotFoundError if a required file is missing, RefusedError if a
    retry is useless, and StoreSilentError if nobody answers.
    """

    @abstractmethod
    def locate(self, uri: str) -> str:
        """Return the absolute path of a URI, without a trailing slash; touches nothing.

        As in Hadoop, percent signs are not decoded. Links are not resolved.

        Raises:
            UnsupportedUriError: another scheme, another host, or an empty path.
        """

    @abstractmethod
    def list_folder(self, path: str) -> list[FileInfo]:
        """Return a folder's files, folders, and entries with a `problem`, sorted by name.

        Entries that vanish meanwhile are left out.
        """

    def list_after(self, folder: str, name: str) -> list[FileInfo]:
        """Return a folder's files whose names come after `name`, sorted; none without it.

        It is cheaper than a full listing if the store can start at a name.
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
        """Return why a link is broken; empty if it is not, and for anything that is not a link."""
        return ""

    @abstractmethod
    def open_reader(self, path: str) -> Reader:
        """Open a file for reads at any position; use it in a `with` block."""

    @abstractmethod
    def read_bytes(self, path: str) -> bytes:
        """Return the whole content of a small file."""

    @abstractmethod
    def write_bytes(self, path: str, data: bytes) -> None:
        """Write a whole file, durable on return; readers see the old or the new content."""

    @abstractmethod
    def open_output(self, path: str) -> BinaryIO:
        """Create a file that does not exist yet, and its folder; the content is not yet durable."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Delete a file, if it exists."""

    def delete_folder(self, path: str) -> None:
        """Delete a folder with all that is in it, if it exists."""
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
        """Give up an output that is not closed yet, so that no file is at its path."""
        with contextlib.suppress(OSError, StorageError):
            output.close()
        self.delete(path)

    @abstractmethod
    def make_folder(self, path: str) -> None:
        """Create the folder and those above it, if missing, durable on return."""

    @abstractmethod
    def sync(self, paths: Iterable[str]) -> None:
        """Make files, and their names in their folders, survive a power cut."""

    def needs_sync(self, path: str) -> bool:
        """Return whether a power cut may undo a write until it is synced."""
        return True

    def requests_at_once(self, path: str) -> int:
        """Return how many parallel requests to a place save time."""
        return 1

    def join(self, path: str, *names: str) -> str:
        """Return the path of an entry below a folder; names may have slashes."""
        return posixpath.join(path, *names)

    def without_links(self, path: str) -> str:
        """Return the path with links resolved; most storages have no links."""
        return path

    def creates_exclusively(self, folder: str) -> bool:
        """Return whether only one of several writers can create a file; may try it there."""
        return True

    def pauses_s(self, path: str) -> Sequence[float]:
        """Return the seconds to wait before each try of a commit: a later try may succeed."""
        return _NO_PAUSES_S

    def failure(self, action: str, path: str, text: str) -> PlaceError:
        """Return our error for the text of an error of delta-rs at a path."""
        return StorageError(action=action, path=path, reason=text)

    def hadoop_uri(self, path: str) -> str:
        """Return the path as Spark and other clients of Hadoop spell it."""
        return path

    def hadoop_properties(self, path: str) -> Mapping[str, str]:
        """Return the properties that a client of Hadoop needs for a path; they may have secrets."""
        return {}

    def delta_options(self, path: str) -> Mapping[str, str]:
        """Return the options that delta-rs needs for a path; they may have secrets."""
        return {}


class RemoteStorage(Storage):
    """A remote storage, on which each write, close and rename is durable at once."""

    def __init__(self, properties: HadoopProperties) -> None:
        """Store the properties of the stores; nothing is contacted yet."""
        self._properties = properties

    def sync(self, paths: Iterable[str]) -> None:
        """Do nothing: all is durable already."""

    def needs_sync(self, path: str) -> bool:
        """Return False: all is durable already."""
        return False

    def requests_at_once(self, path: str) -> int:
        """Return how many parallel requests save time over a network."""
        return _REMOTE_REQUESTS_AT_ONCE
