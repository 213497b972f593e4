"""Progress of running tasks: each task counts its finished work, and the driver reads it.

The numbers are in one small local file with a slot per task, so all processes on the driver's
machine can write them: workers of the local engine, of Spark's `local[*]`, and of a Spark worker on
the driver's machine. On other machines the file does not exist, so only finished tasks count.
PySpark's accumulators are not used, since they arrive only at a task's end.
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
    """Interface of a file that is read by position."""

    @property
    def size_bytes(self) -> int:
        """Return the size of the file."""

    def read(self, position: int, length: int) -> bytes:
        """Return the bytes [position, position + length)."""


class TaskProgress:
    """Progress of a run's tasks as the driver reads it; use it in a `with` block."""

    def __init__(self, sizes: Sequence[int]) -> None:
        """Store the amounts of work; entering the `with` block creates the file.

        Args:
            sizes: amount of work in each task, in the unit that its function counts.
        """
        self.sizes = sizes
        self._ended_count = 0
        self._slots: memoryview | None = None
        self.path = ""

    @property
    def done(self) -> int:
        """Return the amount of finished work.

        If tasks report no progress, n finished tasks count as the first n tasks.
        """
        slots = self._slots
        written = 0 if slots is None else sum(map(min, slots, self.sizes))
        return max(written, sum(self.sizes[: self._ended_count]))

    def on_done(self, count: int) -> None:
        """Store the number of finished tasks; engines call it."""
        self._ended_count = count

    def __enter__(self) -> Self:
        """Create the file, and return the progress itself."""
        with suppress(OSError):  # without room on the disk, only finished tasks count
            handle, self.path = tempfile.mkstemp(prefix="seglake-progress-")
            with os.fdopen(handle, "r+b") as file:
                # Write zeros: after truncate(), a page missing on a full disk would kill tasks.
                file.write(bytes(_BYTES * max(len(self.sizes), 1)))
                file.flush()  # raises an error if a zero could not be written
                self._slots = memoryview(mmap.mmap(handle, 0)).cast("Q")
        return self

    def __exit__(self, *raised: object) -> None:
        """Delete the file; count all work as done."""
        self._slots, self._ended_count = None, len(self.sizes)
        if self.path:
            with suppress(OSError):
                Path(self.path).unlink()


def run_watched(
    engine: "Engine", function: Callable[[T], R], tasks: Sequence[T], progress: TaskProgress
) -> list[R]:
    """Run tasks like `Engine.run`, and show work that they report by `advance` in `progress`."""
    numbered = [
        NumberedTask(index, size, task)
        for index, (size, task) in enumerate(zip(progress.sizes, tasks, strict=True))
    ]
    watched: _Watched[T, R] = _Watched(function, progress.path)
    return engine.run(watched, numbered, on_done=progress.on_done)


class NumberedTask(NamedTuple, Generic[T]):
    """A task with its index in the run and its amount of work."""

    slot: int
    size: int
    task: T


class _Watched(Generic[T, R]):
    """Function that runs a numbered task with its progress slot open."""

    def __init__(self, function: Callable[[T], R], path: str) -> None:
        """Store the tasks' function and the path of the progress file."""
        self.function = function
        self.__name__ = getattr(getattr(function, "func", function), "__name__", "tasks")
        self._path = path

    def __call__(self, numbered: NumberedTask[T]) -> R:
        """Run a task, and count all its work as done at the end."""
        with _slot_open(self._path, numbered.slot):
            result = self.function(numbered.task)
            advance(numbered.size)  # count the task's whole size; `done` limits the sum
            return result


class CountedReads:
    """Reader that reports each byte as progress when it is first read."""

    def __init__(self, reader: _Reader, start: int = 0) -> None:
        """Store the reader, which the caller closes.

        Bytes before `start` are not counted.
        """
        self._reader = reader
        self._reached = start

    @property
    def size_bytes(self) -> int:
        """Return the size of the file that is read."""
        return self._reader.size_bytes

    @property
    def wrapped(self) -> object:
        """Return the reader whose reads are counted."""
        return self._reader

    def read(self, position: int, length: int) -> bytes:
        """Return the bytes [position, position + length), and report new ones."""
        piece = self._reader.read(position, length)
        stop = position + len(piece)
        if stop > self._reached:
            advance(stop - self._reached)
            self._reached = stop
        return piece


def advance(amount: int) -> None:
    """Add to the work that this task has done; do nothing without an open slot."""
    if _slot is not None:
        _slot[0] += amount


_slot: memoryview | None = None  # counter of the task that this process is running


@contextmanager
def _slot_open(path: str, index: int) -> Iterator[None]:
    """Open a task's slot in the progress file, if the file is usable."""
    global _slot
    slots: memoryview | None = None
    # The file may be on another machine, belong to another user, or be truncated by a full disk.
    with suppress(OSError, ValueError, TypeError), Path(path).open("r+b", buffering=0) as file:
        slots = memoryview(mmap.mmap(file.fileno(), 0)).cast("Q")
    if slots is None or index >= len(slots):
        yield
        return
    _slot = slots[index : index + 1]
    _slot[0] = 0  # an earlier attempt of this task may have counted work
    try:
        yield
    finally:
        _slot = None
