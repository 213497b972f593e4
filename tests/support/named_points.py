"""Runs of the product that a test stops at a point by its name, and what it then does to them."""

import os
import signal
import socket
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import wait
from pathlib import Path
from typing import NamedTuple

from support.held_runs import GO_ON, run_held
from support.processes import young

_MOST_SECONDS = 120.0
KILLED = -signal.SIGKILL


class Point(NamedTuple):
    """Point that a run has reached, and how many times it was there before."""

    name: str
    time: int

    def __str__(self) -> str:
        return f"{self.name} ({self.time + 1})"


class NeverThereError(Exception):
    """The run ended without being at a point, or is at none."""


class HeldRun:
    """A command in a process of its own, which waits at each point for the test."""

    def __init__(self, argv: Sequence[str]) -> None:
        self.passed: list[Point] = []
        self.pid_there = 0
        self._met: dict[str, int] = {}
        self._there: socket.socket | None = None
        self._folder = tempfile.TemporaryDirectory()  # a socket's path is short
        address = str(Path(self._folder.name, "points"))
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(address)
        self._server.listen()
        printed = Path(self._folder.name, "printed")
        os.mkfifo(printed)  # no file: a full disk would be too small for it
        self._printed = os.open(printed, os.O_RDONLY | os.O_NONBLOCK)
        self._text = ""
        self.process = young().Process(target=run_held, args=(address, [*argv], str(printed)))
        self.process.start()

    @property
    def pid(self) -> int:
        """The driver's."""
        return self.process.pid or 0

    def next(self, answer: str = GO_ON) -> Point | None:
        """Answer the point where the run is, and wait for the next; None when the run has ended."""
        self.answer(answer)
        ready = wait([self._server, self.process.sentinel], _MOST_SECONDS)
        if not ready:
            raise NeverThereError(f"the run is silent behind {self.passed[-1:]}: {self.text()}")
        if self._server not in ready:
            return None
        self._there, _ = self._server.accept()
        said = self._there.makefile().readline().rstrip("\n")
        if not said:  # killed before it could say where it is
            return self.next()
        pid, _, name = said.partition(" ")
        self.pid_there = int(pid)
        self.passed.append(Point(name, self._met.get(name, 0)))
        self._met[name] = self.passed[-1].time + 1
        return self.passed[-1]

    def reach(self, wanted: Point) -> None:
        """Let it run until it is there."""
        while (point := self.next()) != wanted:
            if point is None:
                raise NeverThereError(f"the run was never at {wanted}: {self.text()}")

    def answer(self, answer: str = GO_ON) -> None:
        """Let it go on from where it is, and wait for nothing."""
        if self._there is not None:
            with self._there:
                self._there.sendall(f"{answer}\n".encode())
            self._there = None

    def kill(self) -> int:
        """Kill the driver where it is; its exit code."""
        os.kill(self.pid, signal.SIGKILL)
        return self._ended()

    def kill_who_is_there(self) -> None:
        """Kill the process that is at the point: the driver, or one of its workers."""
        os.kill(self.pid_there, signal.SIGKILL)
        if self._there is not None:
            self._there.close()
            self._there = None

    def kill_java(self) -> None:
        """Kill the virtual machine that the driver has started, wherever the run is."""
        (java,) = (pid for pid in _offspring(self.pid) if _name_of(pid) == "java")
        os.kill(java, signal.SIGKILL)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """The driver does nothing at all meanwhile, as on a machine that hangs."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def finish(self, answer: str = GO_ON) -> int:
        """Answer, let it run to its end, and give its exit code."""
        while self.next(answer) is not None:
            answer = GO_ON
        return self._ended()

    def text(self) -> str:
        """Return the output of the run so far."""
        while part := _read(self._printed):
            self._text += part
        return self._text

    def close(self) -> None:
        """End it, if it has not."""
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        if self._there is not None:
            self._there.close()
        self._server.close()
        os.close(self._printed)
        self._folder.cleanup()

    def _ended(self) -> int:
        self.process.join()
        return self.process.exitcode or 0


@contextmanager
def held(argv: Sequence[str]) -> Iterator[HeldRun]:
    """A run that asks at each point; it ends with the block."""
    run = HeldRun(argv)
    try:
        yield run
    finally:
        run.close()


def points_of(argv: Sequence[str]) -> tuple[list[Point], int]:
    """The points that a run passes to which nothing happens, in order, and its exit code."""
    with held(argv) as run:
        code = run.finish()
        return run.passed, code


def _offspring(pid: int) -> Iterator[int]:
    """The processes that a process has started, and those that they have."""
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, children.read_text().split()):
            yield child
            yield from _offspring(child)


def _name_of(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def _read(pipe: int) -> str:
    try:
        return os.read(pipe, 1 << 16).decode()
    except BlockingIOError:
        return ""
