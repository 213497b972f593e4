"""Finds the JARs with which Spark reads Delta tables and lakes on S3, or fetches them. Effect.

The delta-spark package has none. Spark could resolve them itself (`spark.jars.packages`), but that
takes 33 JARs instead of two, some seconds at every start, and fills the screen.

python -m seglake.environment.spark_jars [delta] [s3] prints them as `--jars` of spark-submit takes
them.
"""

import os
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

from seglake.environment.errors import JarsError
from seglake.environment.java_home import cache_folder
from seglake.errors import SeglakeError
from seglake.pipelines.progress import step_within

FOLDER_VARIABLE = "SEGLAKE_JARS"
"""Names a folder of JARs that is used as it is, for machines without access to Maven."""

_MAVEN = "https://repo1.maven.org/maven2"
_PINS = Path(__file__).with_suffix(".toml")
_ANSWER_SECONDS = 60


class Jar(NamedTuple):
    """One JAR of Maven Central, and its SHA-256."""

    group: str
    module: str
    version: str
    digest: str

    @property
    def name(self) -> str:
        """Return the file's name."""
        return f"{self.module}-{self.version}.jar"

    @property
    def path(self) -> str:
        """Return the file's path in a Maven repository."""
        return f"{self.group.replace('.', '/')}/{self.module}/{self.version}/{self.name}"


@dataclass(frozen=True, slots=True)
class JarSet:
    """JARs for one purpose.

    Attributes:
        name: of the table in spark_jars.toml, and of the folder into which they are fetched.
        required: how the names of those begin that a folder of the user's must have; where Spark's
            own folder has the first, it needs no other.
    """

    name: str
    purpose: str
    required: tuple[str, ...]

    def jars(self) -> list[Jar]:
        """Return the pinned JARs."""
        pins = tomllib.loads(_PINS.read_text("utf-8"))[self.name]
        return [
            Jar(group, module, version, digest)
            for coordinates, digest in pins.items()
            for group, module, version in [coordinates.split(":")]
        ]


DELTA = JarSet("delta-4.4.0", "reading Delta tables with Spark", ("delta-spark_", "delta-storage-"))
S3 = JarSet("s3a-3.5.0-2.35.4", "reading a lake on S3 with Spark", ("hadoop-aws-",))


def find_jars(wanted: JarSet, environment: Mapping[str, str], spark_home: Path) -> list[Path]:
    """Return the JARs to give to Spark; none if Spark's own folder has them.

    Args:
        spark_home: folder of Spark, with its `jars`.

    Raises:
        JarsError: they are not there and cannot be fetched, or were altered on their way.
    """
    if folder := environment.get(FOLDER_VARIABLE):
        return _jars_in(Path(folder), wanted)
    if any((spark_home / "jars").glob(f"{wanted.required[0]}*.jar")):
        return []
    return _fetched(wanted, cache_folder(environment) / wanted.name)


def spark_home() -> Path:
    """Return the folder of the installed PySpark, found without loading it."""
    spark = find_spec("pyspark")
    return Path((spark.origin if spark is not None else None) or "").parent


def _jars_in(folder: Path, wanted: JarSet) -> list[Path]:
    jars = sorted(folder.glob("*.jar"))
    for start in wanted.required:
        if not any(jar.name.startswith(start) for jar in jars):
            raise JarsError(
                f"{FOLDER_VARIABLE} names {folder}, but no {start}*.jar is there, which"
                f" {wanted.purpose} needs. Put it there, or unset {FOLDER_VARIABLE} to have it"
                " fetched."
            )
    return jars


def _fetched(wanted: JarSet, folder: Path) -> list[Path]:
    """Return the JARs in a folder, all fetched if one is missing.

    Several processes may do this at once: JARs are moved into the folder when all are checked.
    """
    jars = wanted.jars()
    paths = [folder / jar.name for jar in jars]
    if all(path.exists() for path in paths):
        return paths
    folder.mkdir(parents=True, exist_ok=True)
    scratch_folder = tempfile.TemporaryDirectory(prefix="fetch-", dir=folder)
    with scratch_folder as scratch, step_within("fetching JARs for Spark from Maven Central"):
        for jar in jars:
            Path(scratch, jar.name).write_bytes(_content(jar, wanted))
        for path in paths:
            Path(scratch, path.name).replace(path)
    return paths


def _content(jar: Jar, wanted: JarSet) -> bytes:
    """Fetch a JAR, trusting the servers that this machine's OpenSSL trusts, and check it."""
    try:
        with urlopen(f"{_MAVEN}/{jar.path}", timeout=_ANSWER_SECONDS) as answer:
            content: bytes = answer.read()
    except (OSError, HTTPException) as error:
        raise JarsError(
            f"{wanted.purpose} needs {jar.name}, which could not be fetched from Maven Central:"
            f" {error}. Is there a way to the internet? If not, put all JARs that {_PINS} lists"
            f" into a folder, and name it in {FOLDER_VARIABLE}."
        ) from error
    computed = sha256(content).hexdigest()
    if computed != jar.digest:
        raise JarsError(
            f"the file fetched as {jar.name} has the SHA-256 {computed}, expected {jar.digest}: it"
            " was altered on its way, and is not used."
        )
    return content


def main() -> int:
    """Print JARs in a line, fetched if need be; return the exit code."""
    sets = {"delta": DELTA, "s3": S3}
    try:
        jars = [
            str(jar)
            for name in sys.argv[1:] or ["delta"]
            for jar in find_jars(sets[name], os.environ, spark_home())
        ]
    except SeglakeError as error:
        sys.stderr.write(f"seglake: {error}\n")
        return 1
    sys.stdout.write(f"{','.join(dict.fromkeys(jars))}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
