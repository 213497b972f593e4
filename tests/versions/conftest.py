"""The table of what ran, for docs/versions.md: `make test-versions DOCS=yes` writes it there."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from support.other_versions import ROOT, said

_PAGE = ROOT / "docs" / "versions.md"
_COLUMNS = "| Spark | what | Python | Java | works | on | command |\n| --- " + "| --- " * 6 + "|\n"
_VERSIONS = f"""
import os, platform, subprocess, sys
sys.path.insert(0, {str(ROOT / "libs")!r})
from seglake.environment.java_home import find_java
java = subprocess.run([find_java(os.environ), "-version"], capture_output=True, text=True)
print(platform.python_version(), java.stderr.split(chr(34))[1], sep=" | ")
"""


class Ran:
    """What was run, one row of the table each, by Spark and what was tried."""

    def __init__(self) -> None:
        self.rows: dict[str, str] = {}

    def add(self, python: Path, spark: str, what: str, command: str) -> None:
        """Note that something works with an environment."""
        day = datetime.now(tz=UTC).date().isoformat()
        cells = f"{said(python, '-c', _VERSIONS)} | yes | {day} | `{command}` |"
        self.rows[f"| {spark} | {what} |"] = cells


@pytest.fixture(scope="session")
def ran() -> Iterator[Ran]:
    table = Ran()
    yield table
    if os.environ.get("DOCS") != "yes":
        return
    before, _, earlier = _PAGE.read_text("utf-8").partition(_COLUMNS)
    known = {}
    for line in earlier.splitlines():
        spark, what, *cells = line.strip("| ").split(" | ")
        known[f"| {spark} | {what} |"] = " | ".join(cells) + " |"
    rows = sorted((known | table.rows).items())
    text = "".join(f"{name} {cells}\n" for name, cells in rows)
    _PAGE.write_text(f"{before}{_COLUMNS}{text}", "utf-8")
