"""Finds or fetches the two JARs with which Spark reads Delta tables.

PySpark has none of Delta's JARs. Spark could resolve them itself (`spark.jars.packages`), but would
fetch 33 JARs instead of two, need some seconds at every start, and fill the screen with output.

`python -m seglake.environment.delta_jars` prints them as a class path.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from seglake.environment.errors import DeltaJarsError, NoDeltaError
from seglake.environment.jar_fetch import (
    FOLDER_VARIABLE,
    Jar,
    NotFetchedError,
    fetched,
    known_jars,
    print_jars,
)
from seglake.environment.spark_home import SparkBuild, spark_build

_MODULE = "delta-spark"
NEWEST = ("4.2", "2.13")
"""Newest releases of Spark and Scala that have a Delta."""


def jars_of(spark: str, scala: str) -> tuple[Jar, ...]:
    """Return the JARs of Delta for a release of Spark; none if there is no Delta for it."""
    return known_jars().get(f"delta {spark} {scala}", ())


def delta_jars(environment: Mapping[str, str], spark_home: Path) -> list[Path]:
    """Return the JARs that Spark needs; none if Spark's own folder has them.

    Args:
        environment: the variables of the process, with a JAVA_HOME that works.
        spark_home: folder of Spark, with its `jars`.

    Raises:
        DeltaJarsError: the JARs are missing and cannot be fetched.
        NoDeltaError: no Delta fits this Spark.
        AlteredJarError: a fetched JAR has an unexpected checksum.
    """
    build = spark_build(spark_home)
    jars = _jars_for(build)
    if folder := environment.get(FOLDER_VARIABLE):
        return _jars_in(Path(folder), jars)
    if any((spark_home / "jars").glob(f"{_MODULE}_*.jar")):
        return []
    if build is not None and not jars:
        shown = f"{build.version} (Scala {build.scala})"
        raise NoDeltaError(
            f"seglake knows no Delta for Spark {shown}, only up to Spark {NEWEST[0]}: the"
            " tables can be written and audited with this Spark, and queried without it (--engine"
            " duckdb). If you have Delta's JARs for it, put them into a folder and name it in"
            f" {FOLDER_VARIABLE}."
        )
    try:
        return fetched(jars, f"delta-{jars[0].version}", environment, spark_home)
    except NotFetchedError as error:
        names = " and ".join(jar.name for jar in jars)
        raise DeltaJarsError(
            f"reading Delta tables with Spark needs {names}, and {error}. Without access to the"
            f" internet, put them into a folder and name it in {FOLDER_VARIABLE}."
        ) from error


def delta_package(spark_home: Path) -> str:
    """Return Delta's Maven coordinates for a Spark, in the form of spark-submit's `--packages`."""
    jar, *_ = _jars_for(spark_build(spark_home)) or jars_of(*NEWEST)
    return f"{jar.group}:{jar.module}:{jar.version}"


def _jars_for(build: SparkBuild | None) -> tuple[Jar, ...]:
    """Return the JARs of Delta that fit a Spark.

    If the names of Spark's own JARs are unknown, the JARs for the newest Spark are returned.
    """
    return jars_of(build.release, build.scala) if build is not None else jars_of(*NEWEST)


def _jars_in(folder: Path, jars: tuple[Jar, ...]) -> list[Path]:
    """Return the JARs of a folder; raise DeltaJarsError if Delta's JARs are missing."""
    found = sorted(folder.glob("*.jar"))
    named = [(jar.module, jar.name) for jar in jars] or [(_MODULE, f"{_MODULE}_*.jar")]
    for module, name in named:
        if not any(path.name.startswith(module) for path in found):
            raise DeltaJarsError(
                f"{FOLDER_VARIABLE} names {folder}, but the folder has no {name}. Put it there, "
                f"or unset {FOLDER_VARIABLE} to have it fetched."
            )
    return found


def main() -> int:
    """Print the JARs, fetching missing ones, and return the exit code."""
    return print_jars(delta_jars, os.pathsep)


if __name__ == "__main__":
    sys.exit(main())
