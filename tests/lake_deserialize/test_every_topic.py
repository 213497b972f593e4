"""Rows, rejects and keys of each topic are the oracle's, whichever engine decodes them."""

import shutil
from pathlib import Path

import pytest

from seglake.task_engine.engine import Engine, LocalEngine, SparkEngine
from support.lakes import ingested
from support.typed_disk import glue_schemas, manifest, typed_disk
from support.typed_lakes import decoded
from support.typed_oracle import differing_keys, differing_values

_TOPICS = sorted(manifest()["topics"].keys() - {"_schemas"})


@pytest.fixture(scope="module")
def ingested_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("typed") / "lake"
    ingested(typed_disk(), folder)
    return folder


@pytest.fixture(scope="module", params=["local", pytest.param("spark", marks=pytest.mark.spark)])
def lake(
    request: pytest.FixtureRequest, ingested_lake: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A lake whose topics are all decoded."""
    folder = tmp_path_factory.mktemp("typed") / "lake"
    shutil.copytree(ingested_lake, folder)
    engine: Engine = LocalEngine(1)
    if request.param == "spark":
        engine = SparkEngine(request.getfixturevalue("spark_session").sparkContext)
    decoded(folder, engine=engine, schemas=str(glue_schemas()))
    return folder


@pytest.mark.parametrize("topic", _TOPICS)
def test_every_row_and_every_reject_is_the_oracle_s(lake: Path, topic: str) -> None:
    differing = differing_values(lake, topic)
    assert not differing, differing[:3]


@pytest.mark.parametrize("topic", _TOPICS)
def test_every_key_is_the_oracle_s(lake: Path, topic: str) -> None:
    differing = differing_keys(lake, topic)
    assert not differing, differing[:3]
