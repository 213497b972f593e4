"""Where Spark is: in pip's package, or in a distribution that pip did not bring."""

import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

from seglake.environment import spark_home as module
from seglake.environment.errors import SparkStartError
from seglake.environment.spark_home import (
    hadoop_version,
    provide_pyspark,
    spark_build,
    spark_home,
)


@pytest.fixture
def distribution(tmp_path: Path) -> Path:
    """The folder of a distribution of Spark: JARs, and PySpark in `python`."""
    home = tmp_path / "spark"
    for name in ("spark-core_2.12-3.5.9.jar", "hadoop-client-api-3.3.4.jar"):
        (home / "jars").mkdir(parents=True, exist_ok=True)
        (home / "jars" / name).touch()
    (home / "python" / "pyspark").mkdir(parents=True)
    (home / "python" / "pyspark" / "__init__.py").touch()
    (home / "python" / "lib").mkdir()
    (home / "python" / "lib" / "py4j-0.10.9.7-src.zip").touch()
    return home


def only_on(monkeypatch: pytest.MonkeyPatch, path: list[str]) -> None:
    """Let PySpark be looked for in these folders alone."""
    monkeypatch.setattr(sys, "path", path)
    monkeypatch.setattr(module, "find_spec", lambda name: PathFinder.find_spec(name, sys.path))


def test_a_pyspark_of_pip_has_its_spark_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, distribution: Path
) -> None:
    package = tmp_path / "site-packages" / "pyspark"
    (package / "jars").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "jars" / "spark-core_2.13-4.2.0.jar").touch()
    only_on(monkeypatch, [str(package.parent)])
    assert spark_home({"SPARK_HOME": str(distribution)}) == package


def test_a_pyspark_of_a_distribution_lies_below_its_spark(
    monkeypatch: pytest.MonkeyPatch, distribution: Path
) -> None:
    only_on(monkeypatch, [str(distribution / "python")])
    assert spark_home({}) == distribution


def test_a_pyspark_without_jars_takes_those_of_spark_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, distribution: Path
) -> None:
    package = tmp_path / "elsewhere" / "pyspark"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    only_on(monkeypatch, [str(package.parent)])
    assert spark_home({"SPARK_HOME": str(distribution)}) == distribution
    assert spark_home({"SPARK_HOME": str(tmp_path)}) == package
    assert spark_home({}) == package


def test_spark_home_alone_brings_its_pyspark_with_its_py4j(
    monkeypatch: pytest.MonkeyPatch, distribution: Path
) -> None:
    only_on(monkeypatch, [])
    for lacking in ({}, {"SPARK_HOME": "/nowhere"}):
        with pytest.raises(SparkStartError, match=r"this Python has no PySpark.* pyspark 3\.5 or"):
            provide_pyspark(lacking)
    provide_pyspark({"SPARK_HOME": str(distribution)})
    python = distribution / "python"
    assert sys.path[-2:] == [str(python), str(python / "lib" / "py4j-0.10.9.7-src.zip")]
    assert spark_home({}) == distribution


def test_an_installed_pyspark_is_kept(monkeypatch: pytest.MonkeyPatch, distribution: Path) -> None:
    only_on(monkeypatch, [str(distribution / "python")])
    provide_pyspark({"SPARK_HOME": "/another"})
    assert sys.path == [str(distribution / "python")]


def test_a_spark_that_is_too_old_is_named(
    monkeypatch: pytest.MonkeyPatch, distribution: Path
) -> None:
    (core,) = (distribution / "jars").glob("spark-core*")
    core.rename(core.with_name("spark-core_2.12-3.4.4.jar"))
    only_on(monkeypatch, [str(distribution / "python")])
    with pytest.raises(SparkStartError, match=r"Spark 3\.4\.4 is too old: .*3\.5 or newer"):
        provide_pyspark({})


def test_the_jars_say_which_spark_it_is(distribution: Path, tmp_path: Path) -> None:
    build = spark_build(distribution)
    assert build is not None
    assert (build.version, build.release, build.scala) == ("3.5.9", "3.5", "2.12")
    assert hadoop_version(distribution) == "3.3.4"
    assert spark_build(tmp_path) is None
    assert hadoop_version(tmp_path) is None
