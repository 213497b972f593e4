"""Errors of storages: unusable locations and failed operations."""

from collections.abc import Sequence

from seglake.errors import SeglakeError, WrongCallError


class UnsupportedUriError(WrongCallError):
    """Error for a URI whose scheme or form no storage supports."""

    def __init__(self, *, uri: str, schemes: Sequence[str]) -> None:
        """Make the message from the URI and the accepted forms."""
        expected = " or ".join(schemes)
        super().__init__(f"cannot open {uri!r}: expected {expected}; give such a location")


class PlaceError(SeglakeError):
    """Base of errors at one path; each has the attempted action and the reason."""

    def __init__(self, *, action: str, path: str, reason: str) -> None:
        """Store path and reason.

        Args:
            action: verb phrase for the message, such as "read".
            path: path of the file or folder.
            reason: why the action failed, in words.
        """
        self.path = path
        self.reason = reason
        super().__init__(f"cannot {action} {path}: {reason}")


class StorageError(PlaceError):
    """Error for a failed operation of a storage: a full disk, a broken device, a busy store."""


class RefusedError(StorageError):
    """The storage will refuse until somebody corrects the call, the settings or the permissions.

    For example: no permission, a wrong key, no such bucket, or settings that lead to no store.
    """


class NotFoundError(StorageError):
    """Error for a file or folder that does not exist."""

    def __init__(self, *, action: str, path: str) -> None:
        """Store the action and the path."""
        super().__init__(action=action, path=path, reason="no such file or folder")


class FileShrankError(StorageError):
    """Error for a file that has become shorter since it was opened."""

    def __init__(self, *, path: str, expected_bytes: int, found_bytes: int) -> None:
        """Make the reason from both sizes in bytes."""
        super().__init__(
            action="read",
            path=path,
            reason=f"it had {expected_bytes} bytes when it was opened, but ends at {found_bytes}",
        )


def is_broken(error: Exception) -> bool:
    """Return whether an error shows that a file exists and its storage cannot read it.

    Retries of such a read may be slow.
    """
    is_gone = isinstance(error, NotFoundError | FileShrankError)
    return isinstance(error, StorageError) and not is_gone


class OutputError(StorageError):
    """Error for a data file that the lake's storage failed to write; the source is not at fault."""


class LakeFolderError(WrongCallError):
    """Error for a folder that cannot be used as a lake, and was not changed."""

    def __init__(self, *, path: str, reason: str) -> None:
        """Store the path and the reason, in words."""
        self.path = path
        self.reason = reason
        super().__init__(self._text())

    def _text(self) -> str:
        """Return the message: the path, and why it cannot be a lake."""
        return f"{self.path} cannot be a lake: {self.reason}"


class StoreSilentError(PlaceError):
    """Error for a remote store that does not answer at all.

    It is not a `StorageError`: otherwise, code that skips unreadable files would wait for every
    file.
    """
