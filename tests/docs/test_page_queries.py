"""Every query of README and the pages runs on a real lake; docs/query.md has tests of its own.

By default DuckDB runs them all, and Spark those that name a table or view which none before them
names.
"""

import io
import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from seglake.pipelines.lake_query.run import query, require_lake
from seglake.storage.local_storage import LocalStorage
from support import broker_disks
from support.cases import cases
from support.lakes import ingested
from support.views import viewed_as_in_spark

_ROOT = Path(__file__).resolve().parents[2]
_NAME = re.compile(r"\b(?:FROM|JOIN) (\w+)")
_INLINE = re.compile(r"`(SELECT [^`]+)`")
_IN_A_BLOCK = re.compile(r"^(SELECT .+(?:\n(?:FROM|WHERE|GROUP|ORDER) .+)*)$", re.MULTILINE)


def _queries() -> list[str]:
    pages = [_ROOT / "README.md", *(_ROOT / "docs").glob("*.md")]
    texts = [page.read_text(encoding="utf-8") for page in pages if page.name != "query.md"]
    found = (pattern.findall(text) for text in texts for pattern in (_INLINE, _IN_A_BLOCK))
    return sorted({query for queries in found for query in queries})


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The replicas that diverged, with all that the brokers say of themselves."""
    path = tmp_path_factory.mktemp("pages") / "lake"
    source = broker_disks.unpacked("08_replicas") / "disks" / "diverged"
    ingested(source, path, select={"internal_topics": True})
    return path


def _telling() -> list[str]:
    """Those by which every table and view that a page asks is asked, one or more at a time."""
    named: set[str] = set()
    telling = []
    for text in _queries():
        names = set(_NAME.findall(text))
        if not names <= named:
            telling.append(text)
            named |= names
    return telling


def test_the_pages_have_queries() -> None:
    assert len(_queries()) > 15


@pytest.mark.parametrize("text", _queries())
def test_query_of_a_page_runs_in_duckdb_too(lake: Path, text: str) -> None:
    rows = viewed_as_in_spark(lake, text)
    if "replica_conflict" in text:
        assert len(rows) == 12


@pytest.mark.spark
@pytest.mark.parametrize("text", cases(_queries(), telling=_telling()))
def test_query_of_a_page_runs(spark_session: SparkSession, lake: Path, text: str) -> None:
    out = io.StringIO()
    query(spark_session, require_lake(str(lake), LocalStorage()), text, as_json=True, out=out)
    if "replica_conflict" in text:
        assert len(out.getvalue().splitlines()) == 12
