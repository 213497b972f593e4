"""Every query of README and the pages runs on a real lake; docs/query.md has tests of its own.

By default DuckDB answers all of them. Spark is asked for the same answers in the whole matrix;
tests/lake_query has each view in Spark.
"""

import io
import json
import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from seglake.lake.delta_tables import LakeTables
from seglake.pipelines.lake_query.answers import OutputFormat, write
from seglake.pipelines.lake_query.duckdb_queries import DuckDBQueries
from seglake.storage.local_storage import LocalStorage
from support import broker_disks
from support.lakes import ingested
from support.spark_answers import query

_ROOT = Path(__file__).resolve().parents[2]
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


def test_the_pages_have_queries() -> None:
    assert len(_queries()) > 15


def _by_duckdb(lake: Path, text: str) -> list[list[object]]:
    out = io.StringIO()
    tables = LakeTables(str(lake), LocalStorage())
    with DuckDBQueries(tables, spill_folder=str(lake / "spill")) as queries:
        write(queries.answer(text), OutputFormat.JSON, out)
    return _rows(out, text)


def _by_spark(session: SparkSession, lake: Path, text: str) -> list[list[object]]:
    out = io.StringIO()
    query(session, lake, text, as_json=True, out=out)
    return _rows(out, text)


def _rows(out: io.StringIO, text: str) -> list[list[object]]:
    """In an order that both engines have, though not by names: each makes up its own."""
    rows = [[*json.loads(line).values()] for line in out.getvalue().splitlines()]
    return rows if "ORDER BY" in text else sorted(rows, key=repr)


@pytest.mark.parametrize("text", _queries())
def test_query_of_a_page_runs_in_duckdb(lake: Path, text: str) -> None:
    rows = _by_duckdb(lake, text)
    if "FROM quarantine WHERE defect_code = 'replica_conflict'" in text:
        assert len(rows) == 12


@pytest.mark.spark
@pytest.mark.matrix
@pytest.mark.parametrize("text", _queries())
def test_both_engines_answer_a_query_of_a_page_alike(
    spark_session: SparkSession, lake: Path, text: str
) -> None:
    assert _by_duckdb(lake, text) == _by_spark(spark_session, lake, text)
