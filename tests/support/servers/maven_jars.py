"""Fetches JARs by Maven, once, and finds them again."""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

_ROOT = Path(__file__).parents[3]
_FETCH_SECONDS = 600
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId><artifactId>jars-for-tests</artifactId><version>1</version>
  <packaging>pom</packaging>
  <dependencies>{dependencies}</dependencies>
</project>
"""
_PARTS = ("groupId", "artifactId", "version", "classifier")


class NoJarsError(Exception):
    """There is no Maven, or it could not fetch what was wanted."""


def maven_jars(name: str, artifacts: Sequence[str], *, alone: bool = False) -> Path:
    """The folder below build/tools that has the JARs, fetched if it is not there.

    Args:
        name: of the folder; it must change with what is in it.
        artifacts: as `group:artifact:version`, or `group:artifact:version:classifier`.
        alone: without what the artifacts depend on.

    Raises:
        NoJarsError: the text says why.
    """
    folder = _ROOT / "build" / "tools" / name
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=folder.parent) as scratch:
            fetched = _fetch_into(Path(scratch), artifacts, alone)
            try:
                fetched.rename(folder)  # several runs may come here at once: one of them wins
            except OSError:
                if not folder.exists():
                    raise
    return folder


def _fetch_into(scratch: Path, artifacts: Sequence[str], alone: bool) -> Path:
    maven = shutil.which("mvn")
    if maven is None:
        raise NoJarsError("there is no mvn on the PATH to fetch them")
    pom = scratch / "pom.xml"
    dependencies = "".join(map(_dependency, artifacts))
    pom.write_text(_POM.format(dependencies=dependencies))
    target = scratch / "jars"
    command = [maven, "-q", "-B", "-f", str(pom), _PLUGIN, f"-DoutputDirectory={target}"]
    command += ["-DincludeScope=runtime", f"-DexcludeTransitive={str(alone).lower()}"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_FETCH_SECONDS, check=False
    )
    if done.returncode:
        said = " ".join(done.stdout.split())[-400:]
        raise NoJarsError(f"Maven could not fetch them: {said}")
    return target


def _dependency(artifact: str) -> str:
    parts = zip(_PARTS, artifact.split(":"), strict=False)
    return "".join(
        ["<dependency>", *(f"<{n}>{value}</{n}>" for n, value in parts), "</dependency>"]
    )
