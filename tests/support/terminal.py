"""A command in a terminal of its own, as a person has it."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping

_PATIENCE_S = 60
_KEY_SECONDS = 2


class Terminal:
    """One command; close it when it is no longer needed.

    Attributes:
        transcript: every byte that came.
    """

    def __init__(
        self,
        command: list[str],
        environment: Mapping[str, str],
        *,
        columns: int = 80,
        rows: int = 24,
    ) -> None:
        self._main, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen(
            command,
            env={**os.environ, **environment},
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
            preexec_fn=lambda: _be_in(other),
        )
        os.close(other)
        self.transcript = b""
        self._seen = ""

    def types(self, text: str) -> None:
        """Press keys."""
        os.write(self._main, text.encode())

    def interrupts(self, text: str) -> str:
        """Press Ctrl-C until a text comes, and return what came until it did, with it.

        A signal that comes just before readline waits for a key is seen with the next key only.
        """
        self.types("\x03")
        return self.shows(text, pressing="\x03")

    def shows(self, text: str, *, pressing: str = "") -> str:
        """Return the output up to and including a text; press a key whenever nothing comes."""
        deadline = time.monotonic() + _PATIENCE_S
        while text not in self._seen:
            if time.monotonic() > deadline:
                raise AssertionError(f"no {text!r} in {self._seen!r}")
            if not select.select([self._main], [], [], _KEY_SECONDS)[0]:
                self.types(pressing)
                continue
            came = os.read(self._main, 4096)
            self.transcript += came
            self._seen += came.decode(errors="replace").replace("\r\n", "\n")
        before, found, self._seen = self._seen.partition(text)
        return before + found

    def ends(self) -> int:
        """Wait for the exit code."""
        return self.process.wait(_PATIENCE_S)

    def close(self) -> None:
        """Kill what is left of it."""
        self.process.kill()
        self.process.wait()
        os.close(self._main)


def _be_in(terminal: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
