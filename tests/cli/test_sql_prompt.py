"""The prompt of `seglake sql`, as a person has it: in a terminal."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.written_lake import write_lake

_PATIENCE_S = 60
_LONG = "SELECT count(*) FROM range(9000000) a JOIN range(9000000) b ON a.range < b.range;"


class _Terminal:
    """A command in a terminal of its own."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self._main, other = pty.openpty()
        self.process = subprocess.Popen(
            command,
            env={**os.environ, "TERM": "dumb", **environment},
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
            preexec_fn=lambda: _be_in(other),
        )
        os.close(other)
        self.seen = ""

    def types(self, text: str) -> None:
        os.write(self._main, text.encode())

    def shows(self, text: str) -> str:
        """What came until the text did, with it."""
        deadline = time.monotonic() + _PATIENCE_S
        while text not in self.seen:
            if not select.select([self._main], [], [], deadline - time.monotonic())[0]:
                raise AssertionError(f"no {text!r} in {self.seen!r}")
            self.seen += os.read(self._main, 4096).decode().replace("\r\n", "\n")
        before, found, self.seen = self.seen.partition(text)
        return before + found

    def ends(self) -> int:
        return self.process.wait(_PATIENCE_S)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._main)


def _be_in(terminal: int) -> None:
    import fcntl
    import termios

    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("prompt") / "lake"
    write_lake(path)
    return path


@pytest.fixture
def terminal(lake: Path, tmp_path: Path) -> Iterator[_Terminal]:
    command = [sys.executable, "-m", "seglake", "sql", "--lake", str(lake)]
    opened = _Terminal(command, {"XDG_STATE_HOME": str(tmp_path)})
    opened.shows("seglake> ")
    yield opened
    opened.close()


def test_statements_are_answered_until_the_person_leaves(
    terminal: _Terminal, tmp_path: Path
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


def test_ctrl_c_stops_a_statement_and_ctrl_d_leaves(terminal: _Terminal) -> None:
    terminal.types("SELECT 'half\n")
    terminal.shows("    ...> ")
    terminal.types("\x03")
    terminal.shows("seglake> ")
    terminal.types(f"{_LONG}\n")
    terminal.shows("b.range;")
    time.sleep(1)
    terminal.types("\x03")
    terminal.shows("seglake: interrupted")
    terminal.types("SELECT 40 + 2 AS n;\n")
    terminal.shows("| 42 |")
    terminal.shows("seglake> ")
    terminal.types("\x04")
    assert terminal.ends() == 0


def test_tab_completes_names(terminal: _Terminal) -> None:
    terminal.types("SELECT count(*) AS n FROM last_off\t;\n")
    terminal.shows("| 6 |")
