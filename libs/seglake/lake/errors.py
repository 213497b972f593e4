"""Everything that can go wrong in this library, as exceptions with facts.

Bad bytes never come through here: they are rows. These are bad calls and a failing world.
"""

import re
from collections.abc import Sequence

from seglake.errors import SeglakeError, WrongCallError
from seglake.storage.errors import LakeFolderError

_TERMINAL_CODES = re.compile(r"\x1b\[[0-9;]*m")


class SchemaError(SeglakeError):
    """Columns do not fit a table; carries every difference, not the first."""

    def __init__(self, *, table: str, differences: Sequence[str]) -> None:
        self.table = table
        self.differences = tuple(differences)
        super().__init__(f"columns do not fit table {table}: {'; '.join(self.differences)}")


class TimestampRangeError(SeglakeError):
    """A timestamp lies outside the years 0001 to 9999, which readers cannot hold."""

    def __init__(self, *, table: str, column: str, timestamp_us: int) -> None:
        self.table = table
        self.column = column
        self.timestamp_us = timestamp_us
        super().__init__(
            f"{table}.{column} holds {timestamp_us} us since the epoch, "
            "expected a year from 0001 to 9999, or null"
        )


class NotALakeError(LakeFolderError):
    """There is no lake where one was named, or a table of it is not there."""

    def _text(self) -> str:
        wanted = "Give the folder that `seglake ingest --lake` wrote to."
        return f"{self.path} is not a lake: {self.reason}. {wanted}"


class LakeRefusedError(LakeFolderError):
    """The storage refuses us where the lake is opened; nothing was touched.

    `reason` is the text of its `RefusedError`, with the path that it refuses.
    """

    def _text(self) -> str:
        return f"the lake is refused: {self.reason}"


class UnsafeStoreError(WrongCallError):
    """The lake's store lets two writers create one file: commits could be lost without an error."""

    def __init__(self, *, path: str) -> None:
        self.path = path
        super().__init__(
            f"{path} lies on a store that let us create the same object twice: it ignores"
            " If-None-Match, so of two runs at a time one could overwrite what the other"
            " committed. Take a store that honours it, or set write.single_writer = true and see"
            " to it that one run at a time writes to this lake; nothing was touched"
        )


class NewerLakeError(LakeFolderError):
    """A later version of seglake made the lake, or upgraded it.

    It may have done so during a run: what that had begun to commit, the later version completes.
    """

    def __init__(self, *, path: str, made_by: str, lake_format: str, known_format: int) -> None:
        self.made_by = made_by  # as that version says of itself
        reason = f"its format is {lake_format}, and this version knows those up to {known_format}"
        super().__init__(path=path, reason=reason)

    def _text(self) -> str:
        wanted = f"Install seglake {self.made_by}, which made or upgraded it, or a later version."
        return f"{self.path} is of a later version: {self.reason}. {wanted}"


class OlderLakeError(LakeFolderError):
    """An earlier version of seglake made the lake, and this one needs more; nothing was touched."""

    def __init__(self, *, path: str, lacks: str) -> None:
        super().__init__(path=path, reason=f"it lacks {lacks}")

    def _text(self) -> str:
        wanted = "The next ingest adds it, or seglake maintain --upgrade."
        return f"{self.path} is of an earlier version: {self.reason}. {wanted}"


class TableRefusedError(SeglakeError):
    """A table has a protocol, a setting or a feature that this library does not write."""

    def __init__(self, *, table: str, path: str, reasons: Sequence[str]) -> None:
        self.table = table
        self.path = path
        self.reasons = tuple(reasons)
        super().__init__(f"table {table} at {path} is refused: {'; '.join(self.reasons)}")


class ForeignChangeError(SeglakeError):
    """Another tool changed rows of a table: what is in it no longer fits the other tables."""

    def __init__(self, *, table: str, path: str, operation: str, version: int) -> None:
        self.table = table
        self.path = path
        self.operation = operation
        self.version = version
        super().__init__(
            f"table {table} at {path} was changed by another tool: {operation} in version "
            f"{version}; undo it with Delta's RESTORE to version {version - 1} and run again; "
            "nothing was committed on top of it"
        )


class TornLogError(SeglakeError):
    """A file of a table's log is damaged, as by a power cut: nobody was told that it is there."""

    def __init__(self, *, path: str, is_commit: bool) -> None:
        self.path = path
        self.is_commit = is_commit
        what = (
            "no run was told that its commit had happened; delete the file"
            if is_commit
            else "the log holds all that it held; delete the file, and _last_checkpoint beside it"
        )
        super().__init__(
            f"{path} is damaged, as by a power cut: {what} and run again; nothing was touched"
        )


class TablesDisagreeError(SeglakeError):
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


class RedoMissingError(SeglakeError):
    """Records hold a generation that the other tables lack, and no redo file names what to add."""

    def __init__(self, *, topic: str, generation: int, folder: str) -> None:
        self.topic = topic
        self.generation = generation
        self.folder = folder
        super().__init__(
            f"generation {generation} of topic {topic} is in records alone, and no file in "
            f"{folder} says what the other tables lack; nothing was touched"
        )


class RedoFileError(SeglakeError):
    """A redo file is not one that this library wrote."""

    def __init__(self, *, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"cannot use redo file {path}: {reason}")


class WaveError(SeglakeError):
    """What is to be committed is not what a commit takes; nothing was committed."""

    def __init__(self, *, topic: str, reason: str) -> None:
        self.topic = topic
        self.reason = reason
        super().__init__(f"cannot commit topic {topic}: {reason}")


class DataFileError(SeglakeError):
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


class RowCountError(SeglakeError):
    """Data files do not have as many rows as the log says: they are not what was committed."""

    def __init__(self, *, table: str, path: str, expected: int, found: int) -> None:
        self.table = table
        self.path = path
        self.expected = expected
        self.found = found
        super().__init__(
            f"{path} and the files of {table} beside it have {found} rows, and the log says "
            f"{expected}: a file is not the one that was committed; nothing was changed"
        )


class DecidedFileGoneError(SeglakeError):
    """A run died between its commits, and a file that the next ones are to add is gone."""

    def __init__(self, *, path: str, topics: Sequence[str]) -> None:
        self.path = path
        self.topics = tuple(topics)
        super().__init__(
            f"cannot complete what an earlier run began for {', '.join(self.topics)}: data file "
            f"{path} is gone or has another size; was the lake vacuumed since that run died? put "
            "the file back and run again; nothing was touched"
        )


class CommitUnknownError(SeglakeError):
    """A commit failed and may yet have happened; a later run finds out and completes it."""

    def __init__(self, *, table: str, attempt_count: int, reason: str) -> None:
        self.table = table
        self.attempt_count = attempt_count
        self.reason = reason
        super().__init__(
            f"could not commit to {table} in {attempt_count} attempts: {reason}; it is safe to "
            "run again"
        )


def in_one_line(error: Exception) -> str:
    """The text of an error of delta-rs, which is drawn as a tree for a terminal."""
    plain = _TERMINAL_CODES.sub("", str(error))
    lines = [line.strip(" \t\u21b3\u2502\u2570\u251c\u2500\u25b6") for line in plain.splitlines()]
    return ": ".join(line for line in lines if line)
