"""Progress of running tasks: each task writes a number that the driver reads. Effect.

The numbers are in one small local file with a slot per task. So they arrive from all processes on
the driver's machine: those of the local engine, of Spark's `local[*]`, of a worker beside the
driver. PySpark's accumulators arrive only at a task's end. On other machines the file does not
exist, which is no error: then only finished tasks count.
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
    """Reader of a file by position."""

    @property
    def size_bytes(self) -> int:
        """Return the size of the file."""

    def read(self, position: int, length: int) -> bytes:
        """Return the bytes [position, position + length)."""


class TaskProgress:
    """Progress of the tasks of one run, as the driver sees it; use it in a `with` block."""

    def __init__(self, sizes: Sequence[int]) -> None:
        """Store the amounts of work; the file is created on entering the `with` block.

        Args:
            sizes: amount of work in each task, in any unit that its function counts.
        """
        self.sizes = sizes
        self._ended_count = 0
        self._slots: memoryview | None = None
        self.path = ""

    @property
    def done(self) -> int:
        """Return the finished work: at least that of the finished tasks.

        Tasks finish in any order; without numbers from tasks, the first ones stand for them.
        """
        slots = self._slots
        written = 0 if slots is None else sum(map(min, slots, self.sizes))
        return max(written, sum(self.sizes[: self._ended_count]))

    def on_done(self, count: int) -> None:
        """Set the number of finished tasks; for an engine."""
        self._ended_count = count

    def __enter__(self) -> Self:
        """Create the file, and return the progress itself."""
        with suppress(OSError):  # a full disk: then only ended tasks count
            handle, self.path = tempfile.mkstemp(prefix="seglake-progress-")
            with os.fdopen(handle, "r+b") as file:
                # Write zeros instead of truncating: on a full disk a missing page would kill tasks.
                file.write(bytes(_BYTES * max(len(self.sizes), 1)))
                file.flush()  # writes all of it, or raises
                self._slots = memoryview(mmap.mmap(handle, 0)).cast("Q")
        return self

    def __exit__(self, *raised: object) -> None:
        """Delete the file; from now on all work counts as done."""
        self._slots, self._ended_count = None, len(self.sizes)
        if self.path:
            with suppress(OSError):
                Path(self.path).unlink()


def run_watched(
    engine: "Engine", function: Callable[[T], R], tasks: Sequence[T], progress: TaskProgress
) -> list[R]:
    """Run tasks like `Engine.run`, and show their calls of `advance` in `progress`."""
    numbered = [
        NumberedTask(index, size, task)
        for index, (size, task) in enumerate(zip(progress.sizes, tasks, strict=True))
    ]
    watched: _Watched[T, R] = _Watched(function, progress.path)
    return engine.run(watched, numbered, on_done=progress.on_done)


class NumberedTask(NamedTuple, Generic[T]):
    """A task with its index in the run, and its amount of work."""

    slot: int
    size: int
    task: T


class _Watched(Generic[T, R]):
    """Task function for numbered tasks, which opens the slot of each while it runs."""

    def __init__(self, function: Callable[[T], R], path: str) -> None:
        """Store the function of the tasks, and the path of the file."""
        self.function = function
        self.__name__ = getattr(function, "__name__", "tasks")
        self._path = path

    def __call__(self, numbered: NumberedTask[T]) -> R:
        """Run one task, and count all of its work at the end."""
        with _slot_open(self._path, numbered.slot):
            result = self.function(numbered.task)
            advance(numbered.size)  # the task has ended, whatever it counted
            return result


class CountedReads:
    """Reader that reports newly read bytes, from a position on, as progress."""

    def __init__(self, reader: _Reader, start: int = 0) -> None:
        """Store the reader, which is borrowed; bytes below `start` do not count."""
        self._reader = reader
        self._reached = start

    @property
    def size_bytes(self) -> int:
        """Return the size of the file."""
        return self._reader.size_bytes

    def read(self, position: int, length: int) -> bytes:
        """Return the bytes [position, position + length), and report new ones."""
        piece = self._reader.read(position, length)
        stop = position + len(piece)
        if stop > self._reached:
            advance(stop - self._reached)
            self._reached = stop
        return piece


def advance(amount: int) -> None:
    """Report that this task has done some more work; does nothing without an open slot."""
    if _slot is not None:
        _slot[0] += amount


_slot: memoryview | None = None  # slot of the task that this process runs


@contextmanager
def _slot_open(path: str, index: int) -> Iterator[None]:
    """Open the slot of a task in the file, if the file is usable here."""
    global _slot
    slots: memoryview | None = None
    # On another machine the file does not exist; workers of another user may not open it; a full
    # disk may have cut it anywhere.
    with suppress(OSError, ValueError, TypeError), Path(path).open("r+b", buffering=0) as file:
        slots = memoryview(mmap.mmap(file.fileno(), 0)).cast("Q")
    if slots is None or index >= len(slots):
        yield
        return
    _slot = slots[index : index + 1]
    _slot[0] = 0  # an abandoned try may have counted here
    try:
        yield
    finally:
        _slot = None
