"""What is at the other end of a standard stream ends no run, and changes no exit code."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.lakes import read_table
from support.made_logs import make_log_dir

_PRINTS = (
    "from seglake.cli.outcome import exit_with, run_job\n"
    "from seglake.cli.streams import write_out\n"
    "def job():\n"
    "    write_out({text})\n"
    "    return 3\n"
    "exit_with(lambda argv: run_job(job, verbose=False, writes=True))\n"
)


def _program(text: str) -> list[str]:
    return [sys.executable, "-c", _PRINTS.format(text=text)]


def _unheard() -> int:
    """The end of a pipe whose reader has gone."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def test_reader_that_has_gone_does_not_change_the_exit_code() -> None:
    done = subprocess.run(
        _program("'x' * 1_000_000"), stdout=_unheard(), stderr=subprocess.PIPE, check=False
    )
    assert (done.returncode, done.stderr) == (3, b"")


@pytest.mark.parametrize("text", ["'x'", "'x' * 1_000_000"], ids=["a little", "much"])
def test_a_full_disk_behind_stdout_is_said_in_one_line(text: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            _program(text), stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    said = "seglake: cannot write to standard output: No space left on device\n"
    assert done.stderr == said


@pytest.mark.parametrize("command", [("help",), ("cat", "--source", "{disk}")], ids=" ".join)
def test_a_full_disk_is_said_by_what_prints_as_it_goes(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    disk = str(make_log_dir(tmp_path / "disk", {("orders", 0): [0, 20]}))
    words = [sys.executable, "-m", "seglake", *(word.format(disk=disk) for word in command)]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            words, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=buffered
        )
    assert done.returncode == 1
    assert done.stderr == "seglake: cannot write to standard output: No space left on device\n"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_lead_nowhere_and_are_not_taken_by_other_files(closed: str) -> None:
    opens = "str(__import__('os').open('/dev/null', 0) > 2)"
    child = "str(__import__('subprocess').run(['sh', '-c', ': >&1 2>&2 <&0']).returncode)"
    command = ["bash", "-c", f'"$@" {closed}', "bash", *_program(f"{opens} + {child}")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    heard = "" if ">&-" in closed.replace("2>&-", "") else "True0"
    assert (done.returncode, done.stdout, done.stderr) == (3, heard, "")


def test_what_an_encoding_lacks_is_escaped() -> None:
    done = subprocess.run(
        _program("'a\\u00fc\\udcff'"),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "a\\xfc\\udcff", "")


@pytest.mark.parametrize("option", [("-v",), ("--log-format", "json")], ids=" ".join)
def test_a_run_goes_on_when_nobody_reads_its_progress(
    option: tuple[str, ...], tmp_path: Path
) -> None:
    disk = make_log_dir(tmp_path / "disk", {("orders", 0): [0, 20]})
    lake, metrics = tmp_path / "lake", tmp_path / "run.prom"
    places = ["--source", disk, "--lake", lake, "--metrics", metrics]
    command = [sys.executable, "-m", "seglake", "ingest", "--engine", "local", *option]
    command += map(str, places)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=_unheard(), check=False)
    assert done.returncode == 0
    assert len(read_table(lake, "records")) == 20
    assert "seglake_last_run_records" in metrics.read_text("utf-8")


def test_statements_that_are_not_utf_8_are_a_wrong_call(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "seglake", "sql", "--lake", tmp_path],
        input=b"SELECT '\xff'",
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert done.returncode == 2
    assert done.stderr == b"seglake: cannot read standard input: it is not UTF-8\n"


def test_a_lake_whose_name_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    disk = make_log_dir(tmp_path / "disk", {("orders", 0): [0, 20]})
    command = [sys.executable, "-m", "seglake", "ingest", "--source", str(disk), "--engine"]
    lake = os.fsencode(tmp_path) + b"/l\xff"
    metrics = ("--metrics", str(tmp_path / "run.prom"))
    done = subprocess.run(
        [*command, "local", "--lake", lake, *metrics], capture_output=True, check=False
    )
    assert done.returncode == 2
    assert b"its name is not UTF-8" in done.stderr
    assert len(done.stderr.splitlines()) == 1
