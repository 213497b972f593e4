"""Exceptions of the lake, with facts as attributes.

Bad bytes never raise these: they become rows. These are wrong calls and a failing world.
"""

import re
from collections.abc import Sequence

from seglake.errors import SeglakeError, WrongCallError
from seglake.storage.errors import LakeFolderError

_TERMINAL_CODES = re.compile(r"\x1b\[[0-9;]*m")


class SchemaError(SeglakeError):
    """Columns do not fit a table; it has every difference, not only the first."""

    def __init__(self, *, table: str, differences: Sequence[str]) -> None:
        """Store the table's name and all differences, in words."""
        self.table = table
        self.differences = tuple(differences)
        super().__init__(f"columns do not fit table {table}: {'; '.join(self.differences)}")


class TimestampRangeError(SeglakeError):
    """A timestamp is outside the years 0001 to 9999, which readers cannot represent."""

    def __init__(self, *, table: str, column: str, timestamp_us: int) -> None:
        """Store table, column and the timestamp in microseconds since 1970."""
        self.table = table
        self.column = column
        self.timestamp_us = timestamp_us
        super().__init__(
            f"{table}.{column} holds {timestamp_us} us since the epoch, "
            "expected a year from 0001 to 9999, or null"
        )


class NotALakeError(LakeFolderError):
    """The named folder is not a lake, or a table is missing."""

    def _text(self) -> str:
        """Return the message."""
        remedy = "Give the folder that `seglake ingest --lake` wrote to."
        return f"{self.path} is not a lake: {self.reason}. {remedy}"


class LakeRefusedError(LakeFolderError):
    """The storage denies access when the lake is opened; nothing was touched.

    `reason` is the text of its `RefusedError`, with the path that it refuses.
    """

    def _text(self) -> str:
        """Return the message."""
        return f"the lake is refused: {self.reason}"


class UnsafeStoreError(WrongCallError):
    """The lake's store lets two writers create the same file: commits could be lost silently."""

    def __init__(self, *, path: str) -> None:
        """Store the path of the lake."""
        self.path = path
        super().__init__(
            f"{path} lies on a store that let us create the same object twice: it ignores"
            " If-None-Match, so of two runs at a time one could overwrite what the other"
            " committed. Take a store that honours it, or set write.single_writer = true and see"
            " to it that one run at a time writes to this lake; nothing was touched"
        )


class NewerLakeError(LakeFolderError):
    """A later version of seglake made or upgraded the lake.

    It may have done so during a run; then the later version completes what the run had begun to
    commit.
    """

    def __init__(self, *, path: str, made_by: str, lake_format: str, known_format: int) -> None:
        """Store the path and that version.

        Args:
            path: path of the lake.
            made_by: the version, as the table's properties name it.
            lake_format: format of the lake.
            known_format: newest format that this version knows.
        """
        self.made_by = made_by
        reason = f"its format is {lake_format}, and this version knows those up to {known_format}"
        super().__init__(path=path, reason=reason)

    def _text(self) -> str:
        """Return the message."""
        remedy = f"Install seglake {self.made_by}, which made or upgraded it, or a later version."
        return f"{self.path} is of a later version: {self.reason}. {remedy}"


class OlderLakeError(LakeFolderError):
    """An earlier version of seglake made the lake, and it needs an upgrade; nothing was touched."""

    def __init__(self, *, path: str, lacks: str) -> None:
        """Store the path, and the table or column that the lake lacks."""
        super().__init__(path=path, reason=f"it lacks {lacks}")

    def _text(self) -> str:
        """Return the message."""
        remedy = "The next ingest adds it, or seglake maintain --upgrade."
        return f"{self.path} is of an earlier version: {self.reason}. {remedy}"


class TableRefusedError(SeglakeError):
    """A table has a protocol, a setting or a feature that this library does not write."""

    def __init__(self, *, table: str, path: str, reasons: Sequence[str]) -> None:
        """Store the table, its path and all reasons, in words."""
        self.table = table
        self.path = path
        self.reasons = tuple(reasons)
        super().__init__(f"table {table} at {path} is refused: {'; '.join(self.reasons)}")


