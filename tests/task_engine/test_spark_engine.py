import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from seglake.task_engine.engine import SparkEngine
from seglake.task_engine.errors import EngineError
from seglake.task_engine.spark_engine import _python_cause
from support import lake_tasks

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession


@pytest.fixture
def spark_context(spark_session: "SparkSession") -> "SparkContext":
    return spark_session.sparkContext


@pytest.mark.spark
def test_tasks_run_on_spark_as_they_do_locally(
    spark_context: "SparkContext", tmp_path: Path
) -> None:
    engine = SparkEngine(spark_context)
    counts: list[int] = []
    threads: set[int] = set()

    def on_done(count: int) -> None:
        counts.append(count)
        threads.add(threading.get_ident())

    results = engine.run(lake_tasks.slow_square, range(6), on_done=on_done)
    assert results == [0, 1, 4, 9, 16, 25]
    assert counts == sorted(set(counts))
    assert counts[-1] == 6
    assert threads == {threading.get_ident()}

    assert os.getpid() not in engine.run(lake_tasks.pid_after, [0.0] * 2, on_done=on_done)
    assert engine.run(lake_tasks.slow_square, [], on_done=on_done) == []

    marker = str(tmp_path / "second")
    assert engine.run(lake_tasks.succeed_on_second_try, [marker], on_done=on_done) == ["second"]

    with pytest.raises(EngineError) as caught:
        engine.run(lake_tasks.refuse_because, [1, 2], on_done=on_done)
    assert caught.value.reason == "RuntimeError: task gave up"
    assert caught.value.__cause__ is not None

    with pytest.raises(EngineError, match="Python worker exited unexpectedly"):
        engine.run(lake_tasks.die, [1], on_done=on_done)


@pytest.mark.spark
def test_progress_is_told_while_tasks_run(spark_context: "SparkContext") -> None:
    counts: list[int] = []
    seconds = [0.0, *[1.5] * 4]  # more tasks than cores
    SparkEngine(spark_context).run(lake_tasks.pid_after, seconds, on_done=counts.append)
    assert any(0 < count < len(seconds) for count in counts)


@pytest.mark.spark
def test_workers_do_not_look_for_garbage_in_what_they_have_imported(
    spark_context: "SparkContext",
) -> None:
    """PySpark has them look behind each task, which would take longer than a small task does."""
    engine = SparkEngine(spark_context)
    assert min(engine.run(lake_tasks.frozen_count, range(4), on_done=lambda count: None)) > 10_000


def test_cause_is_the_last_exception_of_the_workers_traceback() -> None:
    text = (
        "An error occurred while calling z:x.\n: org.x.PythonException: Traceback (most recent "
        'call last):\n  File "a.py", line 1, in f\nKeyError: 1\n\nThe above exception was the '
        "direct cause of the following exception:\n\nTraceback (most recent call last):\n  File "
        '"b.py", line 2, in g\nlake.errors.NotFoundError: cannot open /x\n SQLSTATE: 38000\n'
        "\tat org.x.Y.z(Y.scala:1)\nCaused by: something else"
    )
    assert _python_cause(text) == "cannot open /x"


def test_cause_without_a_traceback_is_what_java_says() -> None:
    text = "An error occurred while calling z:x.\n: org.x.SparkException: Job aborted\n\tat a.b(c)"
    assert _python_cause(text) == "org.x.SparkException: Job aborted"
    assert _python_cause("") == "Spark gave no reason"
