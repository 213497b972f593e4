"""Follows docs/rescue.md on the disks of a dead cluster: every command and query, in its order."""

import contextlib
import io
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from seglake.cli.main import main

PAGE = Path(__file__).parents[2] / "docs" / "rescue.md"
_STEP = re.compile(
    r"^```bash\n(.*?)^```$|`(seglake [a-z]+ --[^`]+|SELECT [^`]+)`", re.MULTILINE | re.DOTALL
)
_OF_A_CLUSTER = ("kafka-", "spark-submit")  # tests/services has one
_PLACE = re.compile(r"(?<![\w.}])/(rescue|more|removed|data/lake|mnt/share/lake)\b")
_OF_SEGLAKE = ("seglake ", "SELECT ")
_COMMANDS = (*_OF_SEGLAKE, *_OF_A_CLUSTER)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadCluster:
    """The disks of a cluster that died.

    Attributes:
        first, later: log dirs that are there at once, and those that turn up later.
        topic: the one to ask for.
    """

    first: tuple[Path, ...]
    later: tuple[Path, ...]
    topic: str


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command printed, and how it ended."""

    exit_code: int
    printed: str

    @property
    def rows(self) -> list[dict[str, Any]]:  # Any: what JSON can hold
        return [json.loads(line) for line in self.printed.splitlines()]


class Reader:
    """Somebody who has followed the page to its end.

    Attributes:
        folder: has `rescue`, `more`, `data/lake`, its copy and what the commands wrote.
        ran: each step as the page has it, and what came of it.
    """

    def __init__(self, folder: Path, cluster: DeadCluster) -> None:
        self.folder = folder
        self._topic = cluster.topic
        for name, disks in (("rescue", cluster.first), ("more", cluster.later)):
            for number, path in enumerate(disks):
                shutil.copytree(path, folder / name / f"disk{number}")
        self.ran: dict[str, Ran] = {}
        for step in steps():
            if "/mnt/share/lake" in step and not (folder / "mnt").exists():
                shutil.copytree(folder / "data" / "lake", folder / "mnt" / "share" / "lake")
            if "--source /removed" not in step or (folder / "removed").exists():
                self.ran[step] = self._run(step)

    def looks(self) -> list[str]:
        """Return the commands that did not end with exit code 0, each with its code."""
        return [f"{ran.exit_code} {step}" for step, ran in self.ran.items() if ran.exit_code]

    def answer(self, *, of: str) -> list[dict[str, Any]]:
        """Return the rows that the page's first query of a table or view gave."""
        found = next(ran for step, ran in self.ran.items() if f" FROM {of}" in step)
        return found.rows

    def asked(self, query: str) -> list[dict[str, Any]]:
        """Return the rows of another query, after the page's end."""
        return self._run(query).rows

    def _run(self, step: str) -> Ran:
        bound = re.sub(r"\borders\b", self._topic, step)
        if not bound.startswith(_OF_SEGLAKE):
            return self._shell(bound)
        if bound.startswith("SELECT"):
            return self._seglake(["sql", "--lake", "/data/lake", "--json", bound])
        command, _, file = bound.partition(" > ")
        ran = self._seglake(shlex.split(command.partition(" | ")[0])[1:])
        if file:
            (self.folder / file).write_text(ran.printed)
        return ran

    def _shell(self, lines: str) -> Ran:
        bound = _PLACE.sub(rf"{self.folder}/\1", lines)
        done = subprocess.run(
            ["sh", "-ec", bound], cwd=self.folder, capture_output=True, text=True, check=False
        )
        return Ran(done.returncode, done.stdout)

    def _seglake(self, arguments: list[str]) -> Ran:
        bound = [_PLACE.sub(rf"{self.folder}/\1", each) for each in arguments]
        printed = io.BytesIO()
        text = io.TextIOWrapper(printed, "utf-8", write_through=True)
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(text):
            return Ran(main(bound), printed.getvalue().decode())


def steps() -> Iterator[str]:
    """The page's commands and queries but those for a running cluster, in its order.

    Shell lines between them are one step.
    """
    for block, inline in _STEP.findall(PAGE.read_text("utf-8")):
        lines = (block or inline).splitlines()
        for is_shell, group in groupby(lines, lambda line: not line.startswith(_COMMANDS)):
            found = [line for line in group if not line.startswith(_OF_A_CLUSTER)]
            yield from ["\n".join(found)] if is_shell else found
