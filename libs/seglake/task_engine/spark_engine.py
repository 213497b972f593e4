"""Runs tasks on Spark's executors. Effect; imports pyspark only when it runs something."""

import gc
import re
import uuid
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from seglake.task_engine.errors import EngineError

if TYPE_CHECKING:
    from pyspark import SparkContext

T = TypeVar("T")
R = TypeVar("R")

_POLL_SECONDS = 0.1
_OUR_CLASS = re.compile(r"^(?:\w+\.)*errors\.\w+: ")


class SparkEngine:
    """Each task is one element of an RDD with as many partitions.

    Retries, locality and the cluster are Spark's. Results come at the end, all together: they are
    descriptors, not rows. The caller keeps the context, and ends it; it must have been made with
    PYSPARK_PYTHON naming an interpreter that has this library on every executor.
    """

    def __init__(self, spark_context: "SparkContext") -> None:
        self._context = spark_context

    def start(self, task_count: int) -> None:
        """Do nothing: the executors start with the context."""

    def run(
        self,
        function: Callable[[T], R],
        tasks: Sequence[T],
        *,
        on_done: Callable[[int], None],
    ) -> list[R]:
        """Run the function once for each task; see `Engine.run`."""
        if not tasks:
            return []
        job = _Job(self._context, function, tasks)
        job.start()
        done_count = 0
        try:
            while not job.has_ended_after(_POLL_SECONDS):
                latest_count = min(job.done_count(), len(tasks))
                if latest_count > done_count:
                    done_count = latest_count
                    on_done(done_count)
        except BaseException:
            job.cancel()
            raise
        results = job.results()
        if done_count < len(tasks):
            on_done(len(tasks))
        return results


class _Job(Generic[T, R]):
    """One `collect` in a thread of its own, so that the caller's thread can report progress."""

    def __init__(
        self, context: "SparkContext", function: Callable[[T], R], tasks: Sequence[T]
    ) -> None:
        from pyspark import InheritableThread

        self._context = context
        self._function = function
        self._tasks = tasks
        self._group = f"seglake-{uuid.uuid4().hex}"
        self._results: list[R] | None = None
        self._error: BaseException | None = None
        self._thread = InheritableThread(target=self._collect, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _collect(self) -> None:
        name = getattr(self._function, "__name__", "tasks")
        try:
            self._context.setJobGroup(self._group, f"seglake {name}", interruptOnCancel=True)
            elements = self._context.parallelize(self._tasks, len(self._tasks))
            self._results = elements.map(partial(_in_worker, self._function)).collect()
        except BaseException as error:  # noqa: BLE001  (handed to the caller's thread)
            self._error = error

    def has_ended_after(self, seconds: float) -> bool:
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def done_count(self) -> int:
        tracker = self._context.statusTracker()
        stages = [
            tracker.getStageInfo(stage_id)
            for job_id in tracker.getJobIdsForGroup(self._group)
            if (job := tracker.getJobInfo(job_id)) is not None
            for stage_id in job.stageIds
        ]
        return sum(stage.numCompletedTasks for stage in stages if stage is not None)

    def cancel(self) -> None:
        self._context.cancelJobGroup(self._group)

    def results(self) -> list[R]:
        if self._results is None:
            reason = _python_cause(str(self._error))
            raise EngineError(engine="spark", reason=reason) from self._error
        return self._results


def _in_worker(function: Callable[[T], R], task: T) -> R:
    """Run a task as PySpark's workers do.

    They look for garbage behind each task, in all that they have imported: 0.08 s with numba and
    Arrow. So what is there when a task begins, behind the search of the last one, is left out of
    the next.
    """
    gc.freeze()
    return function(task)


def _python_cause(text: str) -> str:
    """Return the line of Spark's long message that says what went wrong in the task.

    That is the first line of the exception behind the last Python traceback, of those before the
    Java frames. Without a traceback it is what Java says in the line before its frames. Errors of
    ours tell what there is to know without their class.
    """
    message, _, _ = text.partition("\n\tat ")
    _, traceback, below = message.rpartition("Traceback (most recent call last):")
    lines = [line for line in below.splitlines() if line and not line[0].isspace()]
    if not lines:
        return "Spark gave no reason"
    return _OUR_CLASS.sub("", lines[0]) if traceback else lines[-1].lstrip(": ")
