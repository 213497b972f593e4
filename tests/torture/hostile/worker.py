"""One process of the campaign: makes inputs, checks them, and says what was wrong."""

import base64
import itertools
import resource
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import SynchronizedArray
from pathlib import Path
from typing import NamedTuple

from torture.hostile.kinds import KINDS, Kind

MEMORY_BYTES = 1 << 30  # beyond what the libraries take when they are loaded
_PAGE_BYTES = resource.getpagesize()


class Tried(NamedTuple):
    """What a worker did of one kind."""

    kind: str
    inputs: int
    batches: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Found:
    """An input for which a promise was broken."""

    kind: str
    seed: int
    number: int
    content: bytes
    why: str

    def __str__(self) -> str:
        """A line that repeats it, and why."""
        where = f"seed {self.seed} number {self.number}"
        return f"{self.kind} {base64.b64encode(self.content).decode()}\n  {where}: {self.why}"


class Task(NamedTuple):
    """What a worker is to do: the inputs `first`, `first + step` and so on of each kind."""

    kinds: tuple[str, ...]
    seed: int
    first: int
    step: int
    seconds: float


def work(
    task: Task, answers: Connection, place: "SynchronizedArray[int]"
) -> None:  # pragma: no cover
    """Go through all kinds, and send what was `Found` and `Tried`.

    Args:
        place: gets the kind's index and the input's number before each input, for whoever wants to
            know at which one this process died.
    """
    _warm(task)
    _limit_memory()
    shares = sum(KINDS[name].share for name in task.kinds)
    for index, name in enumerate(task.kinds):
        kind = KINDS[name]
        place[0] = index
        started = time.monotonic()
        stop = started + task.seconds * kind.share / shares
        inputs = batches = 0
        for number in itertools.count(task.first, task.step):
            if time.monotonic() > stop:
                break
            place[1] = number
            counted = _checked(kind, task.seed, number)
            inputs += 1
            if isinstance(counted, Found):
                answers.send(counted)
            else:
                batches += counted
        answers.send(Tried(name, inputs, batches, time.monotonic() - started))
    answers.close()


def _checked(kind: Kind, seed: int, number: int) -> int | Found:
    content = kind.make(seed, number)
    started = time.thread_time()
    try:
        count = kind.check(content)
    except Exception:  # noqa: BLE001  # whatever it is, it was not promised
        return Found(kind.name, seed, number, content, traceback.format_exc(limit=-4))
    seconds = time.thread_time() - started
    if seconds > kind.cpu_seconds:
        return Found(kind.name, seed, number, content, f"it took {seconds:.1f} s")
    return count


def _warm(task: Task) -> None:
    """Compile what has to be, and load the samples: they are no part of an input's time."""
    for name in task.kinds:
        for number in range(3):
            _checked(KINDS[name], task.seed, number)


def _limit_memory() -> None:
    """A process that wants more gets a MemoryError, or dies."""
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * _PAGE_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_BYTES, used + MEMORY_BYTES))


def repeated(kind: str, seed: int, numbers: range) -> Iterator[int | Found]:
    """The same in this process, for tests and to look at one input."""
    for number in numbers:
        yield _checked(KINDS[kind], seed, number)
