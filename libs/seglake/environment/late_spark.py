"""Runs tasks on Spark, which starts with the first of them."""

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, TypeVar

from seglake.environment.errors import SparkStartError, WorkersUnfitError
from seglake.environment.spark_home import provide_pyspark
from seglake.environment.task_advice import advice_on
from seglake.errors import WrongCallError
from seglake.settings.settings import Settings, SparkSettings
from seglake.task_engine.engine import SparkEngine
from seglake.task_engine.errors import EngineError

if TYPE_CHECKING:
    from pyspark import SparkContext

_LOG = logging.getLogger(__name__)
T = TypeVar("T")
R = TypeVar("R")


class LateSparkEngine:
    """Engine that starts Spark with its first tasks: wrong calls and empty runs need no Spark."""

    def __init__(self, settings: Settings, verbosity: int, stack: ExitStack) -> None:
        """Store the arguments; Spark is not started yet.

        Args:
            settings: settings with Spark's master and properties.
            verbosity: amount of Spark's output; nothing below 1.
            stack: ends a Spark that this engine has started.
        """
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
