"""Opens and closes the engine that a command requests."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from seglake.environment.spark_submit import is_submitted
from seglake.errors import WrongCallError
from seglake.near_names import did_you_mean
from seglake.settings.settings import Settings
from seglake.task_engine.engine import Engine, LocalEngine


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
        # Imported here, so that the local engine waits for nothing of Spark's.
        from seglake.environment.late_spark import LateSparkEngine
        from seglake.environment.spark_connect import refuse_connect

        refuse_connect(settings.spark)
        with ExitStack() as stack:
            late = LateSparkEngine(settings, verbosity, stack)
            if is_submitted():
                # Start Spark at once: a cluster ends a driver that opens no context.
                late.start()
            yield late
