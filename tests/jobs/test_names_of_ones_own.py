"""A user's own folders `jobs`, `lake`, `settings` and so on are in nobody's way."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_SAMPLE = ROOT / "samples" / "broker-0"
_NAMES = ("jobs", "pipelines", "lake", "storage", "settings", "segment_codec", "libs", "cli")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """One whose PYTHONPATH has packages that cannot be imported."""
    for name in _NAMES:
        package = tmp_path / "mine" / name
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("raise RuntimeError('the wrong one was imported')\n")
    path = [str(tmp_path / "mine"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))}


def _done(environment: dict[str, str], *command: str | Path, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (code, "")
    return done.stdout


def test_commands_job_files_and_worker_processes_find_seglake(
    environment: dict[str, str], tmp_path: Path
) -> None:
    assert _done(environment, "-m", "seglake", "--version").startswith("seglake ")
    assert "usage: seglake audit" in _done(environment, ROOT / "jobs" / "audit_lake.py", "--help")
    call = ("ingest", "--source", str(_SAMPLE), "--lake", str(tmp_path / "lake"))
    several = ("--engine", "local", "--set", "limits.local_processes=2")
    small = ("--set", "read.split_bytes=65536", "--set", "read.window_bytes=65536")
    told = _done(environment, "-m", "seglake", *call, *several, *small, code=3)
    assert told.startswith("2070 records in ")


def test_dags_find_what_is_theirs(environment: dict[str, str]) -> None:
    dags = str(ROOT / "airflow_dags")
    path = os.pathsep.join([environment["PYTHONPATH"], dags])
    program = "import seglake_arguments, seglake_lakes, seglake_outcome"
    _done({**environment, "PYTHONPATH": path}, "-c", program)


@pytest.mark.own_spark
def test_spark_s_workers_find_seglake(environment: dict[str, str], tmp_path: Path) -> None:
    call = ("ingest", "--source", str(_SAMPLE), "--lake", str(tmp_path / "lake"))
    assert _done(environment, "-m", "seglake", *call, code=3).startswith("2070 records in ")
