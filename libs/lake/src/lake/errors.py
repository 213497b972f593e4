"""Everything that can go wrong in this library, as exceptions with facts.

Bad bytes never come through here: they are rows. These are bad calls and a failing world.
"""

from collections.abc import Sequence
from typing import Any


class LakeError(Exception):
    """Base of every error of the lake library; the message is one paragraph for a person."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Come back from a worker process with message and facts, whatever `__init__` takes."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[LakeError], args: tuple[Any, ...], facts: dict[str, Any]) -> LakeError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(facts)
    return error


class UnsupportedUriError(LakeError):
    """A URI has a scheme that no storage answers to."""

    def __init__(self, *, uri: str, schemes: Sequence[str]) -> None:
        self.uri = uri
        self.schemes = tuple(schemes)
        expected = " or ".join(self.schemes)
        super().__init__(f"cannot open {uri!r}: expected {expected}; give such a location")


class PlaceError(LakeError):
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


class OutputError(StorageError):
    """The lake's storage refused a data file: nothing that was to go into it is to blame."""


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


class LakeFolderError(LakeError):
    """The lake's place holds something that is not a lake; nothing was touched."""

    def __init__(self, *, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(self._text())

    def _text(self) -> str:
        return f"{self.path} cannot be a lake: {self.reason}"


class NotALakeError(LakeFolderError):
    """There is no lake where one was named, or a table of it is not there."""

    def _text(self) -> str:
        wanted = "Give the folder that `seglake ingest --lake` wrote to."
        return f"{self.path} is no lake: {self.reason}. {wanted}"


class LakeRefusedError(LakeFolderError):
    """The storage refuses us where the lake is opened; nothing was touched.

    `reason` is the text of its `RefusedError`, with the path that it refuses.
    """

    def _text(self) -> str:
        return f"the lake is refused: {self.reason}"


class StoreSilentError(PlaceError):
    """A store far away does not answer at all.

    No `StorageError`: whoever leaves out one file that cannot be read would wait again for each of
    the others.
    """


class UnsafeStoreError(LakeError):
    """The lake's store lets two writers create one file: commits could be lost without an error."""

    def __init__(self, *, path: str) -> None:
        self.path = path
        super().__init__(
            f"{path} lies on a store that let us create the same object twice: it ignores"
            " If-None-Match, so of two runs at a time one could overwrite what the other"
            " committed. Take a store that honours it, or set write.single_writer = true and see"
            " to it that one run at a time writes to this lake; nothing was touched"
        )


class TableRefusedError(LakeError):
    """A table has a protocol, a setting or a feature that this library does not write."""

    def __init__(self, *, table: str, path: str, reasons: Sequence[str]) -> None:
        self.table = table
        self.path = path
        self.reasons = tuple(reasons)
        super().__init__(f"table {table} at {path} is refused: {'; '.join(self.reasons)}")


class TablesDisagreeError(LakeError):
    """The tables' generations of a topic cannot come from our commits: one was put back or lost.

    `versions` are those of records, the followers and checkpoints, in this order.
    """

    def __init__(self, *, topic: str, versions: Sequence[int], reason: str) -> None:
        self.topic = topic
        self.versions = tuple(versions)
        self.reason = reason
        super().__init__(
            f"tables disagree on topic {topic}: generations of records, followers, checkpoints are "
            f"{', '.join(map(str, self.versions))}; {reason}; was a table dropped or put back from "
            "a copy? nothing was touched"
        )


class RedoMissingError(LakeError):
    """Records hold a generation that the other tables lack, and no redo file names what to add."""

    def __init__(self, *, topic: str, generation: int, folder: str) -> None:
        self.topic = topic
        self.generation = generation
        self.folder = folder
        super().__init__(
            f"generation {generation} of topic {topic} is in records alone, and no file in "
            f"{folder} says what the other tables lack; nothing was touched"
        )


class RedoFileError(LakeError):
    """A redo file is not one that this library wrote."""

    def __init__(self, *, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"cannot use redo file {path}: {reason}")


class WaveError(LakeError):
    """What is to be committed is not what a commit takes; nothing was committed."""

    def __init__(self, *, topic: str, reason: str) -> None:
        self.topic = topic
        self.reason = reason
        super().__init__(f"cannot commit topic {topic}: {reason}")


class DataFileError(LakeError):
    """A data file is missing or has another size than reported; nothing was committed."""

    def __init__(self, *, path: str, expected_bytes: int, found_bytes: int | None) -> None:
        self.path = path
        self.expected_bytes = expected_bytes
        self.found_bytes = found_bytes
        found = "no such file" if found_bytes is None else f"{found_bytes} bytes"
        super().__init__(
            f"data file {path}: expected {expected_bytes} bytes, found {found}; nothing was "
            "committed, run again"
        )


class CommitUnknownError(LakeError):
    """A commit failed and may yet have happened; a later run finds out and completes it."""

    def __init__(self, *, table: str, attempt_count: int, reason: str) -> None:
        self.table = table
        self.attempt_count = attempt_count
        self.reason = reason
        super().__init__(
            f"could not commit to {table} in {attempt_count} attempts: {reason}; it is safe to "
            "run again"
        )
