"""What README and other pages show of runs is what runs print."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from seglake.cli.main import main

_ROOT = Path(__file__).parents[2]
_MEASURED = re.compile(r"[\d.]+ (KiB|s)\b")  # sizes and times, which differ a little


def _likened(line: str) -> str:
    """Up to where README cuts it, without what was measured."""
    return _MEASURED.sub("0", line.removesuffix(" ..."))


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "samples").symlink_to(_ROOT / "samples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _shown_runs(page: str, heading: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each command below a heading with the lines below it; a quoted text may go on."""
    section = (_ROOT / page).read_text("utf-8").partition(f"\n{heading}\n")[2].partition("\n#")[0]
    for block in section.split("```")[1::2]:
        for run in block.split("\n$ ")[1:]:
            command, *shown = run.splitlines()
            while command.count('"') % 2:
                command += f"\n{shown.pop(0)}"
            yield command, [line for line in shown if line]


@pytest.mark.usefixtures("checkout")
@pytest.mark.parametrize(
    ("page", "heading", "codes"),
    [
        ("README.md", "## Try it", (0, 0, 0)),
        ("samples/README.md", "### What a run prints", (3, 0)),
    ],
)
def test_runs_print_what_the_page_shows(
    page: str, heading: str, codes: tuple[int, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    for (command, shown), code in zip(_shown_runs(page, heading), codes, strict=True):
        assert main(shlex.split(command)[1:]) == code
        printed = [_likened(line) for line in capsys.readouterr().out.splitlines()]
        expected = [_likened(line) for line in shown]
        lengths = map(len, expected)  # a page cuts lines, and leaves none out
        assert [said[:length] for said, length in zip(printed, lengths, strict=True)] == expected


def test_audit_prints_what_its_page_shows(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page shortens the lake's path, and leaves lines out."""
    page = (_ROOT / "docs" / "audit.md").read_text("utf-8")
    common = ["--source", "samples/broker-0", "--lake", "build/demo", "--engine", "local"]
    assert main(["ingest", *common]) == 3
    capsys.readouterr()
    assert main(["audit", *common]) == 0
    printed = capsys.readouterr().out.replace(f"{checkout}/", "").splitlines()
    shown = page.partition("```\n")[2].partition("```")[0].splitlines()
    assert [line for line in shown if line not in printed] == []


@pytest.mark.usefixtures("checkout")
def test_cat_prints_what_its_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    page = (_ROOT / "docs" / "cat.md").read_text("utf-8")
    runs, *others = page.split("```")[1::2]
    (damage,) = (block for block in others if block.startswith("\nseglake: "))
    for command, *shown in (run.splitlines() for run in runs.strip().split("$ ")[1:]):
        assert main(shlex.split(command)[1:]) == 0
        assert capsys.readouterr().out.splitlines() == [*filter(None, shown)]
    assert main(shlex.split("cat --source samples/broker-0 --topics v2-zstd")) == 3
    assert capsys.readouterr().err == damage.removeprefix("\n")


def test_debug_log_has_the_lines_of_its_page(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page shortens the source's path, and the id of the attempt."""
    page = (_ROOT / "docs" / "operations.md").read_text("utf-8").partition("\n## Debug log\n")[2]
    lake = ["--source", "samples/broker-0", "--lake", "build/try", "--engine", "local"]
    assert main(["ingest", *lake, "-vv"]) == 3
    printed = capsys.readouterr().err.replace(f"{checkout}/", "")
    printed = re.sub(r"attempt (\w{4})[\w-]*", "attempt …", printed)
    shown = re.sub(r"attempt (\w{4})…", "attempt …", page.split("```")[1]).split("\n")[1:-1]
    assert shown
    assert [line for line in shown if line not in printed.splitlines()] == []
