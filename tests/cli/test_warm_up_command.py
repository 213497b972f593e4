"""What `seglake warm-up` says, and what it ends with; no test here reaches out to a network."""

import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

from seglake.cli import warm_up_command
from seglake.environment import spark_connect, spark_home, warm_up
from support.java_stand_ins import ivy_java


@pytest.fixture(autouse=True)
def jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that has Delta's JARs, on a machine with a Java."""
    java = tmp_path / "java"
    ivy_java(java, "echo 'openjdk version \"21\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(java))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("SEGLAKE_JARS", str(tmp_path))
    for name in ("delta-spark_4.2_2.13-4.4.0.jar", "delta-storage-4.4.0.jar"):
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(("options", "line_count"), [([], 4), (["--quiet"], 0)])
def test_steps_are_said_beside_the_output_unless_it_is_to_be_quiet(
    options: list[str], line_count: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert warm_up_command.main(options) == 0
    printed = capsys.readouterr()
    assert (printed.out, len(printed.err.splitlines())) == ("", line_count)


@pytest.mark.parametrize(
    ("options", "gone"), [([], "delta-storage-4.4.0.jar"), (["--s3"], "hadoop-aws-3.5.0.jar")]
)
def test_a_jar_that_is_not_to_be_had_ends_it_with_1(
    options: list[str], gone: str, jars: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (jars / gone).unlink(missing_ok=True)
    assert warm_up_command.main(options) == 1
    assert f"no {gone}" in capsys.readouterr().err


def test_a_spark_without_a_delta_ends_it_with_3_and_all_else_is_done(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SEGLAKE_JARS")
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    (tmp_path / "spark" / "jars" / "spark-core_2.13-4.3.0.jar").touch()
    monkeypatch.setattr(warm_up, "spark_home", lambda: tmp_path / "spark")
    assert warm_up_command.main(["--quiet"]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("seglake: seglake knows no Delta for Spark 4.3.0 (Scala 2.13), only up")


@pytest.mark.parametrize(
    ("files", "variables", "reason"),
    [
        (["__init__.py"], {}, "this PySpark is only a client of Spark Connect: "),
        ([], {}, "this Python has no PySpark"),
        (["__init__.py", "context.py"], {"SPARK_REMOTE": "sc://h"}, "SPARK_REMOTE is set to sc"),
        (["__init__.py", "context.py", "jars/spark-core_2.12-3.4.4.jar"], {}, "Spark 3.4.4 is too"),
    ],
)
def test_where_no_command_can_start_a_spark_it_ends_with_3_and_says_why(
    files: list[str],
    variables: dict[str, str],
    reason: str,
    jars: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    package = jars / "packages" / "pyspark"
    for name in (*files, "bin/spark-submit") if "context.py" in files else files:
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).touch()
    for module in (spark_connect, spark_home):
        monkeypatch.setattr(
            module, "find_spec", lambda name: PathFinder.find_spec(name, [str(package.parent)])
        )
    monkeypatch.setitem(sys.modules, "pyspark", None)  # another test's Spark may be running
    monkeypatch.delenv("SPARK_HOME", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert warm_up_command.main(["--quiet"]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("seglake: the decoder is compiled, but nothing is prepared for Spark: ")
    assert reason in line
