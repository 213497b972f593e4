"""Runs a command as a process and measures it, with all processes that it starts. Linux only."""

import contextlib
import ctypes
import os
import resource
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from threading import Thread
from typing import IO

ROOT = Path(__file__).parents[2]

_PR_SET_CHILD_SUBREAPER = 36
_SAMPLE_SECONDS = 0.05
_TICKS = os.sysconf("SC_CLK_TCK")
_NOT_PYTHON = frozenset({"java", "bash", "sh"})


@dataclass(frozen=True, slots=True)
class Measurement:
    """One run of a command.

    Attributes:
        cpu_s: user and system time of all its processes.
        steps: a line it wrote to stderr, by its first word, and the seconds until the next one.
        driver_bytes, worker_bytes: the most private memory of the process itself, and of the
            largest Python process below it; 0 where it was not sampled.
    """

    wall_s: float
    cpu_s: float
    steps: dict[str, float]
    stdout: str
    driver_bytes: int = 0
    worker_bytes: int = 0


def adopt_orphans() -> None:
    """Have this process wait for what its children leave running: a JVM outlives its Python."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def measured(
    command: Sequence[str], *, samples_memory: bool = False, good_codes: Sequence[int] = (0,)
) -> Measurement:
    """Run a command from the project's root to its end; sampling memory slows it a little.

    Raises:
        RuntimeError: it ended with another code; with its stderr.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    others = children()
    started = time.perf_counter()
    with TemporaryFile("w+") as stdout:
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=stdout, stderr=subprocess.PIPE, text=True
        )
        lines: list[tuple[float, str]] = []
        reader = Thread(target=_read, args=(process.stderr, lines))
        reader.start()
        largest: dict[int, int] = {}
        while samples_memory and process.poll() is None:
            _sample(process.pid, largest)
            time.sleep(_SAMPLE_SECONDS)
        code = process.wait()
        stopped = time.perf_counter()
        reader.join()
        wait_for_orphans(others)
        stdout.seek(0)
        answer = stdout.read()
    if code not in good_codes:
        raise RuntimeError(f"{' '.join(command)}: exit code {code}\n{_text(lines)}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Measurement(
        stopped - started,
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        _steps([(started, "start"), *lines], stopped),
        answer,
        largest.pop(process.pid, 0),
        max(largest.values(), default=0),
    )


def _read(stream: IO[str] | None, lines: list[tuple[float, str]]) -> None:
    for line in stream or ():
        lines.append((time.perf_counter(), line.strip()))  # noqa: PERF401  # the time is the point


def _text(lines: list[tuple[float, str]]) -> str:
    return "\n".join(line for _, line in lines)


def _steps(lines: list[tuple[float, str]], stopped: float) -> dict[str, float]:
    steps: dict[str, float] = {}
    ends = [time_s for time_s, _ in lines[1:]] + [stopped]
    for (time_s, line), end in zip(lines, ends, strict=True):
        name = line.partition(" ")[0]
        steps[name] = steps.get(name, 0.0) + end - time_s
    return steps


def children() -> set[int]:
    """The processes that this one waits for."""
    return {
        int(child)
        for listed in Path("/proc/self").glob("task/*/children")
        for child in listed.read_text().split()
    }


def wait_for_orphans(others: set[int]) -> None:
    """Wait for what the command left, not for children that were there before it."""
    while left := children() - others:
        for child in left:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, 0)


def _sample(root: int, largest: dict[int, int]) -> None:
    """Note the private memory of every Python process of a tree, if it is more than before."""
    for pid in process_tree(root):
        with contextlib.suppress(OSError):  # it ended meanwhile
            if Path("/proc", str(pid), "comm").read_text().strip() not in _NOT_PYTHON:
                largest[pid] = max(private_bytes(pid), largest.get(pid, 0))


def process_tree(root: int) -> Iterator[int]:
    """A process and all below it."""
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        yield pid
        with contextlib.suppress(OSError):  # it ended meanwhile
            for listed in Path("/proc", str(pid)).glob("task/*/children"):
                waiting += [int(child) for child in listed.read_text().split()]


def cpu_seconds(pid: int) -> float:
    """Of a process, and of those that it started and that have ended."""
    try:
        stat = Path("/proc", str(pid), "stat").read_text()
    except OSError:  # it ended meanwhile
        return 0.0
    return sum(map(int, stat.rpartition(")")[2].split()[11:15])) / _TICKS


def private_bytes(pid: int) -> int:
    """The memory that a process shares with no other one.

    Raises:
        OSError: it ended.
    """
    rollup = Path("/proc", str(pid), "smaps_rollup").read_text()
    return sum(
        int(line.split()[1]) * 1024 for line in rollup.splitlines() if line.startswith("Private_")
    )
