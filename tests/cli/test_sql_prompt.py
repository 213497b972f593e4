"""The prompt of `seglake sql`, as a person has it: in a terminal."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.terminal import Terminal
from support.written_lake import write_lake

_LONG = "SELECT count(*) FROM range(9000000) a JOIN range(9000000) b ON a.range < b.range;"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("prompt") / "lake"
    write_lake(path)
    return path


@pytest.fixture
def terminal(lake: Path, tmp_path: Path) -> Iterator[Terminal]:
    command = [sys.executable, "-m", "seglake", "sql", "--lake", str(lake)]
    opened = Terminal(command, {"TERM": "dumb", "XDG_STATE_HOME": str(tmp_path)})
    opened.shows("seglake> ")
    yield opened
    opened.close()


def test_statements_are_answered_until_the_person_leaves(
    terminal: Terminal, tmp_path: Path
) -> None:
    terminal.types("SELECT count(*) AS n\n")
    terminal.shows("    ...> ")
    terminal.types("FROM records;\n")
    assert "| 3 |" in terminal.shows("seglake> ")
    terminal.types("SELECT * FROM recrods; SELECT 1;\n")
    assert "did you mean records?" in terminal.shows("seglake> ")
    terminal.types("DROP TABLE records;\n")
    assert "only reads, and does not run DROP" in terminal.shows("seglake> ")
    terminal.types("exit\n")
    assert terminal.ends() == 0
    history = tmp_path / "seglake" / "sql_history"
    assert "FROM records;\n" in history.read_text("utf-8")
    assert history.stat().st_mode & 0o77 == 0


def test_ctrl_c_stops_a_statement_and_ctrl_d_leaves(terminal: Terminal) -> None:
    terminal.types("SELECT 'half\n")
    terminal.shows("    ...> ")
    terminal.interrupts("seglake> ")
    terminal.types(f"{_LONG}\n")
    terminal.shows("b.range;")
    time.sleep(1)
    terminal.interrupts("seglake: interrupted")
    terminal.types("SELECT 40 + 2 AS n;\n")
    terminal.shows("| 42 |")
    terminal.shows("seglake> ")
    terminal.types("\x04")
    assert terminal.ends() == 0


def test_tab_completes_names(terminal: Terminal) -> None:
    terminal.types("SELECT count(*) AS n FROM last_off\t;\n")
    terminal.shows("| 6 |")
