"""Which worker takes what, in a run of tests that start nothing really."""

import os
import re
import subprocess
import sys
from pathlib import Path

_HOOK = """\
from support.schedule import CORES, FilledScheduling
CORES[:] = [0, 1]  # whatever the machine has
def pytest_xdist_make_scheduler(config, log):
    return FilledScheduling(config, log)
"""
_TESTS = """\
import time
import pytest
pause = lambda: time.sleep(0.1)
@pytest.mark.parametrize("number", range(3))
@pytest.mark.xdist_group("s3-one")
def test_one_server(number): pause()
@pytest.mark.parametrize("number", range(3))
@pytest.mark.xdist_group("s3-two")
def test_another_server(number): pause()
@pytest.mark.parametrize("number", range(40))
def test_nothing(number): pause()
"""


def _workers(folder: Path, worker_count: int) -> dict[str, set[str]]:
    """Return the workers that ran each function."""
    (folder / "conftest.py").write_text(_HOOK, "utf-8")
    (folder / "test_some.py").write_text(_TESTS, "utf-8")
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-v", "--dist=loadgroup"]
    done = subprocess.run(
        [*command, "--no-loadscope-reorder", "-n", str(worker_count), "."],
        cwd=folder,
        env={**own, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    workers: dict[str, set[str]] = {}
    for worker, name in re.findall(r"\[(gw\d+)\].* PASSED test_some\.py::(\w+)", done.stdout):
        workers.setdefault(name, set()).add(worker)
    return workers


def test_a_worker_for_each_core_computes_while_another_waits_for_servers(tmp_path: Path) -> None:
    workers = _workers(tmp_path, 3)
    assert workers["test_one_server"] == workers["test_another_server"] == {"gw0"}
    assert workers["test_nothing"] >= {"gw1", "gw2"}


def test_with_no_worker_more_than_cores_each_takes_what_is_next(tmp_path: Path) -> None:
    workers = _workers(tmp_path, 2)
    assert workers["test_one_server"] | workers["test_another_server"] == {"gw0", "gw1"}
