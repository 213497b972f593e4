"""What is recorded of a run for machines, and who records it. Values.

Neither settings nor payloads are in it: a setting may be a secret.
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
_USER_OF_URI = re.compile(r"(?<=//)[^/]*@")  # a password may have an @


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStart:
    """What is known when a run begins.

    `sources` and `lake` are URIs, absolute where they are local paths, without users and passwords.
    """

    command: str
    run_id: str
    engine: str
    sources: Sequence[str]
    lake: str
    writes: bool  # it commits to the lake, if it finds anything to do


# Any: what JSON can hold.
@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """How a run ended; `summary` is that of `--json`, empty after a failure."""

    exit_code: int
    seconds: float
    summary: Mapping[str, Any]
    error: BaseException | None = None

    @property
    def is_done(self) -> bool:
        """Also where a person should look: all that can be done is committed."""
        return self.error is None and self.exit_code in (ExitCode.DONE, ExitCode.LOOK)


class RunRecorder(Protocol):
    """Told of each run twice. It raises nothing: a run does not fail for being recorded."""

    def begin(self, start: RunStart) -> None: ...

    def end(self, start: RunStart, end: RunEnd) -> None: ...


@contextmanager
def recorded(
    recorders: Sequence[RunRecorder], start: RunStart
) -> Iterator[Callable[[int, Mapping[str, Any]], None]]:
    """Record the run that the block is; it hands over its exit code and its summary."""
    begun = time.monotonic()
    found: tuple[int, Mapping[str, Any]] = (ExitCode.DONE, {})

    def hand_over(exit_code: int, summary: Mapping[str, Any]) -> None:
        nonlocal found
        found = exit_code, summary

    def tell(exit_code: int, error: BaseException | None) -> None:
        seconds = round(time.monotonic() - begun, 3)
        end = RunEnd(exit_code=exit_code, seconds=seconds, summary=found[1], error=error)
        for recorder in recorders:
            recorder.end(start, end)

    for recorder in recorders:
        recorder.begin(start)
    try:
        yield hand_over
    except BaseException as error:
        tell(_exit_code_of(error), error)
        raise
    tell(found[0], None)


def error_text(error: BaseException) -> str:
    """What went wrong; of what nobody foresaw only its kind, for its text may hold anything."""
    if isinstance(error, SeglakeError | OSError):
        return str(error)
    return "interrupted" if isinstance(error, KeyboardInterrupt) else type(error).__name__


def shown_place(uri: str) -> str:
    """A URI without a user and a password; a local path as an absolute one. What is not UTF-8 in
    its name is shown by escapes."""
    place = _USER_OF_URI.sub("", uri) if _SCHEME.match(uri) else str(Path(uri).absolute())
    return place.encode(errors="backslashreplace").decode()


def _exit_code_of(error: BaseException) -> int:
    if isinstance(error, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    return ExitCode.WRONG_CALL if isinstance(error, WrongCallError) else ExitCode.FAILED
