"""What Spark says when workers cannot run our tasks becomes what to do about it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import NoReturn, TypeVar

import pytest
from pyspark import SparkContext

from seglake.environment import late_spark, spark_session
from seglake.environment.engines import open_engine
from seglake.environment.errors import WorkersUnfitError
from seglake.environment.task_advice import advice_on
from seglake.settings.settings import Settings
from seglake.task_engine.errors import EngineError

T = TypeVar("T")
R = TypeVar("R")

# As Spark 4.2 says it.
LACKING = "ModuleNotFoundError: No module named 'seglake'"
REASONS = {
    LACKING: "make pack",
    "pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker"
    " has different version: 3.12 than that in driver: 3.11, PySpark cannot run with different"
    " minor versions.": "that of the workers",
    "org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed"
    " 4 times, most recent failure: Lost task 0.3 in stage 0.0 (TID 3) (10.0.0.1 executor 0):"
    ' java.io.IOException: Cannot run program "./environment/bin/python": error=2, No such file or'
    " directory": "./environment/bin/python, with spark.archives=",
    "java.lang.IllegalStateException: SparkContext has been shutdown": "page of its master",
    "AttributeError: Can't get attribute 'decode' on <module 'x'>": "another version of seglake",
}


class _Failing:
    def __init__(self, reason: str) -> None:
        self._reason = reason

    def run(
        self, function: Callable[[T], R], tasks: Sequence[T], *, on_done: Callable[[int], None]
    ) -> NoReturn:
        raise EngineError(engine="spark", reason=self._reason)


def run_that_fails(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def context(*arguments: object, **options: object) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(version="4.2.0", applicationId="local-1")

    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    monkeypatch.setattr(spark_session, "spark_context", context)
    monkeypatch.setattr(late_spark, "SparkEngine", lambda context: _Failing(reason))
    with open_engine("spark", Settings(), verbosity=0) as engine:
        engine.run(str, [1], on_done=lambda count: None)


@pytest.mark.parametrize("reason", REASONS)
def test_workers_that_cannot_run_our_tasks_end_the_run_with_advice(
    reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(WorkersUnfitError) as caught:
        run_that_fails(reason, monkeypatch)
    said = str(caught.value)
    assert said.startswith(f"a task failed on the spark engine: {reason}")
    assert REASONS[reason] in said
    assert "\n" not in said


def test_fault_of_a_task_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    reason = "cannot open /x: Input/output error"
    assert advice_on(reason) is None
    with pytest.raises(EngineError):
        run_that_fails(reason, monkeypatch)
