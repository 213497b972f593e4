"""What workers are forked from: what it has imported, when it starts, where it cannot."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.programs import said


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")
def test_workers_find_imported_what_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "slow_to_import.py").write_text("")
    program = tmp_path / "program.py"
    program.write_text(PRELOADING)
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, str(program)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [True, True]


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")
def test_workers_are_forked_from_a_process_without_threads_of_numpy(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(FORKING.format(folder=str(Path(__file__).parents[1]), word=LINEAR_ALGEBRA))
    environment = {name: os.environ[name] for name in os.environ if name != LINEAR_ALGEBRA}
    command = [sys.executable, str(program)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [["1", "1"], None]


def test_workers_come_where_the_folder_for_temporary_files_can_hold_no_socket(
    tmp_path: Path,
) -> None:
    deep = tmp_path / ("deep" * 30)
    deep.mkdir()
    program = tmp_path / "program.py"
    program.write_text(PRELOADING)
    command = [sys.executable, str(program)]
    environment = {**os.environ, "TMPDIR": str(deep)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [False, False]


PRELOADING = """
import json, sys
from seglake.task_engine.engine import LocalEngine

def is_imported(name):
    return name in sys.modules

if __name__ == "__main__":
    with LocalEngine(2, preloaded=["slow_to_import"]) as engine:
        print(json.dumps(engine.run(is_imported, ["slow_to_import"] * 2, on_done=str)))
"""

LINEAR_ALGEBRA = "OPENBLAS_NUM_THREADS"
FORKING = """
import json, os, sys
sys.path.insert(0, {folder!r})
from support import lake_tasks
from seglake.task_engine.engine import LocalEngine

if __name__ == "__main__":
    with LocalEngine(2) as engine:
        found = engine.run(lake_tasks.parents_word, [{word!r}] * 2, on_done=str)
        print(json.dumps([found, os.environ.get({word!r})]))
"""


EARLY = """
import sys, time
from pathlib import Path
from seglake.task_engine.engine import LocalEngine

def is_imported(task):
    return "slow_to_import" in sys.modules

if __name__ == "__main__":
    with LocalEngine(2, preloaded=["slow_to_import"]) as engine:
        engine.start()
        sign = Path(__file__).with_name("imported")
        has_waited = sign.exists()
        deadline = time.monotonic() + 8
        while not sign.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        has_come = sign.exists()
        print(has_waited, has_come, engine.run(is_imported, [0, 1], on_done=lambda count: None))
"""


def test_an_early_start_does_not_wait_for_what_workers_are_forked_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign = tmp_path / "imported"
    slow = f"import time, pathlib\ntime.sleep(1)\npathlib.Path({str(sign)!r}).touch()\n"
    (tmp_path / "slow_to_import.py").write_text(slow)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    assert said(EARLY, tmp_path) == ("False True [True, True]\n", "")
