"""Errors of places for files: a call that a place refuses, or a failing world."""

from collections.abc import Sequence

from seglake.errors import SeglakeError, WrongCallError


class UnsupportedUriError(WrongCallError):
    """A URI has a scheme that no storage serves."""

    def __init__(self, *, uri: str, schemes: Sequence[str]) -> None:
        """Store the URI, and the forms that would be accepted."""
        self.uri = uri
        self.schemes = tuple(schemes)
        expected = " or ".join(self.schemes)
        super().__init__(f"cannot open {uri!r}: expected {expected}; give such a location")


class PlaceError(SeglakeError):
    """Base of errors at one place: the attempted action, the path, and the reason."""

    def __init__(self, *, action: str, path: str, reason: str) -> None:
        """Store the facts.

        Args:
            action: verb phrase for the message, such as "read".
            path: path of the place.
            reason: why the action failed, in words.
        """
        self.action = action
        self.path = path
        self.reason = reason
        super().__init__(f"cannot {action} {path}: {reason}")


class StorageError(PlaceError):
    """The storage failed to do an operation: a full disk, a broken device, a busy store."""


class RefusedError(StorageError):
    """The storage refuses, and will until somebody fixes the call, the settings or the rights.

    For example: no permission, a wrong key, no such bucket, or settings that lead to no store.
    """


class NotFoundError(StorageError):
    """The file or folder does not exist."""

    def __init__(self, *, action: str, path: str) -> None:
        """Store the action and the path."""
        super().__init__(action=action, path=path, reason="no such file or folder")


class FileShrankError(StorageError):
    """A file became shorter than it was when it was opened."""

    def __init__(self, *, path: str, expected_bytes: int, found_bytes: int) -> None:
        """Store the path and both sizes in bytes."""
        self.expected_bytes = expected_bytes
        self.found_bytes = found_bytes
        super().__init__(
            action="read",
            path=path,
            reason=f"it had {expected_bytes} bytes when it was opened and ends at {found_bytes}",
        )


def is_broken(error: Exception) -> bool:
    """Return whether an existing file cannot be read, so that the next read may fail as slowly."""
    is_gone = isinstance(error, NotFoundError | FileShrankError)
    return isinstance(error, StorageError) and not is_gone


class OutputError(StorageError):
    """The lake's storage refused a data file; the data are not the cause."""


class LakeFolderError(WrongCallError):
    """The lake's place has content that is not a lake; nothing was touched."""

    def __init__(self, *, path: str, reason: str) -> None:
        """Store the path and the reason, in words."""
        self.path = path
        self.reason = reason
        super().__init__(self._text())

    def _text(self) -> str:
        """Return the message."""
        return f"{self.path} cannot be a lake: {self.reason}"


class StoreSilentError(PlaceError):
    """A remote store does not answer at all.

    It is not a `StorageError`: code that skips one unreadable file would wait again for each of the
    others.
    """
