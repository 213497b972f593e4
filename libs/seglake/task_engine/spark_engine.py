"""Engine that runs tasks on Spark's executors. Imports pyspark only to run tasks."""

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

_POLL_SECONDS = 0.5  # each poll makes some ten calls to Java
_OUR_CLASS = re.compile(r"^(?:\w+\.)*errors\.\w+: ")


class SparkEngine:
    """Engine that runs tasks as the elements of an RDD, one per partition.

    Spark controls retries, locality and the cluster. The results arrive together at the end; they
    are small descriptions, not rows.
    """

    def __init__(self, spark_context: "SparkContext") -> None:
        """Store the running Spark context.

        Args:
            spark_context: the context, which the caller stops. PYSPARK_PYTHON must name an
                interpreter that has this library on every executor.
        """
        self._context = spark_context

    def spark_context(self) -> "SparkContext":
        """Return the Spark context on which the tasks run."""
        return self._context

    def start(self) -> None:
        """Do nothing, since the executors start with the context."""

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
            except BaseException as error:  # noqa: BLE001  (raised in the caller's thread)
                results.set_exception(error)

        thread, progress = self._begun(collect, group)
        done_count = 0
        try:
            while wait([results], _POLL_SECONDS).not_done:
                # The thread has ended before it called Spark.
                if not (thread.is_alive() or results.done()):
                    raise EngineError(engine="spark", reason=_python_cause(""))
                latest_count = min(progress.done_count(), len(tasks))
                if latest_count > done_count:
                    done_count = latest_count
                    on_done(done_count)
        except BaseException:
            # cancel future jobs too, because the thread may still submit a job
            with suppress(*_lost_jvm()):
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
        """Start a thread that waits for Spark, so that this thread can report progress.

        Raises:
            EngineError: the JVM has died.
        """
        from pyspark import InheritableThread

        try:
            thread = InheritableThread(target=collect, daemon=True)
            thread.start()
            return thread, _StageProgress(self._context, group)
        except _lost_jvm() as error:
            raise EngineError(engine="spark", reason=_python_cause(str(error))) from error


def _lost_jvm() -> tuple[type[Exception], ...]:
    """Return the exceptions that calls to a dead JVM raise."""
    from py4j.protocol import Py4JError

    return (Py4JError, OSError)


class _StageProgress:
    """Progress of the only job of a job group, from Spark's status tracker."""

    def __init__(self, context: "SparkContext", group: str) -> None:
        """Store the job group, without a request to Spark."""
        self._tracker = context.statusTracker()
        self._group = group
        self._stage_ids: list[int] = []  # empty until Spark has made the stages
        self._done_count = 0

    def done_count(self) -> int:
        """Return the number of finished tasks, or the last known number if the JVM has died.

        The thread that waits for results reports a dead JVM.
        """
        with suppress(*_lost_jvm()):
            self._done_count = self._asked()
        return self._done_count

    def _asked(self) -> int:
        """Ask Spark for the number of finished tasks."""
        if not self._stage_ids:
            jobs = map(self._tracker.getJobInfo, self._tracker.getJobIdsForGroup(self._group))
            self._stage_ids = [stage_id for job in jobs if job for stage_id in job.stageIds]
        stages = map(self._tracker.getStageInfo, self._stage_ids)
        return sum(stage.numCompletedTasks for stage in stages if stage)


def _in_worker(function: Callable[[T], R], task: T) -> R:
    """Run a task in a PySpark worker, with a garbage collection that skips older objects.

    PySpark's workers collect garbage after each task. Scanning all imported modules takes 0.08 s
    with numba and Arrow, so objects that exist when a task begins are frozen.
    """
    gc.freeze()
    return function(task)


def _python_cause(text: str) -> str:
    """Return the line with the cause from Spark's long message.

    It is the last line of the last Python traceback or, without a traceback, the last line before
    the Java frames. The class name of seglake's exceptions is removed.
    """
    message, _, _ = text.partition("\n\tat ")
    _, traceback, below = message.rpartition("Traceback (most recent call last):")
    lines = [line for line in below.splitlines() if line and not line[0].isspace()]
    if not lines:
        return "Spark gave no reason"
    return _OUR_CLASS.sub("", lines[0]) if traceback else lines[-1].lstrip(": ")
