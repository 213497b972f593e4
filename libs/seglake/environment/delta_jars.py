"""Finds the two JARs with which Spark reads Delta tables, or fetches them once. Effect.

The package delta-spark has no JARs. Spark could resolve them itself (`spark.jars.packages`), but
would fetch 33 instead of two, take some seconds at every start, and fill the screen.

`python -m seglake.environment.delta_jars` prints them as a class path.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from seglake.environment.errors import DeltaJarsError
from seglake.environment.jar_fetch import FOLDER_VARIABLE, Jar, NotFetchedError, fetched, print_jars

_VERSION = "4.4.0"  # the release that requirements.in pins
JARS = (
    Jar(
        "io.delta",
        "delta-spark_4.2_2.13",
        _VERSION,
        "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead",
    ),
    Jar(
        "io.delta",
        "delta-storage",
        _VERSION,
        "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
    ),
)


def delta_jars(environment: Mapping[str, str], spark_home: Path) -> list[Path]:
    """Return the JARs to give to Spark; none if Spark's own folder has them.

    Args:
        environment: with a JAVA_HOME that works.
        spark_home: folder of Spark, with its `jars`.

    Raises:
        DeltaJarsError: the JARs are missing and cannot be fetched.
        AlteredJarError: a fetched JAR has an unexpected checksum.
    """
    if folder := environment.get(FOLDER_VARIABLE):
        return _jars_of(Path(folder))
    if any((spark_home / "jars").glob("delta-spark_*.jar")):
        return []
    try:
        return fetched(JARS, f"delta-{_VERSION}", environment, spark_home)
    except NotFetchedError as error:
        names = " and ".join(jar.name for jar in JARS)
        raise DeltaJarsError(
            f"reading Delta tables with Spark needs {names}, and {error}. Is there a way to the"
            f" internet? If not, put them into a folder and name it in {FOLDER_VARIABLE}."
        ) from error


def _jars_of(folder: Path) -> list[Path]:
    jars = sorted(folder.glob("*.jar"))
    for wanted in JARS:
        if not any(jar.name.startswith(wanted.module) for jar in jars):
            raise DeltaJarsError(
                f"{FOLDER_VARIABLE} names {folder}, but no {wanted.name} is there."
                f" Put it there, or unset {FOLDER_VARIABLE} to have it fetched."
            )
    return jars


def main() -> int:
    """Print the JARs, fetched if they are missing; return the exit code."""
    return print_jars(delta_jars, os.pathsep)


if __name__ == "__main__":
    sys.exit(main())
