"""Exceptions of the lake.

They are raised for wrong calls and failing systems, never for damaged Kafka data: damage becomes
rows of `quarantine`.
"""

import re
from collections.abc import Sequence

from seglake.errors import SeglakeError, WrongCallError
from seglake.storage.errors import LakeFolderError

_TERMINAL_CODES = re.compile(r"\x1b\[[0-9;]*m")


class SchemaError(SeglakeError):
    """Columns do not fit a table; the error has all differences."""

    def __init__(self, *, table: str, differences: Sequence[str]) -> None:
        """Make the message from the table's name and all differences, as text."""
        super().__init__(f"columns do not fit table {table}: {'; '.join(differences)}")


class TimestampRangeError(SeglakeError):
    """A timestamp is outside the years 0001 to 9999, which readers cannot represent."""

    def __init__(self, *, table: str, column: str, timestamp_us: int) -> None:
        """Make the message; the timestamp is in microseconds since 1970."""
        super().__init__(
            f"{table}.{column} holds {timestamp_us} us since the epoch, "
            "expected a year from 0001 to 9999, or null"
        )


class NotALakeError(LakeFolderError):
    """The folder is not a lake, or a table is missing."""

    def _text(self) -> str:
        """Return the message: why the folder is no lake, and what to do."""
        remedy = "Give the folder that `seglake ingest --lake` wrote to."
        return f"{self.path} is not a lake: {self.reason}. {remedy}"


class LakeRefusedError(LakeFolderError):
    """The storage denied access when the lake was opened, before anything was changed.

    `reason` is the text of the storage's `RefusedError`, which has the path.
    """

    def _text(self) -> str:
        """Return the message: the storage's own reason."""
        return f"the lake is refused: {self.reason}"


class UnsafeStoreError(WrongCallError):
    """The lake's store lets two writers create the same file, so commits could be lost silently."""

    def __init__(self, *, path: str) -> None:
        """Make the message from the path of the lake."""
        super().__init__(
            f"{path} lies on a store that let seglake create the same object twice: it ignores"
            " If-None-Match, so one of two simultaneous runs could overwrite a commit of the"
            " other. Use a store that supports it, or set write.single_writer = true and ensure"
            " that only one run at a time writes to this lake; nothing was touched"
        )


class NewerLakeError(LakeFolderError):
    """A later version of seglake made or upgraded the lake.

    If this happened during a run, the later version completes the run's commits.
    """

    def __init__(self, *, path: str, made_by: str, lake_format: str, known_format: int) -> None:
        """Store the path and the later version.

        Args:
            path: path of the lake.
            made_by: the later version, from the table's properties.
            lake_format: format of the lake.
            known_format: newest format that this version knows.
        """
        self.made_by = made_by
        reason = (
            f"its format is {lake_format}, but this version supports formats up to {known_format}"
        )
        super().__init__(path=path, reason=reason)

    def _text(self) -> str:
        """Return the message: the lake is of a later version, and which one to install."""
        remedy = f"Install seglake {self.made_by}, which made or upgraded it, or a later version."
        return f"{self.path} is of a later version: {self.reason}. {remedy}"


class OlderLakeError(LakeFolderError):
    """An earlier version of seglake made the lake, which needs an upgrade. Nothing was changed."""

    def __init__(self, *, path: str, lacks: str) -> None:
        """Store the path, and the table or column that the lake lacks."""
        super().__init__(path=path, reason=f"it lacks {lacks}")

    def _text(self) -> str:
        """Return the message: what the lake lacks, and what upgrades it."""
        remedy = "The next ingest or seglake maintain --upgrade adds it."
        return f"{self.path} is of an earlier version: {self.reason}. {remedy}"


class TableRefusedError(SeglakeError):
    """A table has a protocol, a setting or a feature that seglake does not support."""

    def __init__(self, *, table: str, path: str, reasons: Sequence[str]) -> None:
        """Make the message from the table, its path, and the reasons of all failures, as text."""
        super().__init__(f"table {table} at {path} is refused: {'; '.join(reasons)}")


class ForeignChangeError(SeglakeError):
    """Another tool changed rows of a table, which may no longer match the other tables."""

    def __init__(self, *, table: str, path: str, operation: str, version: int) -> None:
        """Make the message from the table and the operation and version in Delta's log."""
        super().__init__(
            f"table {table} at {path} was changed by another tool: {operation} in version "
            f"{version}; undo it with Delta's RESTORE to version {version - 1} and run again; "
            "nothing was committed on top of it"
        )


