"""`-q` means one thing everywhere: stderr has errors only, stdout has the summary all the same."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from seglake.cli.main import COMMANDS, main

_ONE_PROCESS = ("--engine", "local", "--set", "limits.local_processes=1")
_LAKE = ("--lake", "{lake}")
_TYPED = ("--topics", "avro_orders")

_CALLS = {
    "ingest": ("--source", "{disk}", "--lake", "{new}", *_ONE_PROCESS),
    "audit": (*_LAKE, "--engine", "local"),
    "inspect": ("{disk}/avro_orders-0",),
    "cat": ("--source", "{disk}", *_TYPED, "--limit", "3"),
    "replay": (*_LAKE, *_ONE_PROCESS),
    "retake": (*_LAKE, "--source", "{disk}", *_ONE_PROCESS),
    "maintain": (*_LAKE, *_ONE_PROCESS),
    "report": (*_LAKE, "--output", "{new}.html"),
    "register": (*_LAKE, "--database", "kafka", "--iceberg", "{new}"),
    "sql": (*_LAKE, "SELECT count(*) FROM records"),
    "schemas": (*_LAKE, "--export", "{new}"),
    "deserialize": (*_LAKE, *_ONE_PROCESS, *_TYPED),
    "erase": (*_LAKE, *_ONE_PROCESS, *_TYPED, "--key", "nobody"),
    "latest": (*_LAKE, *_TYPED),
    "warm-up": (),
}
_WITHOUT_THE_OPTION = {"completion"}  # it prints a script
_SAYS_NOTHING = {"warm-up"}  # it has steps only


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a log dir and a lake of it."""
    folder = tmp_path_factory.mktemp("quiet")
    shutil.copytree("samples/typed", folder / "disk")
    names = "--source", str(folder / "disk"), "--lake", str(folder / "lake")
    assert main(["ingest", *names, *_ONE_PROCESS]) == 0
    return folder


@pytest.fixture
def called(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Runs a command on a copy of the lake; returns its exit code, stdout and stderr."""

    def call(command: str, *options: str) -> tuple[int, str, str]:
        own = tmp_path / str(len([*tmp_path.iterdir()]))
        shutil.copytree(made / "lake", own / "lake")
        places = {"disk": made / "disk", "lake": own / "lake", "new": own / "new"}
        words = [word.format(**places) for word in _CALLS[command]]
        capsys.readouterr()
        code = main([command, *words, *options])
        out, err = capsys.readouterr()
        return code, _steady(out.replace(str(own), "")), err

    return call


def _steady(text: str) -> str:
    """Return a text without times, speeds and ids of runs, and with columns of any width."""
    text = re.sub(r"\d[\d.]*( [KM]iB)?(/s)|\d[\d.]* s\b|[0-9a-f]{32}", "#", text)
    return re.sub(r"[ -]+", " ", text)


def test_each_command_is_called() -> None:
    assert _CALLS.keys() | _WITHOUT_THE_OPTION == COMMANDS.keys()


@pytest.mark.parametrize("command", _CALLS)
def test_quietly_a_command_prints_its_summary_and_nothing_else(
    command: str, called: Callable[..., tuple[int, str, str]]
) -> None:
    code, out, _ = called(command)
    assert bool(out) != (command in _SAYS_NOTHING)
    quiet_code, quiet_out, quiet_err = called(command, "-q")
    assert (quiet_code, quiet_err) == (code, "")
    if command == "audit":
        assert quiet_out.splitlines() == out.splitlines()[: len(quiet_out.splitlines())]
        assert quiet_out
    else:
        assert quiet_out == out
