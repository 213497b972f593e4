"""Reads files that are small beside any segment, whole. Effect."""

from collections.abc import Iterable

from seglake.segment_codec.formats.side_files.known_names import Place, known_name
from seglake.storage.errors import RefusedError, StorageError
from seglake.storage.storage import FileInfo, Storage

_A_FOLDER = "it is a folder"
MOST_BYTES = 32 << 20  # enough for half a million partitions, or three of the largest indexes


class OversizedFileError(StorageError):
    """A file is too large to be Kafka's: reading it could fill the memory."""

    def __init__(self, *, path: str, size_bytes: int) -> None:
        """Store the path and the size in bytes."""
        self.size_bytes = size_bytes
        reason = f"it has {size_bytes} bytes, and such a file at most {MOST_BYTES}"
        super().__init__(action="read", path=path, reason=reason)


def check_small(path: str, size_bytes: int) -> None:
    """Refuse a file that is too large.

    Raises:
        OversizedFileError: it has more than MOST_BYTES.
    """
    if size_bytes > MOST_BYTES:
        raise OversizedFileError(path=path, size_bytes=size_bytes)


def check_readable(entry: FileInfo) -> None:
    """Refuse an entry with a problem, such as a broken link.

    Raises:
        RefusedError: it has a problem.
    """
    if entry.problem:
        raise RefusedError(action="open", path=entry.path, reason=entry.problem)


def files_by_name(place: Place, listing: Iterable[FileInfo]) -> dict[str, FileInfo]:
    """Return the files of a folder, and folders under names of Kafka's files as unreadable ones."""
    return {
        entry.name: entry._replace(is_folder=False, problem=_A_FOLDER) if entry.is_folder else entry
        for entry in listing
        if not entry.is_folder or known_name(place, entry.name) is not None
    }


def read_small(storage: Storage, path: str) -> bytes:
    """Return the content of a file whose size was not listed.

    Raises:
        StorageError: it cannot be read, or is not small.
    """
    with storage.open_reader(path) as reader:
        check_small(path, reader.size_bytes)
        return reader.read(0, reader.size_bytes)
