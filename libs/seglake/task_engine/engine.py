"""Engines that run one top-level function over many tasks: interface and local engine.

Functions must be importable by name; tasks and results must be picklable. Both engines return the
results in the order of the tasks, and call `on_done` in the caller's thread with the number of
finished tasks. A task may run twice, after its worker was lost or as a speculative copy; only one
result is returned.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from seglake.task_engine.errors import task_failed
from seglake.task_engine.spark_engine import SparkEngine

if TYPE_CHECKING:
    from pyspark import SparkContext

    from seglake.task_engine.process_pool import ProcessPool

__all__ = ["Engine", "LocalEngine", "SparkEngine"]

T = TypeVar("T")
R = TypeVar("R")


class Engine(Protocol):
    """Interface of the engines that run tasks."""

    def start(self) -> None:
        """Prepare for later tasks; calling it is optional."""

    def run(
        self,
        function: Callable[[T], R],
        tasks: Sequence[T],
        *,
        on_done: Callable[[int], None],
    ) -> list[R]:
        """Run the function once for each task and return the results in the tasks' order.

        Args:
            function: a top-level function, which every worker can import.
            tasks: its arguments, one per call; they must pickle.
            on_done: called in this thread with the number of finished tasks, whenever it grows.

        Raises:
            EngineError: a task raised an error, or its worker died; the other tasks are abandoned.
        """

    def spark_context(self) -> "SparkContext | None":
        """Return Spark's context, started if necessary; None if tasks run without Spark."""


class LocalEngine:
    """Pool of local processes; the first run of more than one task starts it.

    A single task runs in the caller's process. There are never more processes than tasks. Use the
    engine in a `with` block; leaving it ends the processes.
    """

    def __init__(self, processes: int, *, preloaded: Sequence[str] = ()) -> None:
        """Store the arguments; no process is started yet.

        Args:
            processes: highest number of tasks that run at a time.
            preloaded: modules to import before workers are forked, on platforms that fork.
        """
        self._processes = processes
        self._preloaded = list(preloaded)
        self._started: ProcessPool | None = None

    def spark_context(self) -> None:
        """Return None, since tasks run without Spark."""

    def start(self) -> None:
        """Start the fork server; do not wait for its imports.

        Systems other than Linux have no fork server, so nothing is started there.
        """
        if self._processes > 1:
            self._pool().start()

    def run(
        self,
        function: Callable[[T], R],
        tasks: Sequence[T],
        *,
        on_done: Callable[[int], None],
    ) -> list[R]:
        """Run the function once for each task; see `Engine.run`."""
        if len(tasks) > 1 and self._processes > 1:
            return self._pool().run(function, tasks, on_done)
        results = []
        for index, task in enumerate(tasks):
            try:
                results.append(function(task))
            except Exception as error:
                raise task_failed(error, index) from error
            on_done(index + 1)
        return results

    def _pool(self) -> "ProcessPool":
        if self._started is None:
            # most runs have a single task, and would wait 10 ms for the imports of processes
            from seglake.task_engine.process_pool import ProcessPool

            self._started = ProcessPool(self._processes, self._preloaded)
        return self._started

    def __enter__(self) -> Self:
        """Return the engine itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        """End the workers; kill running tasks after an exception."""
        if self._started is not None:
            self._started.end(at_once=kind is not None)
