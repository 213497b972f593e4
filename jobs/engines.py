"""Effect: opens the engine a command line asks for, and closes it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from lake.engine import Engine, LocalEngine, SparkEngine
from pipelines.segment_ingest.settings import Settings


@contextmanager
def open_engine(kind: str, settings: Settings, *, verbosity: int) -> Iterator[Engine]:
    """Start `local` worker processes or `spark`; they end with the block.

    Raises:
        JobError: Spark does not start.
    """
    if kind == "local":
        with LocalEngine(settings.limits.local_processes or os.cpu_count() or 1) as engine:
            yield engine
    else:
        # Imported here: the local engine must not wait for PySpark.
        from jobs.spark_session import spark_context

        with spark_context(settings.spark, application="ingest", verbosity=verbosity) as context:
            yield SparkEngine(context)
