"""Everything that can go wrong in this library, as exceptions with facts.

Bad bytes never come through here: they are rows. These are bad calls and a failing world.
"""

from collections.abc import Sequence


class LakeError(Exception):
    """Base of every error of the lake library; the message is one paragraph for a person."""


class UnsupportedUriError(LakeError):
    """A URI has a scheme that no storage answers to."""

    def __init__(self, *, uri: str, schemes: Sequence[str]) -> None:
        self.uri = uri
        self.schemes = tuple(schemes)
        super().__init__(
            f"cannot open {uri!r}: expected {' or '.join(self.schemes)}; give such a location"
        )


class StorageError(LakeError):
    """The storage refused an operation: permissions, a full disk, a broken device."""

    def __init__(self, *, action: str, path: str, reason: str) -> None:
        self.action = action
        self.path = path
        self.reason = reason
        super().__init__(f"cannot {action} {path}: {reason}")


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


class EngineError(LakeError):
    """A task failed or its worker died; the Python exception, where there is one, is the cause.

    `reason` is the cause in one line, `task_index` the place in the sequence of tasks, or None
    when the engine cannot tell.
    """

    def __init__(self, *, engine: str, reason: str, task_index: int | None = None) -> None:
        self.engine = engine
        self.reason = reason
        self.task_index = task_index
        which = "a task" if task_index is None else f"task {task_index}"
        super().__init__(f"{which} failed on the {engine} engine: {reason}")


class SchemaError(LakeError):
    """Columns do not fit a table; carries every difference, not the first."""

    def __init__(self, *, table: str, differences: Sequence[str]) -> None:
        self.table = table
        self.differences = tuple(differences)
        super().__init__(f"columns do not fit table {table}: {'; '.join(self.differences)}")


class TimestampRangeError(LakeError):
    """A timestamp lies outside the years 0001 to 9999, which readers cannot hold."""

    def __init__(self, *, table: str, column: str, timestamp_us: int) -> None:
        self.table = table
        self.column = column
        self.timestamp_us = timestamp_us
        super().__init__(
            f"{table}.{column} holds {timestamp_us} us since the epoch, "
            "expected a year from 0001 to 9999, or null"
        )
