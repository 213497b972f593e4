"""Reads whole side files, after a check that they are as small as Kafka writes them."""

from collections.abc import Iterable

from seglake.segment_codec.formats.side_files.known_names import Place, known_name
from seglake.storage.errors import RefusedError, StorageError
from seglake.storage.storage import FileInfo, Reader, Storage

_A_FOLDER = "it is a folder"
MOST_BYTES = 32 << 20  # enough for half a million partitions, or three times the largest index


class OversizedFileError(StorageError):
    """Error for a file that is larger than Kafka writes such files: it is not read into memory."""

    def __init__(self, *, path: str, size_bytes: int) -> None:
        """Make the reason from the size in bytes."""
        reason = f"it has {size_bytes} bytes, but such a file has at most {MOST_BYTES}"
        super().__init__(action="read", path=path, reason=reason)


def check_small(path: str, size_bytes: int) -> None:
    """Require that a file has at most MOST_BYTES.

    Raises:
        OversizedFileError: the file is too large.
    """
    if size_bytes > MOST_BYTES:
        raise OversizedFileError(path=path, size_bytes=size_bytes)


def check_readable(entry: FileInfo) -> None:
    """Require that an entry of a listing is readable; a broken link is not, for example.

    Raises:
        RefusedError: the entry is unreadable.
    """
    if entry.problem:
        raise RefusedError(action="open", path=entry.path, reason=entry.problem)


def files_by_name(place: Place, listing: Iterable[FileInfo]) -> dict[str, FileInfo]:
    """Return the files of a folder, by name.

    A subfolder with the name of a Kafka file is treated as an unreadable file.
    """
    return {
        entry.name: entry._replace(is_folder=False, problem=_A_FOLDER) if entry.is_folder else entry
        for entry in listing
        if not entry.is_folder or known_name(place, entry.name) is not None
    }


def open_file(storage: Storage, path: str, listed_bytes: int | None) -> Reader:
    """Open a file of a tier; if its size is known from the listing, without a request."""
    if listed_bytes is None:
        return storage.open_reader(path)
    return storage.open_listed(path, listed_bytes)


def read_small(storage: Storage, path: str, listed_bytes: int | None = None) -> bytes:
    """Return the content of a small file.

    Args:
        storage: the storage of the file.
        path: path of the file.
        listed_bytes: size of an object of a tier in its listing; None if unknown.

    Raises:
        StorageError: the file cannot be read, or is too large.
    """
    with open_file(storage, path, listed_bytes) as reader:
        check_small(path, reader.size_bytes)
        return reader.read(0, reader.size_bytes)
