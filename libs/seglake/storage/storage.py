"""What a place for files must be able to do: the port. Only its storages open, list and write.

Listings show what is there: names that start with `_` or `.` and empty files too, which Spark's
and Hadoop's listings hide. A storage pickles without its connections, so tasks may carry it.
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
    """One entry of a folder; size and time are those of the moment it was listed.

    `problem` says why it can be neither read nor listed: a link that leads nowhere, a pipe. Empty
    for files and folders.
    """

    path: str
    name: str
    size_bytes: int
    modified_at_ms: int
    is_folder: bool
    problem: str = ""


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

    def __exit__(self, *raised: object) -> None: ...


class Storage(ABC):
    """What a place for files must be able to do; paths are those that `locate` returned.

    Every method raises StorageError, NotFoundError where something should be there and is not,
    RefusedError where trying again is of no use, and StoreSilentError where nobody answers.
    """

    @abstractmethod
    def locate(self, uri: str) -> str:
        """Return the absolute path of a URI, without a trailing slash; touches nothing.

        As in Hadoop, percent signs are not decoded. Links are not resolved.

        Raises:
            UnsupportedUriError: another scheme, another host, or nothing at all.
        """

    @abstractmethod
    def list_folder(self, path: str) -> list[FileInfo]:
        """List one level, sorted by name: files, folders, and entries with a `problem`.

        Left out is what vanishes meanwhile.
        """

    def list_after(self, folder: str, name: str) -> list[FileInfo]:
        """List the files of one level whose names come after one, sorted by name.

        Nothing where there is no such folder. Cheaper than to list all of it, where the store can
        begin there.
        """
        try:
            entries = self.list_folder(folder)
        except NotFoundError:
            return []
        return [entry for entry in entries if entry.name > name and not entry.is_folder]

    @abstractmethod
    def info(self, path: str) -> FileInfo | None:
        """Describe a file or folder; None when there is none."""

    def link_problem(self, path: str) -> str:
        """Say why a link leads nowhere; empty if it does, and for anything that is no link."""
        return ""

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

    def delete_folder(self, path: str) -> None:
        """Make sure that neither the folder nor anything below it is there."""
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
        """Make sure that the folder and those above it exist, durable on return."""

    @abstractmethod
    def sync(self, paths: Iterable[str]) -> None:
        """Make files, and their names in their folders, survive a power cut."""

    def needs_sync(self, path: str) -> bool:
        """Say whether a power cut may undo what was written, until it is synced."""
        return True

    def requests_at_once(self, path: str) -> int:
        """Return how many requests to a place save time when they are sent at a time."""
        return 1

    def join(self, path: str, *names: str) -> str:
        """Return the path of something below a folder; names may hold slashes."""
        return posixpath.join(path, *names)

    def without_links(self, path: str) -> str:
        """Return where a path really leads; most storages have no links."""
        return path

    def creates_exclusively(self, folder: str) -> bool:
        """Say whether of several writers that create one file only one can; may try it out."""
        return True

    def pauses_s(self, path: str) -> Sequence[float]:
        """How long to wait before each try of a commit: one that failed may go well later."""
        return _NO_PAUSES_S

    def failure(self, action: str, path: str, text: str) -> PlaceError:
        """Return our error for one of delta-rs at a path, of which only the text is known."""
        return StorageError(action=action, path=path, reason=text)

    def hadoop_uri(self, path: str) -> str:
        """Return the path as Spark and other clients of Hadoop spell it."""
        return path

    def hadoop_properties(self, path: str) -> Mapping[str, str]:
        """Return what a client of Hadoop must be told to reach a path; may hold secrets."""
        return {}

    def delta_options(self, path: str) -> Mapping[str, str]:
        """Return what delta-rs needs to reach a path; may hold secrets."""
        return {}


class RemoteStorage(Storage):
    """A place across the network, where what was put, closed or renamed is there to stay."""

    def __init__(self, properties: HadoopProperties) -> None:
        self._properties = properties

    def sync(self, paths: Iterable[str]) -> None:
        """Do nothing."""

    def needs_sync(self, path: str) -> bool:
        return False

    def requests_at_once(self, path: str) -> int:
        return _REMOTE_REQUESTS_AT_ONCE