class ForeignChangeError(SeglakeError):
    """Another tool changed rows of a table, so that it no longer fits the other tables."""

    def __init__(self, *, table: str, path: str, operation: str, version: int) -> None:
        """Store the table, its path, and the change: Delta's operation and its version."""
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
    """A file of a table's log is damaged, as after a power cut; no run was told that it exists."""

    def __init__(self, *, path: str, is_commit: bool) -> None:
        """Store the path of the file; `is_commit` is False for a checkpoint."""
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
    """The tables' generations of a topic cannot come from our commits: one was restored or lost.

    `versions` are those of records, the followers and checkpoints, in this order.
    """

    def __init__(self, *, topic: str, versions: Sequence[int], reason: str) -> None:
        """Store the topic, the generations that were found, and the broken rule in words."""
        self.topic = topic
        self.versions = tuple(versions)
        self.reason = reason
        super().__init__(
            f"tables disagree on topic {topic}: generations of records, followers, checkpoints are "
            f"{', '.join(map(str, self.versions))}; {reason}; was a table dropped or put back from "
            "a copy? nothing was touched"
        )


class RedoMissingError(SeglakeError):
    """Records have a generation that other tables lack, and no redo file lists its files."""

    def __init__(self, *, topic: str, generation: int, folder: str) -> None:
        """Store the topic, the generation, and the folder of the redo files."""
        self.topic = topic
        self.generation = generation
        self.folder = folder
        super().__init__(
            f"generation {generation} of topic {topic} is in records alone, and no file in "
            f"{folder} says what the other tables lack; nothing was touched"
        )


class RedoFileError(SeglakeError):
    """A redo file does not have the content that this library writes."""

    def __init__(self, *, path: str, reason: str) -> None:
        """Store the path of the file and the reason, in words."""
        self.path = path
        self.reason = reason
        super().__init__(f"cannot use redo file {path}: {reason}")


class WaveError(SeglakeError):
    """The input of a commit is invalid; nothing was committed."""

    def __init__(self, *, topic: str, reason: str) -> None:
        """Store the topic and the reason, in words."""
        self.topic = topic
        self.reason = reason
        super().__init__(f"cannot commit topic {topic}: {reason}")


class DataFileError(SeglakeError):
    """A data file is missing or has another size than reported; nothing was committed."""

    def __init__(self, *, path: str, expected_bytes: int, found_bytes: int | None) -> None:
        """Store the path and both sizes in bytes; `found_bytes` is None for a missing file."""
        self.path = path
        self.expected_bytes = expected_bytes
        self.found_bytes = found_bytes
        found = "no such file" if found_bytes is None else f"{found_bytes} bytes"
        super().__init__(
            f"data file {path}: expected {expected_bytes} bytes, found {found}; nothing was "
            "committed, run again"
        )


class RowCountError(SeglakeError):
    """Data files do not have as many rows as the log says: other files were committed."""

    def __init__(self, *, table: str, path: str, expected: int, found: int) -> None:
        """Store the table, one of the files, and both numbers of rows."""
        self.table = table
        self.path = path
        self.expected = expected
        self.found = found
        super().__init__(
            f"{path} and the files of {table} beside it have {found} rows, and the log says "
            f"{expected}: a file is not the one that was committed; nothing was changed"
        )


class DecidedFileGoneError(SeglakeError):
    """A run died between its commits, and a file that the remaining commits must add is gone."""

    def __init__(self, *, path: str, topics: Sequence[str]) -> None:
        """Store the path of the file, and the topics that cannot be completed."""
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
        """Store the table, the number of attempts and the last failure, in words."""
        self.table = table
        self.attempt_count = attempt_count
        self.reason = reason
        super().__init__(
            f"could not commit to {table} in {attempt_count} attempts: {reason}; it is safe to "
            "run again"
        )


def in_one_line(error: Exception) -> str:
    """Return the text of an error of delta-rs, which draws it as a tree for a terminal."""
    plain = _TERMINAL_CODES.sub("", str(error))
    lines = [line.strip(" \t\u21b3\u2502\u2570\u251c\u2500\u25b6") for line in plain.splitlines()]
    return ": ".join(line for line in lines if line)
