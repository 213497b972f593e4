"""Runs jobs one after the other in one process, and measures each. Linux only.

The process does a job for each line that it reads, the folder to write to, and answers with a line
of JSON. The first job counts from the start of the process (cold), the later ones from their line
(warm).
"""

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Self

from bench.processes import (
    children,
    cpu_seconds,
    private_bytes,
    process_tree,
    wait_for_orphans,
)

_SAMPLE_SECONDS = 0.2
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What one job took.

    Attributes:
        cpu_s: of the process and all below it, user and system.
        broker_cpu_s: of the broker meanwhile.
        foreign_cores: how many cores were busy with anything else.
        memory_bytes: the most private memory of all its processes at one time.
        process_bytes: the most private memory of one of them.
        output_bytes: what it wrote.
    """

    wall_s: float
    cpu_s: float
    broker_cpu_s: float
    foreign_cores: float
    memory_bytes: int
    process_bytes: int
    output_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Instant:
    wall_s: float
    own_s: float
    broker_s: float
    busy_s: float


def measured_jobs(
    command: Sequence[str],
    folders: Sequence[Path],
    *,
    broker_pid: int,
    checked: Callable[[Path], int],
    log: Path,
    environment: Mapping[str, str],
) -> list[Job]:
    """Do a job for each folder in one process.

    Args:
        checked: looks at what a job wrote, outside of the measured time; how many bytes it is.
        log: takes what the process says on stderr.
        environment: added to this process's.

    Raises:
        RuntimeError: the process failed.
    """
    others = children()
    start = _instant([], broker_pid)
    with log.open("wb") as stderr:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=os.environ | dict(environment),
        )
    try:
        with _Memory(process.pid) as memory:
            jobs = []
            for folder in folders:
                _ask(process, folder, log)
                end = _instant(process_tree(process.pid), broker_pid)
                jobs.append(_job(start, end, memory, checked(folder)))
                memory.forget()
                start = _instant(process_tree(process.pid), broker_pid)
    except BaseException:
        process.kill()
        raise
    finally:
        process.communicate()
        wait_for_orphans(others)
    return jobs


def _ask(process: "subprocess.Popen[bytes]", folder: Path, log: Path) -> None:
    if process.stdin is None or process.stdout is None:
        raise ValueError("the process has no pipes")
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(f"{folder}\n".encode())
        process.stdin.flush()
    for line in process.stdout:
        if line.startswith(b"{"):
            return
    raise RuntimeError(f"{process.args!r} failed:\n{log.read_text(errors='replace')[-4000:]}")


def _job(start: _Instant, end: _Instant, memory: "_Memory", output_bytes: int) -> Job:
    wall_s = end.wall_s - start.wall_s
    cpu_s = end.own_s - start.own_s
    broker_s = end.broker_s - start.broker_s
    return Job(
        wall_s=wall_s,
        cpu_s=cpu_s,
        broker_cpu_s=broker_s,
        foreign_cores=max(0.0, end.busy_s - start.busy_s - cpu_s - broker_s) / wall_s,
        memory_bytes=memory.most_bytes,
        process_bytes=memory.largest_bytes,
        output_bytes=output_bytes,
    )


def _instant(tree: Iterable[int], broker_pid: int) -> _Instant:
    return _Instant(
        wall_s=time.perf_counter(),
        own_s=sum(map(cpu_seconds, tree)),
        broker_s=cpu_seconds(broker_pid),
        busy_s=_busy_seconds(),
    )


def _busy_seconds() -> float:
    """Of all cores, since the machine started; neither idle nor waiting for a disk."""
    user, nice, system, _idle, _iowait, irq, softirq = map(
        int, Path("/proc/stat").read_text().split()[1:8]
    )
    return (user + nice + system + irq + softirq) / _TICKS


class _Memory:
    """Looks at the memory of a process and all below it, again and again."""

    def __init__(self, root: int) -> None:
        self.most_bytes = 0
        self.largest_bytes = 0
        self._root = root
        self._stopped = Event()
        self._thread = Thread(target=self._watch)

    def forget(self) -> None:
        """Begin anew, for the next job."""
        self.most_bytes = self.largest_bytes = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stopped.wait(_SAMPLE_SECONDS):
            found = []
            for pid in process_tree(self._root):
                with contextlib.suppress(OSError):  # it ended meanwhile
                    found.append(private_bytes(pid))
            self.most_bytes = max(self.most_bytes, sum(found))
            self.largest_bytes = max(self.largest_bytes, *found, 0)
