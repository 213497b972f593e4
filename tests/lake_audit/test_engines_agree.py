"""Spark and DuckDB prove the same of a lake, finding by finding.

The first audit of a JVM takes Spark half a minute, so one lake has all that an audit looks at.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from seglake.pipelines.lake_audit.lake_audit import LakeAudit
from seglake.pipelines.lake_maintenance.maintain import MaintenanceChoice
from seglake.task_engine.engine import SparkEngine
from support.audits import audited, falsified
from support.cases import cases
from support.erasures import erased_at
from support.keyed_logs import abort, commit, data, write, write_batches
from support.lakes import Row, ingested, maintained, retaken
from support.latest_state import updated
from support.typed_lakes import decoded, elected_lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OF_THE_BROKEN = {
    *("not_accounted", "row_without_batch", "ledger_sums", "bytes"),
    *("typed_rows", "typed_sums", "latest_rows"),
}
_SAMPLE = Path(__file__).parents[2] / "samples" / "broker-0"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with rows that lost an election, typed and newest rows, erased and expired ones."""
    folder = tmp_path_factory.mktemp("sound")
    lake, winner = elected_lake(folder)
    retaken(lake, winner)
    decoded(lake, "t")
    log = [data(7, "a"), data(8, "b"), commit(7), data(7, "a"), abort(8), abort(7)]
    for end in (2, 6):
        ingested(write_batches(folder / "orders", log[:end]), lake, read={"upper_bound": "log_end"})
        updated(lake, "orders")
    for topic in ("clicks", "views"):
        values = [("a", b"1"), ("b", b"1"), ("a", b"2")]
        ingested(write(folder / topic, *values, topic=topic, topic_id=None), lake)
    erased_at(lake, "views", 0, [1])
    maintained(lake, MaintenanceChoice(), retention={"records": {"clicks": "400d"}})
    return lake


@pytest.fixture
def lake(request: pytest.FixtureRequest, sound: Path, tmp_path: Path) -> Path:
    made = tmp_path / "lake"
    if request.param == "sample":
        ingested(_SAMPLE, made)
        return made
    shutil.copytree(sound, made)
    if request.param == "broken":
        DeltaTable(str(made / "typed" / "t")).delete("_offset = 0")
        DeltaTable(str(made / "latest" / "orders")).delete('"offset" = 0')
        falsified(made, "batches", _without_views)
    return made


@pytest.mark.spark
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "lake", cases(["broken", "sound", "sample"], telling={"broken"}), indirect=True
)
def test_spark_and_duckdb_give_the_same_answer(
    spark_session: "SparkSession", lake: Path, request: pytest.FixtureRequest
) -> None:
    by_spark = audited(lake, engine=SparkEngine(spark_session.sparkContext), small_bytes=0)
    by_duckdb = audited(lake)
    assert by_spark.to_mapping() == by_duckdb.to_mapping()
    found = [*_found(by_spark)]
    assert found == [*_found(by_duckdb)]
    if request.node.callspec.params["lake"] == "broken":
        assert {kind for kind, _ in found} == _OF_THE_BROKEN


def _without_views(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["topic"] != "views"]


def _found(audit: LakeAudit) -> Iterator[tuple[str, str]]:
    """Yield kind and text of each finding."""
    for each in audit.findings:
        yield str(each.kind), str(each)
