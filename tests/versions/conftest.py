"""The table of what ran, for results.md: `make test-versions DOCS=yes` writes it there."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from support.other_versions import ROOT, said

_PAGE = Path(__file__).with_name("results.md")
_HEAD = ("Spark", "Scala", "Delta", "Hadoop", "Python", "Java", "Airflow", "what")
_RESULT = ("works", "on", "command")
_NAMES = (*_HEAD, *_RESULT)
_COLUMNS = f"| {' | '.join(_NAMES)} |\n|{' --- |' * len(_NAMES)}\n"
_VERSIONS = f"""
import os, platform, subprocess, sys
sys.path.insert(0, {str(ROOT / "libs")!r})
from seglake.environment.delta_jars import jars_of
from seglake.environment.java_home import find_java
from seglake.environment.spark_home import hadoop_version, spark_build, spark_home
build = spark_build(spark_home())
scala = sys.argv[1] or build.scala
delta = [jar.name for jar in jars_of(build.release, scala)]
release = delta[0].removesuffix(".jar").rpartition("-")[2] if delta else "none"
java = subprocess.run([find_java(os.environ), "-version"], capture_output=True, text=True)
spark = build.version, scala, release, hadoop_version(spark_home()) or ""
print(*spark, platform.python_version(), java.stderr.split(chr(34))[1], sep=" | ")
"""


class Ran:
    """What was run, a row of the table each, by the versions and what was tried."""

    def __init__(self) -> None:
        self.rows: dict[str, str] = {}

    def add(
        self,
        python: Path,
        what: str,
        command: str,
        *,
        airflow: str = "",
        scala: str = "",
        works: bool = True,
    ) -> None:
        """Note that something works with the Spark of an environment, or does not.

        Args:
            python: of the environment.
            what: what was tried.
            command: shows it.
            airflow: version of the Airflow that called it.
            scala: if it is not that of the environment's Spark.
            works: whether it did.
        """
        versions = said(python, "-c", _VERSIONS, scala)
        self._add(f"{versions} | {airflow}", what, command, works=works)

    def add_airflow(self, python: Path, airflow: str, what: str, command: str) -> None:
        """Note that something works with an Airflow, without any Spark."""
        version = said(python, "-c", "import platform; print(platform.python_version())")
        self._add(f"| | | | {version} | | {airflow}", what, command, works=True)

    def _add(self, versions: str, what: str, command: str, *, works: bool) -> None:
        day = datetime.now(tz=UTC).date().isoformat()
        head = f"| {versions} | {what} |".replace("|  |", "| |")
        self.rows[head] = f"{'yes' if works else 'no'} | {day} | `{command}` |"


@pytest.fixture(scope="session")
def ran() -> Iterator[Ran]:
    table = Ran()
    yield table
    if os.environ.get("DOCS") != "yes":
        return
    before, _, earlier = _PAGE.read_text("utf-8").partition(_COLUMNS)
    known = {}
    for line in earlier.splitlines():
        parts = line.strip("|").split("|")
        known[f"|{'|'.join(parts[: len(_HEAD)])}|"] = f"{'|'.join(parts[len(_HEAD) :]).strip()} |"
    rows = sorted((known | table.rows).items())
    text = "".join(f"{head} {cells}\n" for head, cells in rows)
    _PAGE.write_text(f"{before}{_COLUMNS}{text}", "utf-8")
