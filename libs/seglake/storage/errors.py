"""What can go wrong at a place: a call that it refuses, or a failing world."""

from collections.abc import Sequence

from seglake.errors import SeglakeError, WrongCallError


class UnsupportedUriError(WrongCallError):
    """A URI has a scheme that no storage answers to."""

    def __init__(self, *, uri: str, schemes: Sequence[str]) -> None:
        self.uri = uri
        self.schemes = tuple(schemes)
        expected = " or ".join(self.schemes)
        super().__init__(f"cannot open {uri!r}: expected {expected}; give such a location")


class PlaceError(SeglakeError):
    """Base of what goes wrong with one place: what was tried there, and why it failed."""

    def __init__(self, *, action: str, path: str, reason: str) -> None:
        self.action = action
        self.path = path
        self.reason = reason
        super().__init__(f"cannot {action} {path}: {reason}")


class StorageError(PlaceError):
    """The storage did not do an operation: a full disk, a broken device, a busy store."""


class RefusedError(StorageError):
    """The storage says no, and will until somebody mends the call, the settings or the rights.

    No permission, a wrong key, no such bucket, or settings that lead to no store.
    """


class NotFoundError(StorageError):
    """The file or folder is not there."""

    def __init__(self, *, action: str, path: str) -> None:
        super().__init__(action=action, path=path, reason="no such file or folder")


class FileShrankError(StorageError):
    """A file became shorter than it was when it was opened."""

    def __init__(self, *, path: str, expected_bytes: int, found_bytes: int) -> None:
        self.expected_bytes = expected_bytes
        self.found_bytes = found_bytes
        super().__init__(
            action="read",
            path=path,
            reason=f"it had {expected_bytes} bytes when it was opened and ends at {found_bytes}",
        )


def is_broken(error: Exception) -> bool:
    """Whether a file is there as before, but cannot be read: the next read may fail as slowly."""
    is_gone = isinstance(error, NotFoundError | FileShrankError)
    return isinstance(error, StorageError) and not is_gone


class OutputError(StorageError):
    """The lake's storage refused a data file: nothing that was to go into it is to blame."""


class LakeFolderError(WrongCallError):
    """The lake's place holds something that is not a lake; nothing was touched."""

    def __init__(self, *, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(self._text())

    def _text(self) -> str:
        return f"{self.path} cannot be a lake: {self.reason}"


class StoreSilentError(PlaceError):
    """A store far away does not answer at all.

    No `StorageError`: whoever leaves out one file that cannot be read would wait again for each of
    the others.
    """
