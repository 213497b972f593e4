"""What the commands do with their options, where no Spark is needed."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from seglake.cli import audit_command, ingest_command, sql_command
from seglake.environment import engines, spark_session
from seglake.pipelines.settings.settings import Settings, SparkSettings
from support.lakes import read_arrow
from support.made_logs import make_log_dir

_DISK = Path(__file__).parents[2] / "samples" / "broker-0" / "v2-lz4-0"
_ALONE = ("--engine", "local", "--set", "limits.local_processes=1")


def _ingest(lake: Path, *options: str) -> int:
    return ingest_command.main(["--source", str(_DISK), "--lake", str(lake), *_ALONE, *options])


def test_dry_run_makes_no_lake_and_a_run_id_is_in_the_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = tmp_path / "lake"
    assert _ingest(lake, "--dry-run") == 0
    assert not lake.exists()
    assert _ingest(lake, "--run-id", "mine", "--json") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["run_id"] == "mine"
    assert set(read_arrow(lake, "records").column("run_id").to_pylist()) == {"mine"}


def test_format_parquet_makes_a_folder_without_a_log(tmp_path: Path) -> None:
    assert _ingest(tmp_path / "lake", "--format", "parquet") == 0
    assert (tmp_path / "lake" / "_SUCCESS").is_file()
    assert list(tmp_path.rglob("_delta_log")) == []
    assert list(tmp_path.rglob("*.parquet")) != []


def test_audit_ends_with_3_when_the_disk_is_not_what_was_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_log_dir(tmp_path / "disk", {("orders", 0): [0, 20]})
    command = ["--lake", str(tmp_path / "lake"), "--source", str(tmp_path / "disk"), *_ALONE]
    assert ingest_command.main(command) == 0
    assert audit_command.main(command) == 0
    make_log_dir(tmp_path / "disk", {("orders", 0): [0, 20]}, value_bytes=1)
    capsys.readouterr()
    assert audit_command.main([*command, "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["exit_code"] == 3


@pytest.mark.parametrize(("given", "processes"), [(99, 99), (0, os.cpu_count())])
def test_local_engine_has_as_many_processes_as_the_settings_say(
    given: int, processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    @contextmanager
    def made(count: int) -> Iterator[None]:
        asked.append(count)
        yield

    monkeypatch.setattr(engines, "LocalEngine", made)
    settings = Settings.from_mappings([("test", {"limits": {"local_processes": given}})])
    with engines.open_engine("local", settings, verbosity=0):
        assert asked == [processes]


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
