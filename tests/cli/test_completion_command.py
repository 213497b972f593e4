"""Completion in the shells themselves: commands, options, choices and paths."""

import os
import pty
import re
import select
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from seglake.cli import completion_command
from seglake.cli.main import COMMANDS

_BASH = r"""
source seglake.bash
read -r _ _ function _ < <(complete -p seglake | sed 's/.*-F/_ -F/')
COMP_WORDS=({line}) COMP_CWORD=$(({words} - 1))
"$function" seglake "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD - 1]}}"
printf '%s\n' "${{COMPREPLY[@]}}"
"""
_TERMINAL_CODES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[=>])")


def _bash(line: str) -> str:
    words = line.split(" ")
    script = _BASH.format(line=" ".join(f"'{word}'" for word in words), words=len(words))
    return _printed("bash", "--norc", "-c", script)


def _fish(line: str) -> str:
    return _printed("fish", "--no-config", "-c", f"source seglake.fish; complete -C '{line}'")


def _printed(*command: str) -> str:
    environment = {**os.environ, "HOME": str(Path.cwd())}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stderr == ""
    return done.stdout


def _zsh(line: str) -> str:
    """What a person sees: zsh completes on a terminal only."""
    process, terminal = pty.fork()
    if process == 0:
        os.environ |= {"TERM": "xterm", "HOME": str(Path.cwd()), "PS1": "> ", "COLUMNS": "200"}
        os.execvp("zsh", ["zsh", "-f", "-i"])
    try:
        for command in (
            "PS1='> '; LISTMAX=9999; fpath=($PWD/zsh $fpath); autoload -U compinit; compinit -u -D",
            f"echo rea''dy\n{line}\t\t\t",
        ):
            os.write(terminal, command.encode() + (b"\n" if command[-1] != "\t" else b""))
        return _seen(terminal)
    finally:
        os.close(terminal)
        os.waitpid(process, 0)


def _seen(terminal: int) -> str:
    """All that is shown, until nothing more comes."""
    seen, end = b"", time.monotonic() + 30
    while time.monotonic() < end:
        if select.select([terminal], [], [], 2 if b"ready\r\n" in seen else 20)[0]:
            seen += os.read(terminal, 65536)
        elif b"ready\r\n" in seen:
            break
    return _TERMINAL_CODES.sub("", seen.partition(b"ready\r\n")[2].decode(errors="replace"))


_SCRIPTS = {"bash": "seglake.bash", "zsh": "_seglake", "fish": "seglake.fish"}
_SHELLS: dict[str, Callable[[str], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}


@pytest.fixture(params=_SHELLS)
def shell(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[[str], str]:
    """What a shell makes of the start of a line, where the script and two log dirs lie."""
    name: str = request.param
    if shutil.which(name) is None:
        pytest.skip(f"there is no {name}: apt-get install {name} brings it")
    monkeypatch.chdir(tmp_path)
    assert completion_command.main([name]) == 0
    script = Path("zsh" if name == "zsh" else ".", _SCRIPTS[name])
    script.parent.mkdir(exist_ok=True)
    script.write_text(capsys.readouterr().out)
    for folder in ("broker-one", "broker-two"):
        Path(folder).mkdir()
    Path("brokers.toml").touch()
    return _SHELLS[name]


def test_every_command_is_offered(shell: Callable[[str], str]) -> None:
    offered = shell("seglake ")
    assert [name for name in (*COMMANDS, "help", "version") if name not in offered] == []


@pytest.mark.parametrize(
    ("line", "offered", "others"),
    [
        ("seglake inges", ["ingest"], ["inspect"]),
        ("seglake help re", ["replay", "retake"], ["ingest"]),
        ("seglake ingest --up", ["--upper-bound"], ["--lake"]),
        ("seglake ingest --engine ", ["spark", "local"], ["--lake", "broker-one"]),
        ("seglake cat --format ", ["json", "key-value"], ["parquet"]),
        ("seglake cat --isolation read_", ["read_committed", "read_uncommitted"], []),
        ("seglake completion ", ["bash", "zsh", "fish"], []),
        ("seglake cat --source bro", ["broker-one", "broker-two", "brokers.toml"], []),
        ("seglake inspect bro", ["broker-one", "broker-two", "brokers.toml"], []),
        ("seglake audit --lake bro", ["broker-one", "broker-two"], ["brokers.toml"]),
    ],
)
def test_what_may_follow_is_offered(
    shell: Callable[[str], str], line: str, offered: list[str], others: list[str]
) -> None:
    found = shell(line)
    assert [name for name in offered if name not in found] == []
    assert [name for name in others if name in found] == []


def test_other_shells_are_a_wrong_call(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        completion_command.main(["fsh"])
    assert caught.value.code == 2
    assert "did you mean fish" in capsys.readouterr().err
