"""Fetches JARs once into the user's cache folder and checks their checksums.

Spark's own Ivy fetches them. It uses Java's certificates or, if that fails, the machine's
certificates.
"""

import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from seglake.environment.java_home import cache_folder, provide_java
from seglake.environment.spark_home import spark_home
from seglake.environment.trust_store import write_trust_store
from seglake.errors import SeglakeError
from seglake.progress.run_reporter import step_within

FOLDER_VARIABLE = "SEGLAKE_JARS"
"""Variable with a folder of JARs to use unchecked, for machines without access to Maven."""

_FETCH_SECONDS = 300


class Jar(NamedTuple):
    """One JAR of Maven Central, and its SHA-256 in hexadecimal digits."""

    group: str
    module: str
    version: str
    digest: str

    @property
    def name(self) -> str:
        """Return the JAR's file name."""
        return f"{self.module}-{self.version}.jar"


class AlteredJarError(SeglakeError):
    """A fetched JAR has an unexpected checksum; none of the fetched JARs is kept."""


class NotFetchedError(SeglakeError):
    """Error for JARs that could not be fetched."""


@cache
def known_jars() -> Mapping[str, tuple[Jar, ...]]:
    """Return the tables of jars.toml: JARs that Spark needs, by the purpose that names a table."""
    tables = tomllib.loads(files(__package__).joinpath("jars.toml").read_text("utf-8"))
    return {name: tuple(Jar(*row) for row in rows) for name, rows in tables.items()}


def fetched(
    jars: Sequence[Jar], name: str, environment: Mapping[str, str], spark_home: Path
) -> list[Path]:
    """Return the paths of the JARs in the user's cache folder; fetch them if one is missing.

    Several processes may do this at once, because JARs are moved into the folder only after all
    have been checked.

    Args:
        jars: the JARs to return.
        name: the folder's name in the cache folder.
        environment: the variables of the process, with a JAVA_HOME that works.
        spark_home: folder of Spark, whose `jars` have Ivy.

    Raises:
        AlteredJarError: a fetched JAR has an unexpected checksum; none is kept.
        NotFetchedError: the JARs cannot be fetched; none is kept.
    """
    folder = cache_folder(environment) / name
    paths = [folder / jar.name for jar in jars]
    if all(path.exists() for path in paths):
        return paths
    folder.mkdir(parents=True, exist_ok=True)
    scratch_folder = tempfile.TemporaryDirectory(prefix="fetch-", dir=folder)
    with scratch_folder as scratch_name, step_within("fetching JARs for Spark from Maven Central"):
        scratch = Path(scratch_name)
        _fetch(jars, scratch, Path(environment["JAVA_HOME"], "bin", "java"), spark_home)
        for jar in jars:
            computed = sha256((scratch / jar.name).read_bytes()).hexdigest()
            if computed != jar.digest:
                raise AlteredJarError(
                    f"the file fetched as {jar.name} has the SHA-256 {computed}, expected"
                    f" {jar.digest}: it was altered on its way, and is not used."
                )
        for path in paths:
            (scratch / path.name).replace(path)
    return paths


def print_jars(find: Callable[[Mapping[str, str], Path], list[Path]], separator: str) -> int:
    """Print JARs on one line, after fetching missing JARs, and return the exit code.

    Args:
        find: returns the JARs, given an environment with a working JAVA_HOME, and Spark's folder.
        separator: the text between two paths.
    """
    environment = dict(os.environ)
    try:
        provide_java(environment)
        jars = find(environment, spark_home())
    except SeglakeError as error:
        sys.stderr.write(f"seglake: {error}\n")
        return 1
    sys.stdout.write(f"{separator.join(map(str, jars))}\n")
    return 0


def _fetch(jars: Sequence[Jar], scratch: Path, java: Path, spark_home: Path) -> None:
    (scratch / "ivy.xml").write_text(_ivy_file(jars), "utf-8")
    ivy = next((spark_home / "jars").glob("ivy-*.jar"), spark_home / "jars" / "ivy.jar")
    where = ["-cache", scratch / "cache", "-retrieve", scratch / "[artifact]-[revision].[ext]"]
    what = ["-ivy", scratch / "ivy.xml", "-types", "jar"]

    def is_done(*options: str) -> bool:
        command = [str(part) for part in (java, *options, "-jar", ivy, "-warn", *where, *what)]
        return _runs(command) and all((scratch / jar.name).exists() for jar in jars)

    if is_done():
        return
    trusted = write_trust_store(scratch / "trusted.jks")
    if not trusted or not is_done(*trusted):
        raise NotFetchedError("they could not be fetched from Maven Central")


def _ivy_file(jars: Sequence[Jar]) -> str:
    dependencies = "".join(
        f'<dependency org="{jar.group}" name="{jar.module}" rev="{jar.version}"'
        ' transitive="false" conf="default->master"/>'
        for jar in jars
    )
    return (
        '<ivy-module version="2.0"><info organisation="seglake" module="spark"/>'
        '<configurations><conf name="default"/></configurations>'
        f"<dependencies>{dependencies}</dependencies></ivy-module>"
    )


def _runs(command: Sequence[str]) -> bool:
    try:
        subprocess.run(command, capture_output=True, timeout=_FETCH_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return False
    return True
