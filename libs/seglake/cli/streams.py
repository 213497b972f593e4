"""Makes the standard streams safe to use, even if they are closed or have no reader."""

import io
import os
import select
import sys
from contextlib import suppress

from seglake.errors import SeglakeError

_UNENCODABLE = "backslashreplace"


class _Unheard(io.TextIOWrapper):
    """Standard error that discards text if it has no reader or its disk is full."""

    def write(self, text: str) -> int:
        with suppress(OSError):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            super().flush()


def make_ready() -> None:
    """Prepare the standard streams, so that no failing stream ends this process.

    A closed stream is opened on the null device. Otherwise the next opened file would get the
    number of this stream, and the JVM would write to that file. Characters that the encoding lacks
    are written as escapes. Call this function first, and only in a process that seglake itself
    started.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    sys.stdin = sys.stdin or io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))
    sys.stdout = sys.stdout or io.TextIOWrapper(_writer(1))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=_UNENCODABLE)
    encoding = None if sys.stderr is None else sys.stderr.encoding
    sys.stderr = _Unheard(_writer(2), encoding, errors=_UNENCODABLE, line_buffering=True)


def _writer(number: int) -> io.BufferedWriter:
    return io.BufferedWriter(io.FileIO(number, "w", closefd=False))


def write_out(text: str) -> None:
    """Write a text to standard output completely; do nothing if its reader is gone.

    Raises:
        SeglakeError: standard output cannot be written, for example because its disk is full.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        abandon_out()
    except OSError as error:
        abandon_out()
        raise SeglakeError(f"cannot write to standard output: {error.strerror}") from error


def out_is_gone() -> bool:
    """Return whether standard output has lost its reader."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return bool(poll.poll(0))


def write_as_utf_8() -> None:
    """Switch standard output to UTF-8 for programs, regardless of the terminal's encoding."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")


def abandon_out() -> None:
    """Discard further output, because the reader of standard output is gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
