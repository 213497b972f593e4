"""Hostile bytes: whatever lies on the disk, each byte is accounted for and nothing is made up.

Of each input the same is asked: no exception but those that are documented, no hang, memory under
its cap, items that tile the bytes, runs that are the exact walk, and two decoders that agree. Half
of the inputs have right checksums over their damage. See `torture.hostile`.
"""

import multiprocessing
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.sharedctypes import SynchronizedArray
from pathlib import Path

from torture.hostile.kinds import KINDS
from torture.hostile.worker import Found, Task, Tried, work
from torture.rows import Row

_FOUND = Path(__file__).resolve().parents[2] / "build" / "hostile_bytes.txt"
_MOST_SHOWN = 2000
_STUCK_SECONDS = 900.0  # a busy machine, or a worker that still compiles


@dataclass
class _Worker:
    task: Task
    process: BaseProcess
    answers: Connection
    place: "SynchronizedArray[int]"
    seen: tuple[int, ...] = ()
    seen_at: float = field(default_factory=time.monotonic)

    def is_stuck(self) -> bool:
        """Whether it has been at one input for so long that it will never end."""
        now = (self.place[0], self.place[1])
        if now != self.seen:
            self.seen, self.seen_at = now, time.monotonic()
        return time.monotonic() - self.seen_at > _STUCK_SECONDS

    def lost(self, why: str) -> Found:
        """The input at which it ended."""
        index, number = self.place[0], self.place[1]
        kind = KINDS[self.task.kinds[index]]
        return Found(kind.name, self.task.seed, number, kind.make(self.task.seed, number), why)


def campaign(seconds: float, seed: int) -> Iterator[Row]:
    """Inputs of all kinds on all cores, for so long; the same seed gives the same inputs."""
    names = tuple(KINDS)
    count = len(os.sched_getaffinity(0))
    workers = [_started(Task(names, seed, first, count, seconds)) for first in range(count)]
    tried: list[Tried] = []
    found: list[Found] = []
    for answer in _answers(workers):
        if isinstance(answer, Found):
            found.append(answer)
            _keep(answer)
        else:
            tried.append(answer)
    for name in names:
        parts = [each for each in tried if each.kind == name]
        yield Row(
            part="hostile_bytes",
            case=f"{name} ({sum(part.batches for part in parts):,} batches or files)",
            tried=sum(part.inputs for part in parts),
            wrong=sum(each.kind == name for each in found),
            seconds=sum(part.seconds for part in parts) / count,
        )


def _started(task: Task) -> _Worker:
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe(duplex=False)
    place = context.Array("q", 2)
    process = context.Process(target=work, args=(task, theirs, place))
    process.start()
    theirs.close()
    return _Worker(task, process, mine, place)


def _answers(workers: list[_Worker]) -> Iterator[Found | Tried]:
    """What the workers send; of one that dies or hangs, the input that it was at."""
    running = list(workers)
    while running:
        ready = wait([worker.answers for worker in running], timeout=1.0)
        for worker in list(running):
            if worker.answers in ready:
                with suppress(EOFError):
                    yield worker.answers.recv()
                    continue
                worker.process.join()
                running.remove(worker)
                if worker.process.exitcode:
                    yield worker.lost(f"the process died: {worker.process.exitcode}")
            elif worker.is_stuck():
                worker.process.kill()
                worker.process.join()
                running.remove(worker)
                yield worker.lost(f"no end after {_STUCK_SECONDS:.0f} s")


def _keep(found: Found) -> None:
    """Say it at once, and keep it for a test."""
    shown = str(found)
    if len(shown) > _MOST_SHOWN:
        shown = f"{shown[: _MOST_SHOWN // 2]} ... {shown[-_MOST_SHOWN // 2 :]}"
    print(f"WRONG: {shown}\n  whole in {_FOUND}", flush=True)
    _FOUND.parent.mkdir(exist_ok=True)
    with _FOUND.open("a", encoding="utf-8") as file:
        file.write(f"{found}\n")
