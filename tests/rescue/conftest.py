"""Dead clusters, from the first disk to the hand-over: each is ingested by both engines."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from seglake.task_engine.engine import Engine, LocalEngine, SparkEngine
from support.tiers import TieredDisk, local_tier


@pytest.fixture(params=["local", pytest.param("spark", marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Each engine in turn; Spark's session is the one that all tests share."""
    if request.param == "spark":
        yield SparkEngine(request.getfixturevalue("spark_session").sparkContext)
        return
    with LocalEngine(1) as local:
        yield local


@pytest.fixture
def disk(tmp_path: Path) -> TieredDisk:
    """A copy of the disk with Kafka's LocalTieredStorage, with its tier."""
    return local_tier(tmp_path / "disk")
