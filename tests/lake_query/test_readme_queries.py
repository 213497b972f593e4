"""Every query of the README runs on a real lake, and says what the README says it shows."""

import io
import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lake.local_storage import LocalStorage
from pipelines.lake_query.run import query, require_lake
from support import broker_disks
from support.lakes import ingested

_README = Path(__file__).resolve().parents[2] / "README.md"
_INLINE = re.compile(r"`(SELECT [^`]+)`")
_IN_A_BLOCK = re.compile(r"^(SELECT .+)$", re.MULTILINE)


def _queries() -> list[str]:
    text = _README.read_text(encoding="utf-8")
    return sorted({*_INLINE.findall(text), *_IN_A_BLOCK.findall(text)})


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The replicas that diverged, with all that the brokers say of themselves."""
    path = tmp_path_factory.mktemp("readme") / "lake"
    source = broker_disks.unpacked("08_replicas") / "disks" / "diverged"
    ingested(source, path, select={"internal_topics": True})
    return path


def test_the_readme_has_queries() -> None:
    assert len(_queries()) > 10


@pytest.mark.spark
@pytest.mark.parametrize("text", _queries())
def test_query_of_the_readme_runs(spark_session: SparkSession, lake: Path, text: str) -> None:
    out = io.StringIO()
    query(spark_session, require_lake(str(lake), LocalStorage()), text, as_json=True, out=out)
    if "replica_conflict" in text:
        assert len(out.getvalue().splitlines()) == 12
