"""Where only Spark Connect is there, a command refuses before it touches anything."""

import sys
from importlib.machinery import PathFinder
from pathlib import Path
from types import SimpleNamespace

import pytest

from seglake.environment import spark_connect, spark_home
from seglake.environment.engines import open_engine
from seglake.environment.spark_connect import refuse_connect
from seglake.errors import WrongCallError
from seglake.settings.settings import Settings, SparkSettings

PLAIN = SparkSettings()


def pyspark_in(folder: Path, monkeypatch: pytest.MonkeyPatch, *files: str) -> Path:
    """Make the only PySpark that can be found, with these files."""
    for name in ("__init__.py", *files):
        (folder / "pyspark" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "pyspark" / name).touch()
    for module in (spark_connect, spark_home):
        monkeypatch.setattr(
            module, "find_spec", lambda name: PathFinder.find_spec(name, [str(folder)])
        )
    monkeypatch.setitem(sys.modules, "pyspark", None)
    return folder / "pyspark"


@pytest.mark.parametrize(
    ("settings", "variables", "reason"),
    [
        (SparkSettings("sc://host:15002"), {}, "the master is sc://host:15002"),
        (SparkSettings(properties=(("spark.remote", "sc://h"),)), {}, "property spark.remote is"),
        (SparkSettings(properties=(("spark.api.mode", "Connect"),)), {}, "spark.api.mode is"),
        (PLAIN, {"SPARK_REMOTE": "sc://h"}, "SPARK_REMOTE is set to sc://h"),
        (PLAIN, {"SPARK_API_MODE": "connect"}, "SPARK_API_MODE is set to connect"),
        (PLAIN, {"SPARK_CONNECT_MODE_ENABLED": "1"}, "this process has a session of Spark Connect"),
    ],
)
def test_whatever_leads_to_spark_connect_is_a_wrong_call(
    settings: SparkSettings,
    variables: dict[str, str],
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pyspark_in(tmp_path, monkeypatch, "context.py", "bin/spark-submit")
    with pytest.raises(WrongCallError, match=reason) as refused:
        refuse_connect(settings, variables)
    assert "Use the engine local, of sql duckdb, and of register --print" in str(refused.value)


@pytest.mark.parametrize("variables", [{}, {"SPARK_API_MODE": "classic"}, {"SPARK_REMOTE": ""}])
@pytest.mark.parametrize("context", ["context.py", "core/context.py"])
def test_a_spark_with_rdds_is_used(
    variables: dict[str, str], context: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = pyspark_in(tmp_path, monkeypatch, context, "bin/spark-submit")
    refuse_connect(SparkSettings("spark://host:7077"), variables)
    (package / "bin" / "spark-submit").rename(tmp_path / "spark-submit")
    with pytest.raises(WrongCallError, match="this PySpark is only a client of Spark Connect"):
        refuse_connect(PLAIN, variables)
    (tmp_path / "home" / "bin").mkdir(parents=True)
    (tmp_path / "spark-submit").rename(tmp_path / "home" / "bin" / "spark-submit")
    refuse_connect(PLAIN, {**variables, "SPARK_HOME": str(tmp_path / "home")})


def test_a_client_of_connect_is_refused_even_beside_a_distribution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyspark_in(tmp_path, monkeypatch)
    submit = tmp_path / "home" / "bin" / "spark-submit"
    submit.parent.mkdir(parents=True)
    submit.touch()
    with pytest.raises(WrongCallError, match="this PySpark is only a client of Spark Connect"):
        refuse_connect(PLAIN, {"SPARK_HOME": str(tmp_path / "home")})


def test_without_any_pyspark_the_start_of_spark_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyspark_in(tmp_path, monkeypatch)
    monkeypatch.setattr(spark_connect, "find_spec", lambda name: None)
    refuse_connect(PLAIN, {})


def test_a_running_spark_with_rdds_is_used_whatever_the_variables_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    running = SimpleNamespace(SparkContext=SimpleNamespace(_active_spark_context=object()))
    monkeypatch.setitem(sys.modules, "pyspark", running)
    refuse_connect(PLAIN, {"SPARK_REMOTE": "sc://h", "SPARK_CONNECT_MODE_ENABLED": "1"})


def test_the_engine_is_refused_when_it_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setenv("SPARK_REMOTE", "sc://host")
    refused = pytest.raises(WrongCallError, match="no command of seglake runs on Spark Connect")
    with refused, open_engine("spark", Settings(), verbosity=0):
        pass
    with open_engine("local", Settings(), verbosity=0):
        pass
