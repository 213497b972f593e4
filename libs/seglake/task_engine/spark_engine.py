"""Runs tasks on Spark's executors. Effect; imports pyspark only when it runs something."""

import gc
import re
import threading
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from seglake.task_engine.errors import EngineError

if TYPE_CHECKING:
    from pyspark import SparkContext

T = TypeVar("T")
R = TypeVar("R")

_POLL_SECONDS = 0.5  # each look asks Java some ten times, which costs it as much as us
_OUR_CLASS = re.compile(r"^(?:\w+\.)*errors\.\w+: ")


class SparkEngine:
    """Each task is one element of an RDD with as many partitions.

    Retries, locality and the cluster are Spark's. Results come at the end, all together: they are
    descriptors, not rows. The caller keeps the context, and ends it; it must have been made with
    PYSPARK_PYTHON naming an interpreter that has this library on every executor.
    """

    def __init__(self, spark_context: "SparkContext") -> None:
        self._context = spark_context

    def spark_context(self) -> "SparkContext":
        """Return the context that tasks run on."""
        return self._context

    def start(self) -> None:
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
        group = f"seglake-{uuid.uuid4().hex}"
        results: Future[list[R]] = Future()

        def collect() -> None:
            name = getattr(function, "__name__", "tasks")
            try:
                self._context.setJobGroup(group, f"seglake {name}", interruptOnCancel=True)
                elements = self._context.parallelize(tasks, len(tasks))
                results.set_result(elements.map(partial(_in_worker, function)).collect())
            except BaseException as error:  # noqa: BLE001  (handed to the caller's thread)
                results.set_exception(error)

        thread, progress = self._begun(collect, group)
        done_count = 0
        try:
            while wait([results], _POLL_SECONDS).not_done:
                if not (thread.is_alive() or results.done()):  # it died before it could ask Spark
                    raise EngineError(engine="spark", reason=_python_cause(""))
                latest_count = min(progress.done_count(), len(tasks))
                if latest_count > done_count:
                    done_count = latest_count
                    on_done(done_count)
        except BaseException:
            with suppress(*_lost_jvm()):  # also the job that our thread is about to make
                self._context._jsc.sc().cancelJobGroupAndFutureJobs(group)
            raise
        thread.join()
        failure = results.exception()
        if failure is not None:
            raise EngineError(engine="spark", reason=_python_cause(str(failure))) from failure
        if done_count < len(tasks):
            on_done(len(tasks))
        return results.result()

    def _begun(
        self, collect: Callable[[], None], group: str
    ) -> tuple[threading.Thread, "_StageProgress"]:
        """A thread of its own for what waits for Spark, so that the caller's can report progress.

        Raises:
            EngineError: the JVM has died since it was last asked.
        """
        from pyspark import InheritableThread

        try:
            thread = InheritableThread(target=collect, daemon=True)
            thread.start()
            return thread, _StageProgress(self._context, group)
        except _lost_jvm() as error:
            raise EngineError(engine="spark", reason=_python_cause(str(error))) from error


def _lost_jvm() -> tuple[type[Exception], ...]:
    """What asking a JVM that has died raises."""
    from py4j.protocol import Py4JError

    return (Py4JError, OSError)


class _StageProgress:
    """Asks Spark how many tasks of a group's only job are done."""

    def __init__(self, context: "SparkContext", group: str) -> None:
        self._tracker = context.statusTracker()
        self._group = group
        self._stage_ids: list[int] = []  # which stay the same
        self._done_count = 0

    def done_count(self) -> int:
        """As far as Spark says: if the JVM has died, the thread that waits for results tells."""
        with suppress(*_lost_jvm()):
            self._done_count = self._asked()
        return self._done_count

    def _asked(self) -> int:
        if not self._stage_ids:
            jobs = map(self._tracker.getJobInfo, self._tracker.getJobIdsForGroup(self._group))
            self._stage_ids = [stage_id for job in jobs if job for stage_id in job.stageIds]
        stages = map(self._tracker.getStageInfo, self._stage_ids)
        return sum(stage.numCompletedTasks for stage in stages if stage)


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
