"""The standard streams of a process, whatever is at their other end. Effect."""

import io
import os
import select
import sys
from contextlib import suppress

from seglake.errors import SeglakeError

_UNENCODABLE = "backslashreplace"


class _Unheard(io.TextIOWrapper):
    """Standard error: what is said there is lost where nobody reads it, or the disk is full."""

    def write(self, text: str) -> int:
        with suppress(OSError):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            super().flush()


def make_ready() -> None:
    """Let no stream end what the process does: for a process of ours, before all else.

    A closed one leads nowhere, and takes its number: else the next file that is opened would be
    standard output to the JVM. What an encoding lacks is written as an escape.
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
    """Write to standard output, all of it; nothing is wrong where its reader has gone.

    Raises:
        SeglakeError: it cannot be written, as on a full disk.
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
    """Whether nobody reads standard output any more."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return bool(poll.poll(0))


def write_as_utf_8() -> None:
    """Let standard output have what is for machines, whatever the terminal's encoding is."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")


def abandon_out() -> None:
    """Whoever read our output has gone: what is left of it goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
