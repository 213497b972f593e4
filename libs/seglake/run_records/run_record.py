"""The record of a run for machines, and the interface of the recorders that write it.

A record has no payloads and no settings, because a setting may be a secret.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from seglake.errors import ExitCode, SeglakeError, WrongCallError

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_USER_OF_URI = re.compile(r"(?<=//)[^/]*@")  # a password may contain an @


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStart:
    """Facts that are known when a run begins.

    Attributes:
        command: name of the command.
        run_id: label of the run.
        engine: "spark" or "local".
        sources: URIs or absolute paths, without users and passwords.
        lake: URI or absolute path, without user and password.
        writes: whether the run commits to the lake if it finds work.
    """

    command: str
    run_id: str
    engine: str
    sources: Sequence[str]
    lake: str
    writes: bool


# Any: the types that JSON can hold.
@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """Facts about a run's end.

    Attributes:
        exit_code: the exit code of the command.
        seconds: duration of the run.
        summary: the object that `--json` prints; empty after a failure.
        error: the exception that ended the run; None without one.
    """

    exit_code: int
    seconds: float
    summary: Mapping[str, Any]
    error: BaseException | None = None

    @property
    def is_done(self) -> bool:
        """Return whether all possible work is committed: true for exit code 3, too."""
        return self.error is None and self.exit_code in (ExitCode.DONE, ExitCode.LOOK)


class RunRecorder(Protocol):
    """Interface of recorders. They raise no errors, so that recording cannot make a run fail."""

    def begin(self, start: RunStart) -> None:
        """Record the start of a run."""

    def end(self, start: RunStart, end: RunEnd) -> None:
        """Record the end of a run."""


@contextmanager
def recorded(
    recorders: Sequence[RunRecorder], start: RunStart
) -> Iterator[Callable[[int, Mapping[str, Any]], None]]:
    """Record the block as a run.

    Args:
        recorders: called at the start and at the end; the caller may add more in the block.
        start: the facts of the run's start.

    Yields:
        A function to call with the run's exit code and summary, before the block ends.
    """
    begun = time.monotonic()
    found: tuple[int, Mapping[str, Any]] = (ExitCode.DONE, {})

    def hand_over(exit_code: int, summary: Mapping[str, Any]) -> None:
        nonlocal found
        found = exit_code, summary

    def report(exit_code: int, error: BaseException | None) -> None:
        seconds = round(time.monotonic() - begun, 3)
        end = RunEnd(exit_code=exit_code, seconds=seconds, summary=found[1], error=error)
        for recorder in recorders:
            recorder.end(start, end)

    for recorder in recorders:
        recorder.begin(start)
    try:
        yield hand_over
    except BaseException as error:
        report(_exit_code_of(error), error)
        raise
    report(found[0], None)


def error_text(error: BaseException) -> str:
    """Return an expected error's text.

    For other errors, only the type is returned, because their text may have secrets.
    """
    if isinstance(error, SeglakeError | OSError):
        return str(error)
    return "interrupted" if isinstance(error, KeyboardInterrupt) else type(error).__name__


def shown_place(uri: str) -> str:
    """Return a URI without user and password, or a local path in absolute form.

    Bytes of the path that are not UTF-8 are shown as escapes.
    """
    place = _USER_OF_URI.sub("", uri) if _SCHEME.match(uri) else str(Path(uri).absolute())
    return place.encode(errors="backslashreplace").decode()


def _exit_code_of(error: BaseException) -> int:
    if isinstance(error, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    return ExitCode.WRONG_CALL if isinstance(error, WrongCallError) else ExitCode.FAILED
