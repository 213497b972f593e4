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
from seglake.environment.jar_fetch import FOLDER_VARIABLE, Jar, NotFetchedError, fetched, print_jars
from seglake.environment.spark_home import SparkBuild, spark_build

_GROUP = "io.delta"
_MODULE = "delta-spark"
_STORAGE = "delta-storage"
_STORAGE_DIGESTS = {
    "3.3.3": "45ad193053fd30cebe6d9ab1889873cde39b223a0f210e00ebee8b6642476901",
    "4.4.0": "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
}
# Delta's module, its release, and the SHA-256 of its JAR, by the releases of Spark and Scala.
_DELTA = {
    ("3.5", "2.12"): (
        "delta-spark_2.12",
        "3.3.3",
        "4912bf902a1c453aba3bd838ff212dedd357155212f9bb37a6b47d97f2827ebc",
    ),
    ("3.5", "2.13"): (
        "delta-spark_2.13",
        "3.3.3",
        "a1f5eab2a22efd66c8073e09648e1f346dbbf2f73a22babdf5cfc963afa73c69",
    ),
    ("4.0", "2.13"): (
        "delta-spark_4.0_2.13",
        "4.4.0",
        "49e899667168b9412f83cbe894ce264107d7b896d6c5e12edca4e216845c1104",
    ),
    ("4.1", "2.13"): (
        "delta-spark_4.1_2.13",
        "4.4.0",
        "75a9400986853c061f5109f012547de2545a5759e5e752e5ef633dabe16a4f10",
    ),
    ("4.2", "2.13"): (
        "delta-spark_4.2_2.13",
        "4.4.0",
        "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead",
    ),
}
NEWEST = ("4.2", "2.13")
"""Newest releases of Spark and Scala that have a Delta."""


def all_jars() -> tuple[Jar, ...]:
    """Return the JARs of Delta for all releases of Spark."""
    return tuple(dict.fromkeys(jar for key in _DELTA for jar in jars_of(*key)))


def jars_of(spark: str, scala: str) -> tuple[Jar, ...]:
    """Return the JARs of Delta for a release of Spark; none if there is no Delta for it."""
    if (spark, scala) not in _DELTA:
        return ()
    module, version, digest = _DELTA[spark, scala]
    storage = Jar(_GROUP, _STORAGE, version, _STORAGE_DIGESTS[version])
    return (Jar(_GROUP, module, version, digest), storage)


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
