"""Fetches the JARs of a small Hadoop by Maven, once, and finds them again."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

_VERSION = "3.5.0"
_ROOT = Path(__file__).parents[3]
_FETCH_SECONDS = 600
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_POM = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId><artifactId>hadoop-for-tests</artifactId><version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.hadoop</groupId>
      <artifactId>hadoop-client-minicluster</artifactId>
      <version>{_VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""


def hadoop_jars() -> Path:
    """The folder that has the name node, the data node and their tools, 104 MB; skips without."""
    folder = _ROOT / "build" / "tools" / f"hadoop-{_VERSION}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="hadoop-", dir=folder.parent) as scratch:
            fetched = _fetch_into(Path(scratch))
            try:
                fetched.rename(folder)  # several runs may come here at once: one of them wins
            except OSError:
                if not folder.exists():
                    raise
    return folder


def _fetch_into(scratch: Path) -> Path:
    maven = shutil.which("mvn")
    if maven is None:
        pytest.skip("HDFS needs Hadoop's JARs, and there is no mvn on the PATH to fetch them")
    (scratch / "pom.xml").write_text(_POM)
    target = scratch / "jars"
    pom = str(scratch / "pom.xml")
    command = [maven, "-q", "-B", "-f", pom, _PLUGIN, f"-DoutputDirectory={target}"]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ, timeout=_FETCH_SECONDS
    )
    if done.returncode:
        said = " ".join(done.stdout.split())[-400:]
        pytest.skip(f"HDFS needs Hadoop's JARs, and Maven could not fetch them: {said}")
    return target
