"""Starts outside programs on loopback, waits until they answer, and leaves none behind."""

import ctypes
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

LOOPBACK = "127.0.0.1"
_PR_SET_PDEATHSIG = 1
_STOP_SECONDS = 10
_SHOWN_BYTES = 4000
_LIBC = ctypes.CDLL(None)  # opened here: nothing may be loaded between fork and exec


class ServerError(Exception):
    """A program did not start; the text has the end of what it printed."""


class Running:
    """A program in a process group of its own, with its log."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self._process = process
        self.log = log

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def wait_for_port(self, port: int, *, seconds: float = 60) -> None:
        """Wait until the program accepts connections on a port of loopback."""
        end = time.monotonic() + seconds
        while not _accepts(port):
            self._require(time.monotonic() < end, f"nothing listens on port {port}")
            time.sleep(0.05)

    def wait_for_text(self, text: str, *, seconds: float = 60) -> None:
        """Wait until the program has printed a text."""
        end = time.monotonic() + seconds
        while text not in self.log.read_text(errors="replace"):
            self._require(time.monotonic() < end, f"it did not print {text!r}")
            time.sleep(0.05)

    def wait(self, *, seconds: float) -> None:
        """Wait until the program has ended by itself, with exit code 0."""
        with suppress(subprocess.TimeoutExpired):
            if self._process.wait(seconds) == 0:
                return
        self._require(False, "it did not end well")

    def code(self, *, seconds: float) -> int:
        """Wait until the program has ended by itself, and return its exit code."""
        return self._process.wait(seconds)

    def kill(self) -> None:
        """End the whole group at once, as a crash would."""
        self._signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        """End the whole group, politely if it lets itself."""
        if self.is_running:
            self._signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_STOP_SECONDS)
        self._signal(signal.SIGKILL)  # also what the program started and left
        self._process.wait()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def _require(self, in_time: bool, problem: str) -> None:
        if self.is_running and in_time:
            return
        ended = "" if self.is_running else f" It ended with {self._process.returncode}."
        printed = self.log.read_bytes()[-_SHOWN_BYTES:].decode(errors="replace")
        raise ServerError(f"{self.log.stem}: {problem}.{ended} It printed:\n{printed}")


@contextmanager
def started(
    command: Sequence[str | Path],
    *,
    log: Path,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Iterator[Running]:
    """Run a program until the block ends, or this process does, however it ends.

    Args:
        log: file that takes what it prints.
        environment: added to this process's.
        folder: where it runs; the log's by default.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
            cwd=folder or log.parent,
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )
    running = Running(process, log)
    try:
        yield running
    finally:
        running.stop()


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((LOOPBACK, port)) == 0


def _die_with_parent() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
