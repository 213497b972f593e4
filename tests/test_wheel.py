"""The wheel alone is enough to ingest a disk and to hand over the lake."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the wheel installs, and nothing of the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=_ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


def _printed(site: Path, *command: str, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-P", *command],
        cwd=site.parent,
        # Compiling the wheel's kernels takes longer than running a few of them as they are.
        env={**os.environ, "PYTHONPATH": str(site), "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout


def test_wheel_has_the_job_files_and_says_where(site: Path) -> None:
    folder = Path(_printed(site, "-m", "seglake.environment.job_files").strip())
    assert folder == site / "seglake" / "jobs"
    assert {file.name for file in folder.iterdir()} == {
        file.name for file in (_ROOT / "jobs").glob("*.py")
    }
    assert "usage: seglake audit" in _printed(site, str(folder / "audit_lake.py"), "--help")


def test_wheel_prints_the_sql_for_other_engines(site: Path, tmp_path: Path) -> None:
    source, lake = str(_ROOT / "samples" / "broker-0"), str(tmp_path / "lake")
    call = ("-m", "seglake", "ingest", "--engine", "local", "-q", "--source", source)
    _printed(site, *call, "--lake", lake, "--set", "limits.local_processes=1", code=3)
    for dialect, word in (
        ("duckdb", "delta_scan"),
        ("duckdb-files", "read_parquet"),
        ("spark", "USING delta"),
    ):
        given = ("-m", "seglake", "register", "--lake", lake, "--print", dialect)
        assert word in _printed(site, *given)