class TornLogError(SeglakeError):
    """A file of a table's log is damaged, as after a power cut; no run has used this file."""

    def __init__(self, *, path: str, is_commit: bool) -> None:
        """Make the message from the path of the file; `is_commit` is False for a checkpoint."""
        what = (
            "no run has reported this commit as done; delete the file"
            if is_commit
            else "the log still has its content; delete the file, and _last_checkpoint beside it"
        )
        super().__init__(
            f"{path} is damaged, as by a power cut: {what} and run again; nothing was touched"
        )


class TablesDisagreeError(SeglakeError):
    """A topic's generations in the tables contradict each other: a table was restored or lost."""

    def __init__(self, *, topic: str, versions: Sequence[int], reason: str) -> None:
        """Make the message.

        Args:
            topic: the topic.
            versions: its generations in records, the other tables, and checkpoints, in this order.
            reason: the broken rule, as text.
        """
        super().__init__(
            f"tables disagree on topic {topic}: generations of records, followers, checkpoints are "
            f"{', '.join(map(str, versions))}; {reason}; was a table dropped or restored from "
            "a copy? nothing was touched"
        )


class RedoMissingError(SeglakeError):
    """A commit reached only `records`, and the redo file for completing the commit is missing."""

    def __init__(self, *, topic: str, generation: int, folder: str) -> None:
        """Make the message from the topic, the generation, and the folder of the redo files."""
        super().__init__(
            f"generation {generation} of topic {topic} is only in records, and no file in "
            f"{folder} lists the files that the other tables lack; nothing was touched"
        )


class RedoFileError(SeglakeError):
    """A redo file does not have the content that seglake writes."""

    def __init__(self, *, path: str, reason: str) -> None:
        """Make the message from the path of the file and the reason, as text."""
        super().__init__(f"cannot use redo file {path}: {reason}")


class WaveError(SeglakeError):
    """The input of a commit is invalid. Nothing was committed."""

    def __init__(self, *, topic: str, reason: str) -> None:
        """Make the message from the topic and the reason, as text."""
        super().__init__(f"cannot commit topic {topic}: {reason}")


class DataFileError(SeglakeError):
    """A data file is missing or has another size than its task reported; nothing was committed."""

    def __init__(self, *, path: str, expected_bytes: int, found_bytes: int | None) -> None:
        """Store the path; `found_bytes` is None for a missing file."""
        self.path = path
        found = "no such file" if found_bytes is None else f"{found_bytes} bytes"
        super().__init__(
            f"data file {path}: expected {expected_bytes} bytes, found {found}; nothing was "
            "committed, run again"
        )


class RowCountError(SeglakeError):
    """The number of rows in data files differs from Delta's log, so a file was replaced."""

    def __init__(self, *, table: str, path: str, expected: int, found: int) -> None:
        """Make the message from the table, one of the files, and both numbers of rows."""
        super().__init__(
            f"{path} and the files of {table} to merge with it have {found} rows, and the log has "
            f"{expected}: a file is not the one that was committed; nothing was changed"
        )


class DecidedFileGoneError(SeglakeError):
    """A run died between its commits, and a data file for the remaining commits is missing."""

    def __init__(self, *, path: str, topics: Sequence[str]) -> None:
        """Make the message from the path of the file, and the topics that cannot be completed."""
        super().__init__(
            f"cannot complete an earlier run's commit of {', '.join(topics)}: data file "
            f"{path} is missing or has another size; was the lake vacuumed since that run died? "
            "restore the file and run again; nothing was touched"
        )


class CommitUnknownError(SeglakeError):
    """A commit reported a failure, but may have happened; the next run checks and completes it."""

    def __init__(self, *, table: str, attempt_count: int, reason: str) -> None:
        """Make the message from the table, the number of attempts and the last failure, as text."""
        super().__init__(
            f"could not commit to {table} in {attempt_count} attempts: {reason}; it is safe to "
            "run again"
        )


class TypedTableError(SeglakeError):
    """Error for a typed table that cannot get the values of its topic."""

    def __init__(self, *, table: str, reason: str) -> None:
        """Make the message from the name of the table, and the reason as text."""
        super().__init__(f"table {table} cannot be written: {reason}")


class LatestTableError(SeglakeError):
    """A folder in `latest` is a table that seglake did not make."""

    def __init__(self, *, table: str) -> None:
        """Store the name of the table of latest state."""
        self.table = table
        super().__init__(f"table {table} is not a table of latest state: move its folder away")


def in_one_line(error: Exception) -> str:
    """Return the text of a delta-rs error, which is formatted as a tree, as one line."""
    plain = _TERMINAL_CODES.sub("", str(error))
    lines = [line.strip(" \t\u21b3\u2502\u2570\u251c\u2500\u25b6") for line in plain.splitlines()]
    return ": ".join(line for line in lines if line)
