"""The jobs as processes: by path, by module, by the command; and how they end."""

import subprocess
import sys
from pathlib import Path

import pytest

from seglake.cli.main import COMMANDS

JOBS = Path(__file__).parents[2] / "jobs"
JOB_FILES = {
    "ingest": JOBS / "ingest_segments.py",
    "audit": JOBS / "audit_lake.py",
    "inspect": JOBS / "inspect_segments.py",
    "replay": JOBS / "replay_quarantine.py",
    "retake": JOBS / "retake_partitions.py",
    "maintain": JOBS / "maintain_lake.py",
    "erase": JOBS / "erase_records.py",
    "report": JOBS / "report_lake.py",
    "register": JOBS / "register_lake.py",
    "sql": JOBS / "query_lake.py",
    "schemas": JOBS / "list_schemas.py",
    "deserialize": JOBS / "deserialize_values.py",
    "latest": JOBS / "update_latest.py",
}
OF_A_TERMINAL = {"cat", "completion", "warm-up"}  # nothing of them runs on a cluster


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, check=False, timeout=120
    )


def seglake(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run("-m", "seglake", *arguments)


@pytest.mark.parametrize("command", JOB_FILES)
def test_job_runs_by_path(command: str) -> None:
    answer = run(JOB_FILES[command], "--help")
    assert answer.returncode == 0
    assert answer.stdout.startswith(f"usage: seglake {command} ")
    assert answer.stderr == ""


@pytest.mark.parametrize("command", JOB_FILES)
def test_job_run_by_a_python_without_the_packages_ends_with_2_and_one_line(command: str) -> None:
    answer = run("-I", "-S", JOB_FILES[command], "--help")  # neither site-packages nor PYTHONPATH
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr == (
        "seglake: No module named 'seglake'; use the Python that seglake is installed in\n"
    )


@pytest.mark.parametrize("command", JOB_FILES)
def test_command_gives_the_same_help_as_its_file(command: str) -> None:
    assert seglake(command, "--help").stdout == run(JOB_FILES[command], "--help").stdout


def test_no_job_file_has_a_name_of_the_standard_library() -> None:
    names = {path.stem for path in JOBS.iterdir() if path.stem != "__init__"}
    assert names & sys.stdlib_module_names == set()


def test_every_command_for_a_cluster_has_a_job_file() -> None:
    assert set(JOB_FILES) == {*COMMANDS} - OF_A_TERMINAL
    assert {*JOB_FILES.values()} == {*JOBS.glob("*.py")}


def test_version_is_the_distribution_s() -> None:
    from seglake import __version__

    assert seglake("--version").stdout == f"seglake {__version__}\n"


def test_help_lists_every_command() -> None:
    answer = seglake("--help")
    assert answer.returncode == 0
    width = max(map(len, COMMANDS)) + 2
    for name, command in COMMANDS.items():
        assert f"  {name:<{width}}{command.does}\n" in answer.stdout


@pytest.mark.parametrize("arguments", [[], ["convert"], ["--lake", "x"]])
def test_call_without_a_command_ends_with_2(arguments: list[str]) -> None:
    answer = seglake(*arguments)
    assert answer.returncode == 2
    assert "usage: seglake COMMAND" in answer.stderr
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--set", "read.x=1"], "setting read.x (from --set read.x): there is no such key"),
        (["--config", "none.toml"], "cannot read the settings file none.toml"),
        (["--engine", "local", "--master", "yarn"], "--engine local runs no Spark"),
    ],
)
def test_wrong_settings_end_with_2_and_one_line(arguments: list[str], said: str) -> None:
    answer = seglake("ingest", "--source", "/nowhere", "--lake", "/nowhere", *arguments)
    assert answer.returncode == 2
    assert answer.stdout == ""
    assert len(answer.stderr.splitlines()) == 1
    assert said in answer.stderr


def test_traceback_reaches_a_person_only_with_v() -> None:
    call = ["sql", "--lake", "/nowhere", "SELECT 1", "--set", "read.x=1"]
    assert "Traceback" not in seglake(*call).stderr
    assert "Traceback" in seglake(*call, "-v").stderr


def test_missing_lake_ends_with_2_before_spark_starts(tmp_path: Path) -> None:
    answer = seglake("sql", "--lake", str(tmp_path), "SELECT 1")
    assert answer.returncode == 2
    assert answer.stderr.startswith(f"seglake: {tmp_path} is not a lake: it has no table records")
    assert len(answer.stderr.splitlines()) == 1


def test_unknown_scheme_ends_with_2() -> None:
    answer = seglake("sql", "--lake", "gopher://x/y", "SELECT 1")
    assert answer.returncode == 2
    assert "gopher://x/y" in answer.stderr
