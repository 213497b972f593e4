"""How a job ends decides the exit code, and what a person reads."""

import os
import subprocess
import sys
from types import ModuleType

import pytest

from seglake.cli import audit_command, ingest_command, inspect_command, replay_command, sql_command
from seglake.cli.outcome import run_job
from seglake.errors import ExitCode, SeglakeError, WrongCallError
from seglake.ingest_steps.planning.isolation import IsolationConflictError
from seglake.lake.errors import LakeRefusedError, NotALakeError, UnsafeStoreError
from seglake.log_dirs.errors import WrongSourceError
from seglake.pipelines.lake_query.errors import QueryFailedError, WrongQueryError
from seglake.settings.values import SettingsError
from seglake.storage.errors import (
    NotFoundError,
    RefusedError,
    StoreSilentError,
    UnsupportedUriError,
)


def raising(error: BaseException) -> int:
    raise error


@pytest.mark.parametrize("code", [0, 1, 3])
def test_code_of_the_job_is_the_code(code: int) -> None:
    assert run_job(lambda: code, verbose=False, writes=True) == code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (WrongCallError("x"), 2),
        (SettingsError("a.b", "x"), 2),
        (UnsupportedUriError(uri="x", schemes=["y"]), 2),
        (NotALakeError(path="x", reason="y"), 2),
        (LakeRefusedError(path="x", reason="y"), 2),
        (UnsafeStoreError(path="x"), 2),
        (WrongQueryError("x"), 2),
        (WrongSourceError("x"), 2),
        (IsolationConflictError(topic="t", known="a", asked="b"), 2),
        (SeglakeError("x"), 1),
        (NotFoundError(action="open", path="x"), 1),
        (RefusedError(action="write", path="x", reason="y"), 1),
        (StoreSilentError(action="open", path="x", reason="y"), 1),
        (QueryFailedError("x"), 1),
        (PermissionError("x"), 1),
        (MemoryError(), 1),
        (KeyboardInterrupt(), 130),
    ],
)
def test_error_becomes_its_code_and_one_paragraph(
    error: BaseException, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_job(lambda: raising(error), verbose=False, writes=True) == code
    said = capsys.readouterr().err
    assert said.startswith("seglake: ")
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    ("job", "called", "arguments", "writes"),
    [
        (ingest_command, "_ingest", ["--source", "x", "--lake", "y"], True),
        (replay_command, "_replay", ["--lake", "y"], True),
        (audit_command, "_audit", ["--lake", "y"], False),
        (inspect_command, "_inspect", ["x"], False),
        (sql_command, "_query", ["--lake", "y", "SELECT 1"], False),
    ],
)
def test_only_what_writes_speaks_of_commits_when_it_is_interrupted(
    job: ModuleType,
    called: str,
    arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    writes: bool,
) -> None:
    monkeypatch.setattr(job, called, lambda *given: raising(KeyboardInterrupt()))
    assert job.main(arguments) == 130
    said = capsys.readouterr().err
    assert said.startswith("seglake: interrupted")
    assert ("committed" in said) is writes


def test_codes_are_the_documented_ones() -> None:
    assert {code.name: int(code) for code in ExitCode} == {
        "DONE": 0,
        "FAILED": 1,
        "WRONG_CALL": 2,
        "LOOK": 3,
        "INTERRUPTED": 130,
    }


def test_fault_of_ours_passes_through() -> None:
    with pytest.raises(ZeroDivisionError):
        run_job(lambda: 1 // 0, verbose=False, writes=True)


def _ran(program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("option", "shown"), [([], False), (["-v"], True)])
def test_fault_of_ours_ends_the_process_with_1(option: list[str], *, shown: bool) -> None:
    program = "from seglake.cli.outcome import exit_with; exit_with(lambda argv: 1 // 0)"
    answer = _ran(program, *option)
    assert answer.returncode == 1
    assert "a fault in seglake itself (ZeroDivisionError" in answer.stderr
    assert ("Traceback" in answer.stderr) is shown


def test_what_still_runs_when_a_job_is_done_does_not_change_its_code() -> None:
    program = (
        "import atexit, os\n"
        "from seglake.cli.outcome import exit_with\n"
        "atexit.register(os.abort)\n"
        "exit_with(lambda argv: print('done') or 3)\n"
    )
    answer = _ran(program)
    assert (answer.returncode, answer.stdout) == (3, "done\n")


def test_reader_that_goes_away_is_no_failure() -> None:
    program = (
        "from seglake.cli.outcome import exit_with, run_job\n"
        "def job():\n"
        "    for _ in range(100_000): print('x' * 100)\n"
        "    return 0\n"
        "exit_with(lambda argv: run_job(job, verbose=False, writes=True))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        if process.stdout is None or process.stderr is None:
            raise RuntimeError("no pipes")
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode == 0
    assert said == b""


def test_reader_that_does_not_wait_for_the_help_is_no_failure() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        answer = subprocess.run(
            [sys.executable, "-m", "seglake", "ingest", "--help"],
            env=os.environ | {"PYTHONUNBUFFERED": ""},  # what is buffered comes at the end
            stdout=gone,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (answer.returncode, answer.stderr) == (0, b"")


def test_interrupt_before_the_job_begins_is_no_fault_of_ours() -> None:
    program = (
        "from seglake.cli.outcome import exit_with\n"
        "def main(argv): raise KeyboardInterrupt\n"
        "exit_with(main)\n"
    )
    answer = _ran(program)
    assert (answer.returncode, answer.stderr) == (130, "seglake: interrupted\n")


def test_reader_that_goes_away_does_not_hide_how_the_job_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = (
        "from seglake.cli.outcome import exit_with, run_job\n"
        "exit_with(lambda argv: run_job(lambda: print('x') or 3, verbose=False, writes=True))\n"
    )
    reading, writing = os.pipe()
    os.close(reading)
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    with os.fdopen(writing, "wb") as gone:
        answer = subprocess.run([sys.executable, "-c", program], stdout=gone, check=False)
    assert answer.returncode == 3
