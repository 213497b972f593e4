"""Opens and closes the engine that a command requests."""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, TypeVar

from seglake.environment.errors import SparkStartError, WorkersUnfitError
from seglake.environment.spark_connect import refuse_connect
from seglake.environment.spark_home import provide_pyspark
from seglake.environment.spark_submit import is_submitted
from seglake.environment.task_advice import advice_on
from seglake.errors import WrongCallError
from seglake.near_names import did_you_mean
from seglake.settings.settings import Settings, SparkSettings
from seglake.task_engine.engine import Engine, LocalEngine, SparkEngine
from seglake.task_engine.errors import EngineError

if TYPE_CHECKING:
    from pyspark import SparkContext

_LOG = logging.getLogger(__name__)
T = TypeVar("T")
R = TypeVar("R")


@contextmanager
def open_engine(
    kind: str, settings: Settings, *, verbosity: int, preloaded: Sequence[str] = ()
) -> Iterator[Engine]:
    """Open worker processes (`local`) or Spark (`spark`); they end with the block.

    Args:
        kind: "local" or "spark".
        settings: settings with the number of processes, or Spark's master and properties.
        verbosity: amount of Spark's output; nothing below 1.
        preloaded: modules that local workers import once, before the first task.

    Raises:
        WrongCallError: there is no such engine, or Spark is Spark Connect.
        SeglakeError: Spark does not start.
    """
    if kind == "local":
        processes = settings.limits.local_processes or os.cpu_count() or 1
        with LocalEngine(processes, preloaded=preloaded) as engine:
            yield engine
    elif kind != "spark":
        near = did_you_mean(kind, ("spark", "local"))
        raise WrongCallError(f"there is no engine {kind!r}: choose spark or local{near}")
    else:
        refuse_connect(settings.spark)
        with ExitStack() as stack:
            late = _LateSparkEngine(settings, verbosity, stack)
            if is_submitted():
                # Start Spark at once: a cluster ends a driver that opens no context.
                late.start()
            yield late


class _LateSparkEngine:
    """Engine that starts Spark with its first tasks: wrong calls and empty runs need no Spark."""

    def __init__(self, settings: Settings, verbosity: int, stack: ExitStack) -> None:
        self._settings = settings
        self._verbosity = verbosity
        self._stack = stack
        self._engine: SparkEngine | None = None

    def spark_context(self) -> "SparkContext":
        """Start Spark if it is not running, and return its context."""
        return self._started().spark_context()

    def start(self) -> None:
        """Start Spark if it is not running, and wait for it."""
        self._started()

    def run(
        self, function: Callable[[T], R], tasks: Sequence[T], *, on_done: Callable[[int], None]
    ) -> list[R]:
        """Run the function once for each task; see `Engine.run`.

        Args:
            function: runs in a worker; it and its tasks and results must be picklable.
            tasks: the arguments of the calls; without tasks, Spark is not started.
            on_done: called with the index of each finished task.

        Returns:
            The results in the order of the tasks.

        Raises:
            WorkersUnfitError: the workers cannot run the tasks; the message has a remedy.
        """
        if not tasks:
            return []
        try:
            return self._started().run(function, tasks, on_done=on_done)
        except EngineError as error:
            advice = advice_on(error.reason)
            if advice is None:
                raise
            raise WorkersUnfitError(f"{error}. {advice}") from error

    def _started(self) -> SparkEngine:
        if self._engine is None:
            # Imported here, so that runs without tasks do not wait for PySpark.
            provide_pyspark()
            from pyspark import SparkContext

            from seglake.environment.spark_session import is_ours, spark_context

            running = SparkContext._active_spark_context
            if running is None:
                context = spark_context(
                    self._settings.spark, application="ingest", verbosity=self._verbosity
                )
                running = self._stack.enter_context(context)
            else:  # a notebook started this Spark, and is still using it
                _check_fits(self._settings, is_ours=is_ours(running))
            _LOG.debug("Spark %s runs as %s", running.version, running.applicationId)
            self._engine = SparkEngine(running)
        return self._engine


def _check_fits(settings: Settings, *, is_ours: bool) -> None:
    """Check that a running Spark can be used for this call.

    Raises:
        SparkStartError: another call of seglake started it, or an interrupted call left it.
        WrongCallError: the settings have properties that a running Spark ignores.
    """
    if is_ours:
        raise SparkStartError(
            "Spark runs in this process for another call of seglake, or was left by an "
            "interrupted call: wait for that call, or start a new process."
        )
    late = [name for name, _ in settings.spark.properties if not name.startswith("spark.hadoop.")]
    if settings.spark.master != SparkSettings().master:
        late.append("spark.master")
    if late:
        raise WrongCallError(
            f"a Spark session is already running in this process, so {late[0]} has no effect: "
            "set it where that session is created, or stop the session."
        )
