import _thread
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from seglake.task_engine.engine import SparkEngine
from seglake.task_engine.errors import EngineError
from seglake.task_engine.spark_engine import _python_cause
from support import lake_tasks
from support.programs import said

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


@pytest.mark.spark
def test_tasks_that_spark_is_about_to_get_are_cancelled_too(
    spark_context: "SparkContext", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C comes while our thread hands the tasks to Spark."""
    may_go_on = threading.Event()
    hand_over = spark_context.parallelize

    def slowly(*arguments: object) -> object:
        threading.Timer(0.2, _thread.interrupt_main).start()
        may_go_on.wait()
        return hand_over(*arguments)  # type: ignore[arg-type]  # as they came

    monkeypatch.setattr(spark_context, "parallelize", slowly)
    before = {*threading.enumerate()}
    markers = [str(tmp_path / "first"), str(tmp_path / "second")]
    with pytest.raises(KeyboardInterrupt):
        SparkEngine(spark_context).run(lake_tasks.touch, markers, on_done=lambda count: None)
    may_go_on.set()
    for thread in {*threading.enumerate()} - before:
        thread.join(timeout=60)
    assert [*tmp_path.iterdir()] == []


_DIES = """\
import os, sys
sys.path.insert(0, {folder!r})
from seglake.environment.java_home import provide_java
provide_java(os.environ)
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["PYTHONPATH"] = {folder!r}
from pyspark.sql import SparkSession
from seglake.task_engine.engine import SparkEngine
from seglake.task_engine.errors import EngineError
from support import lake_tasks

session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
engine = SparkEngine(session.sparkContext)
engine.run(lake_tasks.slow_square, [1], on_done=lambda count: None)
java = session.sparkContext._gateway.proc
java.kill()
java.wait()
try:
    engine.run(lake_tasks.slow_square, [1], on_done=lambda count: None)
except EngineError as error:
    print("told:", error, flush=True)
os._exit(0)
"""


@pytest.mark.own_spark
def test_a_virtual_machine_that_dies_between_two_rounds_is_told(tmp_path: Path) -> None:
    out, _ = said(_DIES, tmp_path, seconds=120)
    assert out.startswith("told: ")
    assert "spark" in out


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
