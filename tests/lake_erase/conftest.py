"""Erasures by both engines."""

from collections.abc import Iterator

import pytest

from seglake.task_engine.engine import Engine, LocalEngine, SparkEngine


@pytest.fixture(params=["local", pytest.param("spark", marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Each engine in turn; Spark's session is the one that all tests share."""
    if request.param == "spark":
        yield SparkEngine(request.getfixturevalue("spark_session").sparkContext)
        return
    with LocalEngine(1) as local:
        yield local
