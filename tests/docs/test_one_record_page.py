"""libs/seglake/one-record.md: commands print what it shows, bytes are right, names exist."""

import contextlib
import io
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import seglake
from seglake.cli.main import main
from support.encoder.varint import varint

_ROOT = Path(__file__).parents[2]
_PAGE = (_ROOT / "libs" / "seglake" / "one-record.md").read_text("utf-8")
_SEGMENT = _ROOT / "samples" / "broker-0" / "v2-none-1" / "00000000000000000117.log"
_BLOCK = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FIXED = re.compile(r"^\| (\d+)(?: to (\d+)|, (\d+))? \| [^|]+ \| (\d+)", re.MULTILINE)
_VARINT = re.compile(r"^\| `([0-9a-f ]+)`[^|]* \| [^|]+ \| (\d+)", re.MULTILINE)
_LENGTH = re.compile(r"`([0-9a-f ]+)`, then (\d+) bytes")
_LOOK = 3


class _Run(NamedTuple):
    command: list[str]
    shown: list[str]
    printed: list[str]


def _shown() -> list[tuple[list[str], list[str]]]:
    """Each command with the lines below it; a block without a command goes on with the last."""
    found: list[tuple[list[str], list[str]]] = []
    for line in "".join(_BLOCK.findall(_PAGE)).splitlines():
        if line.startswith("$ "):
            found.append((shlex.split(line.removeprefix("$ ")), []))
        else:
            found[-1][1].append(line)
    return found


def _printed(command: list[str]) -> list[str]:
    if command[0] != "seglake":
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return done.stdout.splitlines()
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        assert main(command[1:]) == (_LOOK if command[1] == "ingest" else 0)
    text = re.sub(r"attempt [\w-]+", "attempt …", out.buffer.getvalue().decode())
    return text.replace(f"{Path.cwd()}/", "").splitlines()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[_Run]]:
    """All commands of the page, run in a folder that has the sample disk, as a checkout has it."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "samples").symlink_to(_ROOT / "samples")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield [_Run(command, shown, _printed(command)) for command, shown in _shown()]


def test_commands_print_what_the_page_shows(runs: list[_Run]) -> None:
    """Of long outputs the page shows some lines, in their order."""
    assert len(runs) == 12
    for command, shown, printed in runs:
        assert shown
        if command[1] in ("inspect", "ingest", "audit"):
            rest = iter(printed)
            assert [line for line in shown if line not in rest] == []
        else:
            assert shown == printed


def test_fields_of_the_batch_are_read_right() -> None:
    content = _SEGMENT.read_bytes()
    rows = _FIXED.findall(_PAGE)
    assert len(rows) == 8
    for start, to, last, value in rows:
        place = slice(int(start), int(to or last or start) + 1)
        assert (start, int.from_bytes(content[place], "big")) == (start, int(value))


def test_fields_of_the_record_are_read_right() -> None:
    numbers = [*_VARINT.findall(_PAGE), *_LENGTH.findall(_PAGE)]
    expected = {"a2 02": "145", "00": "0", "16": "11", "be 01": "95"}
    assert dict(numbers) == expected
    assert [varint(int(number)).hex(" ") for number in expected.values()] == [*expected]


def test_modules_that_the_page_names_exist() -> None:
    package = Path(seglake.__file__).parent
    named = set(re.findall(r"`([a-z_]+/[a-z_/.]+)`", _PAGE)) - {"libs/seglake"}
    assert len(named) > 20
    assert [name for name in named if not (package / name).exists()] == []
