"""How far tasks are while they work: each writes a number that the driver reads. Effect.

The numbers lie in a small file of the machine, one for each task. So they arrive from all processes
that share it with the driver: those of the local engine, Spark's on `local[*]`, a worker that runs
beside the driver. PySpark's accumulators come only with a task's end. Elsewhere the file is not
there, which is no error: then only tasks that have ended count.
"""

import mmap
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from seglake.task_engine.engine import Engine

T = TypeVar("T")
R = TypeVar("R")

_BYTES = 8


class _Reader(Protocol):
    @property
    def size_bytes(self) -> int: ...

    def read(self, position: int, length: int) -> bytes: ...


class TaskProgress:
    """What the tasks of one run have done, as the driver sees it; use it in a `with` block.

    Args:
        sizes: how much there is to do in each task, in whatever its function counts.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = sizes
        self._ended_count = 0
        self._slots: memoryview | None = None
        self.path = ""

    @property
    def done(self) -> int:
        """How much is done: at least what is known of tasks that have ended.

        Those end in any order, so the first ones stand for them where the tasks say nothing.
        """
        slots = self._slots
        said = 0 if slots is None else sum(map(min, slots, self.sizes))
        return max(said, sum(self.sizes[: self._ended_count]))

    def on_done(self, count: int) -> None:
        """For an engine: so many tasks have ended."""
        self._ended_count = count

    def __enter__(self) -> Self:
        with suppress(OSError):  # a full disk: then only ended tasks count
            handle, self.path = tempfile.mkstemp(prefix="seglake-progress-")
            with os.fdopen(handle, "r+b") as file:
                # Written, not only made longer: on a full disk a task would die of a missing page.
                file.write(bytes(_BYTES * max(len(self.sizes), 1)))
                file.flush()  # all of it, or it raises
                self._slots = memoryview(mmap.mmap(handle, 0)).cast("Q")
        return self

    def __exit__(self, *raised: object) -> None:
        self._slots, self._ended_count = None, len(self.sizes)
        if self.path:
            with suppress(OSError):
                Path(self.path).unlink()


def run_watched(
    engine: "Engine", function: Callable[[T], R], tasks: Sequence[T], progress: TaskProgress
) -> list[R]:
    """Run tasks as `Engine.run` does; what they say with `advance` goes to `progress`."""
    numbered = [
        NumberedTask(index, size, task)
        for index, (size, task) in enumerate(zip(progress.sizes, tasks, strict=True))
    ]
    watched: _Watched[T, R] = _Watched(function, progress.path)
    return engine.run(watched, numbered, on_done=progress.on_done)


class NumberedTask(NamedTuple, Generic[T]):
    """A task, its place among those of the run, and how much there is to do in it."""

    slot: int
    size: int
    task: T


class _Watched(Generic[T, R]):
    """A task function for numbered tasks, which opens the slot of each while it runs."""

    def __init__(self, function: Callable[[T], R], path: str) -> None:
        self.function = function
        self.__name__ = getattr(function, "__name__", "tasks")
        self._path = path

    def __call__(self, numbered: NumberedTask[T]) -> R:
        with _slot_open(self._path, numbered.slot):
            result = self.function(numbered.task)
            advance(numbered.size)  # whatever it did not count: it has ended
            return result


class CountedReads:
    """A reader that counts what a task reads for the first time, from a position on."""

    def __init__(self, reader: _Reader, start: int = 0) -> None:
        self._reader = reader
        self._reached = start

    @property
    def size_bytes(self) -> int:
        return self._reader.size_bytes

    def read(self, position: int, length: int) -> bytes:
        piece = self._reader.read(position, length)
        stop = position + len(piece)
        if stop > self._reached:
            advance(stop - self._reached)
            self._reached = stop
        return piece


def advance(amount: int) -> None:
    """For a task: so much more of it is done. Nothing happens where nobody looks."""
    if _slot is not None:
        _slot[0] += amount


_slot: memoryview | None = None  # of the task that this process runs


@contextmanager
def _slot_open(path: str, index: int) -> Iterator[None]:
    global _slot
    slots: memoryview | None = None
    # Not there on another machine, not ours where workers run as somebody else.
    # A disk that was full may have cut it anywhere.
    with suppress(OSError, ValueError, TypeError), Path(path).open("r+b", buffering=0) as file:
        slots = memoryview(mmap.mmap(file.fileno(), 0)).cast("Q")
    if slots is None or index >= len(slots):
        yield
        return
    _slot = slots[index : index + 1]
    _slot[0] = 0  # of a try that was given up
    try:
        yield
    finally:
        _slot = None
