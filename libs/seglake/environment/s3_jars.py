"""Finds the JARs with which Spark reads lakes on S3, or fetches them once.

Hadoop's S3A depends on Amazon's whole SDK, one JAR of 686 MB. The parts of the SDK that S3A uses
have 14 MB. `jars.toml` lists them; it omits only JARs that come with Spark.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from seglake.environment.errors import S3JarsError
from seglake.environment.jar_fetch import (
    FOLDER_VARIABLE,
    NotFetchedError,
    fetched,
    known_jars,
    print_jars,
)
from seglake.environment.spark_home import hadoop_version

_HADOOP_VERSION = "3.5.0"  # Spark's version of Hadoop
_SDK_VERSION = "2.35.4"


def s3_jars(environment: Mapping[str, str], spark_home: Path) -> list[Path]:
    """Return the JARs that Spark needs; none if Spark or the folder of JARs has them.

    Args:
        environment: the variables of the process, with a JAVA_HOME that works.
        spark_home: folder of Spark, with its `jars`.

    Raises:
        S3JarsError: the JARs are missing and cannot be fetched.
        AlteredJarError: a fetched JAR has an unexpected checksum.
    """
    if folder := environment.get(FOLDER_VARIABLE):
        if not any(Path(folder).glob("hadoop-aws-*.jar")):
            raise S3JarsError(
                f"{FOLDER_VARIABLE} names {folder}, but no hadoop-aws-{_HADOOP_VERSION}.jar is"
                " there, which Spark needs to read a lake on S3. Put it there with the JARs that it"
                f" needs, or unset {FOLDER_VARIABLE} to have all of them fetched."
            )
        return []
    if any((spark_home / "jars").glob("hadoop-aws-*.jar")):
        return []
    hadoop = hadoop_version(spark_home)
    if hadoop not in (None, _HADOOP_VERSION):
        raise S3JarsError(
            f"this Spark has Hadoop {hadoop}, and seglake knows the JARs for S3 of Hadoop"
            f" {_HADOOP_VERSION} only: query with --engine duckdb, or name them with --set"
            f" spark.properties.spark.jars.packages=org.apache.hadoop:hadoop-aws:{hadoop}"
        )
    try:
        name = f"s3a-{_HADOOP_VERSION}-{_SDK_VERSION}"
        return fetched(known_jars()["s3a"], name, environment, spark_home)
    except NotFetchedError as error:
        raise S3JarsError(
            f"reading a lake on S3 with Spark needs hadoop-aws-{_HADOOP_VERSION}.jar and the parts"
            f" of Amazon's SDK {_SDK_VERSION} that it uses, and {error}. Without access to the"
            " internet, put them into a folder, together with the JARs of Delta, and name it in"
            f" {FOLDER_VARIABLE}."
        ) from error


def main() -> int:
    """Print the JARs in the form of spark-submit's `--jars`; return the exit code."""
    return print_jars(s3_jars, ",")


if __name__ == "__main__":
    sys.exit(main())
