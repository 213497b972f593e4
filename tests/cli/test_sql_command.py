"""What `seglake sql` tells Spark; none is started here."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from seglake.cli import sql_command
from seglake.environment import spark_session
from seglake.pipelines.settings.settings import SparkSettings


def test_spark_is_told_how_to_reach_the_lake(monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[str, object] = {}

    @contextmanager
    def session(settings: SparkSettings, **given: object) -> Iterator[None]:
        told.update(given)
        yield

    monkeypatch.setattr(spark_session, "delta_session", session)
    monkeypatch.setattr("seglake.pipelines.lake_query.run.require_lake", lambda lake, storage: lake)
    monkeypatch.setattr("seglake.pipelines.lake_query.run.query", lambda *rest, **named: None)
    endpoint = "spark.properties.spark.hadoop.fs.s3a.endpoint=http://h:1"
    assert sql_command.main(["--lake", "s3://b/lake", "SELECT 1", "--set", endpoint]) == 0
    assert told["lake"] == "s3a://b/lake"
    hadoop = told["hadoop"]
    assert isinstance(hadoop, dict)
    assert hadoop["fs.s3a.bucket.b.endpoint"] == "http://h:1"
