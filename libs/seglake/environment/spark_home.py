"""Finds the Spark of this process, from pip or a distribution, without loading PySpark."""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from seglake.environment.errors import SparkStartError
from seglake.spark_features import OLDEST_SPARK, release_of

_CORE = "spark-core_*.jar"
_CORE_NAME = re.compile(r"spark-core_(?P<scala>\d+\.\d+)-(?P<version>\d+\.\d+.*)\.jar")
_HADOOP_NAME = re.compile(r"hadoop-client-api-(?P<version>\d.*)\.jar")


@dataclass(frozen=True)
class SparkBuild:
    """Versions of a Spark, from the names of its JARs.

    Attributes:
        version: Spark's version, such as `3.5.9`; a vendor's may be longer, such as `3.5.1-amzn-0`.
        scala: version of Scala that Spark is built with, such as `2.12`.
    """

    version: str
    scala: str

    @property
    def release(self) -> str:
        """Return major and minor version, such as `3.5`."""
        return "{}.{}".format(*release_of(self.version))


def spark_home(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of the Spark whose PySpark an import would find.

    The folder contains the folder `jars`.

    pip installs this folder as the package `pyspark`. A distribution has the package in its folder
    `python` or `python/lib`. If there are no JARs around the package, SPARK_HOME names the folder.
    """
    package = find_spec("pyspark")
    origin = Path((package.origin if package is not None else None) or "")
    around = next((folder for folder in origin.parents if _has_spark(folder)), None)
    named = Path(environment.get("SPARK_HOME", ""))
    if around is None and environment.get("SPARK_HOME") and _has_spark(named):
        return named
    return around or origin.parent


def provide_pyspark(environment: Mapping[str, str] = os.environ) -> None:
    """Make the PySpark of SPARK_HOME importable if this Python has no other.

    Raises:
        SparkStartError: there is no PySpark, or its Spark is too old.
    """
    folder = Path(environment.get("SPARK_HOME", ""), "python")
    if find_spec("pyspark") is None and folder.is_absolute():
        sys.path += [str(part) for part in (folder, *sorted(folder.glob("lib/py4j-*.zip")))]
    oldest = ".".join(map(str, OLDEST_SPARK))
    if find_spec("pyspark") is None:
        raise SparkStartError(
            "this Python has no PySpark, and SPARK_HOME names no Spark with one. Install"
            f" pyspark {oldest} or newer, or let SPARK_HOME name a Spark; --engine local, where the"
            " command has it, needs no Spark."
        )
    build = spark_build(spark_home(environment))
    if build is not None and release_of(build.version) < OLDEST_SPARK:
        raise SparkStartError(
            f"Spark {build.version} is too old: seglake needs {oldest} or newer. --engine local,"
            " where the command has it, needs no Spark."
        )


def spark_build(home: Path) -> SparkBuild | None:
    """Return the Spark and Scala versions in the names of JARs; None if a vendor renamed them."""
    names = (_CORE_NAME.fullmatch(jar.name) for jar in (home / "jars").glob(_CORE))
    return next((SparkBuild(name["version"], name["scala"]) for name in names if name), None)


def hadoop_version(home: Path) -> str | None:
    """Return the version of Hadoop in a Spark; None if its JARs have unknown names."""
    names = (_HADOOP_NAME.fullmatch(jar.name) for jar in (home / "jars").glob("hadoop-client-*"))
    return next((name["version"] for name in names if name), None)


def _has_spark(folder: Path) -> bool:
    return any((folder / "jars").glob(_CORE))
