"""The base class of all exceptions that seglake raises on purpose, and the exit codes.

Damaged bytes are no exceptions: they become rows. Exceptions are for wrong calls and for failures
of the machine, the network or a storage.
"""

from enum import IntEnum
from typing import Any

from seglake.printable import on_one_line


class ExitCode(IntEnum):
    """Exit codes of the commands."""

    DONE = 0
    FAILED = 1  # the command is safe to run again
    WRONG_CALL = 2  # nothing was touched
    LOOK = 3  # done and consistent, but a person should look
    INTERRUPTED = 130


class SeglakeError(Exception):
    """An expected failure; the message is one paragraph for a person.

    Commits made before the failure stay, and the call may be repeated. The commands exit with 1.
    """

    def __str__(self) -> str:
        """Escape control characters, because names in the message may come from a disk."""
        return on_one_line(super().__str__())

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by message and attributes, so that workers can send the error to the driver."""
        return _restored, (type(self), self.args, self.__dict__)


class WrongCallError(SeglakeError):
    """Error for a wrong call, setting or path; nothing was changed. The commands exit with 2."""


def _restored(
    kind: type[SeglakeError], args: tuple[Any, ...], facts: dict[str, Any]
) -> SeglakeError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(facts)
    return error
