"""The base of every exception that seglake raises on purpose, and the exit codes.

Bad bytes never come through here: they are rows. These are bad calls and a failing world.
"""

from enum import IntEnum
from typing import Any

from seglake.printable import on_one_line


class ExitCode(IntEnum):
    """What the caller of a command may rely on."""

    DONE = 0
    FAILED = 1  # safe to run again
    WRONG_CALL = 2  # nothing was touched
    LOOK = 3  # done and consistent, but a person should look
    INTERRUPTED = 130


class SeglakeError(Exception):
    """Something failed that was foreseen; the message is one paragraph for a person.

    What was committed stays, and the call may be made again. The commands end with 1.
    """

    def __str__(self) -> str:
        """What it names may come from a disk: nothing in it moves a cursor or begins a line."""
        return on_one_line(super().__str__())

    def __reduce__(self) -> tuple[Any, ...]:
        """Come back from a worker process with message and facts, whatever `__init__` takes."""
        return _restored, (type(self), self.args, self.__dict__)


class WrongCallError(SeglakeError):
    """The call, a setting or a place is wrong, and nothing was touched. The commands end with 2."""


def _restored(
    kind: type[SeglakeError], args: tuple[Any, ...], facts: dict[str, Any]
) -> SeglakeError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(facts)
    return error
