"""Effect: finds the two JARs with which Spark reads Delta tables, or fetches them once.

The delta-spark package has none. Spark could resolve them itself (`spark.jars.packages`), but that
takes 33 JARs instead of two, some seconds at every start, and fills the screen. So Spark's own Ivy
fetches the two, into a folder of the user's, and their checksums are compared with ours.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from seglake.environment.errors import DeltaJarsError
from seglake.environment.java_home import cache_folder, provide_java
from seglake.environment.trust_store import write_trust_store
from seglake.errors import SeglakeError

FOLDER_VARIABLE = "SEGLAKE_JARS"
"""Names a folder of JARs that is used as it is, for machines without access to Maven."""

# What the registry gives for the release that requirements.in pins; module, version, SHA-256.
_VERSION = "4.4.0"
_SHA256 = {
    "delta-spark_4.2_2.13": "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead",
    "delta-storage": "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
}
_FETCH_SECONDS = 300


def delta_jars(environment: Mapping[str, str], spark_home: Path) -> list[Path]:
    """The JARs to give to Spark; none when Spark's own folder has them.

    Args:
        environment: with a JAVA_HOME that works.
        spark_home: folder of Spark, with its `jars`.

    Raises:
        DeltaJarsError: they are not there and cannot be fetched.
    """
    if folder := environment.get(FOLDER_VARIABLE):
        return _jars_of(Path(folder))
    if any((spark_home / "jars").glob("delta-spark_*.jar")):
        return []
    folder_of_user = cache_folder(environment) / f"delta-{_VERSION}"
    jars = [folder_of_user / f"{module}-{_VERSION}.jar" for module in _SHA256]
    if not all(jar.exists() for jar in jars):
        _fetch_into(folder_of_user, environment, spark_home)
    return jars


def _jars_of(folder: Path) -> list[Path]:
    jars = sorted(folder.glob("*.jar"))
    for module in _SHA256:
        if not any(jar.name.startswith(module) for jar in jars):
            raise DeltaJarsError(
                f"{FOLDER_VARIABLE} names {folder}, but no {module}-{_VERSION}.jar is there."
                f" Put it there, or unset {FOLDER_VARIABLE} to have it fetched."
            )
    return jars


def _fetch_into(folder: Path, environment: Mapping[str, str], spark_home: Path) -> None:
    """Fetch into a folder beside it, then move file by file: several processes may do this."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=folder) as scratch:
        java = Path(environment["JAVA_HOME"], "bin", "java")
        for module, expected in _SHA256.items():
            jar = _fetch(module, Path(scratch), java, spark_home)
            computed = sha256(jar.read_bytes()).hexdigest()
            if computed != expected:
                raise DeltaJarsError(
                    f"the file fetched as {jar.name} has the SHA-256 {computed}, expected"
                    f" {expected}: it was altered on its way, and is not used."
                )
            jar.replace(folder / jar.name)


def _fetch(module: str, scratch: Path, java: Path, spark_home: Path) -> Path:
    """Fetch one JAR, with what Java trusts, and failing that with what the machine trusts."""
    if not _runs(_ivy_command(module, scratch, java, spark_home, [])):
        trusted = write_trust_store(scratch / "trusted.jks")
        if not trusted or not _runs(_ivy_command(module, scratch, java, spark_home, trusted)):
            raise DeltaJarsError(
                f"reading Delta tables with Spark needs {module}-{_VERSION}.jar, and it could not"
                " be fetched from Maven Central. Is there a way to the internet? If not, put"
                f" {' and '.join(f'{name}-{_VERSION}.jar' for name in _SHA256)} into a folder and"
                f" name it in {FOLDER_VARIABLE}."
            )
    return scratch / f"{module}-{_VERSION}.jar"


def _ivy_command(
    module: str, scratch: Path, java: Path, spark_home: Path, java_options: list[str]
) -> list[str]:
    """Ivy as Spark ships it; every file it makes stays in `scratch`."""
    ivy = next((spark_home / "jars").glob("ivy-*.jar"), spark_home / "jars" / "ivy.jar")
    where = ["-cache", scratch / "cache", "-retrieve", scratch / "[artifact]-[revision].[ext]"]
    what = ["-dependency", "io.delta", module, _VERSION, "-notransitive", "-types", "jar"]
    return [str(part) for part in (java, *java_options, "-jar", ivy, "-warn", *where, *what)]


def _runs(command: list[str]) -> bool:
    try:
        subprocess.run(command, capture_output=True, timeout=_FETCH_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def main() -> int:
    """Print the JARs as a class path, fetched if need be; without a network say what is missing.

    Still 0 then: `make setup` goes on, since nothing but SQL needs them.
    """
    spark = find_spec("pyspark")
    environment = dict(os.environ)
    try:
        provide_java(environment)
        if spark is not None and spark.origin is not None:
            jars = delta_jars(environment, Path(spark.origin).parent)
            sys.stdout.write(f"{os.pathsep.join(map(str, jars))}\n")
    except SeglakeError as error:
        sys.stderr.write(f"seglake: {error}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
