import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from seglake.storage.errors import OutputError
from seglake.task_engine.engine import LocalEngine
from seglake.task_engine.errors import EngineError
from support import lake_tasks
from support.programs import last_words, said


def ignore(count: int) -> None:
    """Take no notice of progress."""


def test_results_come_in_the_order_of_the_tasks() -> None:
    with LocalEngine(2) as engine:
        assert engine.run(lake_tasks.slow_square, range(5), on_done=ignore) == [0, 1, 4, 9, 16]


def test_progress_counts_up_in_the_callers_thread() -> None:
    counts: list[int] = []
    threads: set[int] = set()

    def on_done(count: int) -> None:
        counts.append(count)
        threads.add(threading.get_ident())

    with LocalEngine(2) as engine:
        engine.run(lake_tasks.slow_square, range(4), on_done=on_done)
        engine.run(lake_tasks.slow_square, [7], on_done=on_done)
    assert counts == [1, 2, 3, 4, 1]
    assert threads == {threading.get_ident()}


def test_no_tasks_give_no_results() -> None:
    with LocalEngine(2) as engine:
        assert engine.run(lake_tasks.slow_square, [], on_done=ignore) == []


def test_single_task_runs_in_the_callers_process() -> None:
    with LocalEngine(2) as engine:
        assert engine.run(lake_tasks.pid_after, [0.0], on_done=ignore) == [os.getpid()]


def test_several_tasks_run_in_several_other_processes() -> None:
    with LocalEngine(2) as engine:
        engine.start()
        pids = engine.run(lake_tasks.pid_after, [0.5] * 4, on_done=ignore)
    assert os.getpid() not in pids
    assert len(set(pids)) == 2


def test_there_are_no_more_workers_than_tasks() -> None:
    with LocalEngine(8) as engine:
        engine.start()
        assert len(set(engine.run(lake_tasks.pid_after, [0.5] * 2, on_done=ignore))) == 2
        assert len(multiprocessing.active_children()) == 2
        engine.run(lake_tasks.pid_after, [0.5] * 3, on_done=ignore)
        assert len(multiprocessing.active_children()) == 3
        engine.run(lake_tasks.pid_after, [0.0] * 2, on_done=ignore)
        assert len(multiprocessing.active_children()) == 3


def test_one_process_means_the_callers_own() -> None:
    with LocalEngine(1) as engine:
        engine.start()
        assert set(engine.run(lake_tasks.pid_after, [0.0] * 3, on_done=ignore)) == {os.getpid()}


@pytest.mark.parametrize("tasks", [[2], [1, 2, 3]], ids=["own process", "workers"])
def test_failure_names_the_task_and_carries_the_cause(tasks: list[int]) -> None:
    with LocalEngine(2) as engine, pytest.raises(EngineError) as caught:
        engine.run(lake_tasks.refuse_because, tasks, on_done=ignore)
    assert f"task {tasks.index(2)} failed on the local engine" in str(caught.value)
    assert caught.value.reason == "RuntimeError: task gave up"
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_error_of_the_lake_comes_back_from_a_worker_with_its_text() -> None:
    with LocalEngine(2) as engine, pytest.raises(EngineError) as caught:
        engine.run(lake_tasks.fail_for_the_disk, [1, 2], on_done=ignore)
    assert caught.value.reason.startswith("cannot write /lake/")
    assert isinstance(caught.value.__cause__, OutputError)
    assert caught.value.__cause__.reason == "No space left on device"


def test_engine_runs_again_after_a_failure() -> None:
    with LocalEngine(2) as engine:
        with pytest.raises(EngineError):
            engine.run(lake_tasks.refuse, [1, 2, 3], on_done=ignore)
        assert engine.run(lake_tasks.refuse, [4, 5], on_done=ignore) == [4, 5]


def test_failure_ends_the_other_tasks(tmp_path: Path) -> None:
    path = tmp_path / "pid"
    tasks = [(str(path), True), (str(path), False)]
    with LocalEngine(2) as engine, pytest.raises(EngineError, match="first failure"):
        engine.run(lake_tasks.fail_beside_another, tasks, on_done=ignore)
    wait_until_ended([int(path.read_text())])


def test_dead_worker_is_an_engine_error() -> None:
    with LocalEngine(2) as engine:
        with pytest.raises(EngineError, match="a worker process ended before its task did"):
            engine.run(lake_tasks.die, [1, 2, 3], on_done=ignore)
        assert engine.run(lake_tasks.refuse, [4, 5], on_done=ignore) == [4, 5]


def test_workers_have_the_environment_of_the_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("one", "two"):
        monkeypatch.setenv("SEGLAKE_TEST_WORD", value)
        with LocalEngine(2) as engine:
            found = engine.run(os.getenv, ["SEGLAKE_TEST_WORD"] * 2, on_done=ignore)
        assert found == [value] * 2


PROGRAM = """
import sys
from multiprocessing import active_children
sys.path.insert(0, {folder!r})
from support import lake_tasks
from support.programs import last_words, said
from seglake.task_engine.engine import LocalEngine

if __name__ == "__main__":
    with LocalEngine(2) as engine:
        engine.run(lake_tasks.pid_after, [0.0, 0.0], on_done=lambda count: None)
        print([child.pid for child in active_children()], flush=True)
        engine.run(lake_tasks.pid_after, [60.0, 60.0], on_done=lambda count: None)
"""


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_the_driver(tmp_path: Path, sent: signal.Signals) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(folder=str(Path(__file__).parents[1])))
    with subprocess.Popen(
        [sys.executable, str(program)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as driver:
        if driver.stdout is None:
            raise ValueError("the driver's output is a pipe")
        workers = json.loads(driver.stdout.readline())
        driver.send_signal(sent)
        driver.wait(10)
        wait_until_ended(workers)


INTERRUPTING = """
import signal, sys, threading, time
sys.path.insert(0, {folder!r})
from support import lake_tasks
from support.programs import last_words, said
from seglake.task_engine.engine import LocalEngine

def take_the_signal():
    time.sleep(0.3)  # until the other thread waits for its tasks
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)

if __name__ == "__main__":
    with LocalEngine(2) as engine:
        engine.run(lake_tasks.pid_after, [0.0, 0.0], on_done=lambda count: None)
        threading.Thread(target=take_the_signal, daemon=True).start()
        engine.run(lake_tasks.pid_after, [60.0, 60.0], on_done=lambda count: None)
"""


def test_ctrl_c_that_does_not_wake_the_driver_ends_it_soon(tmp_path: Path) -> None:
    """As where it comes when a wait is about to begin, of which no more is seen than of this."""
    assert last_words(INTERRUPTING, tmp_path) == "KeyboardInterrupt"


IN_A_LOCK = """
import signal, sys, threading
from concurrent.futures import Future
sys.path.insert(0, {folder!r})
from support import lake_tasks
from support.programs import last_words, said
from seglake.task_engine.engine import LocalEngine

enter, add_done_callback = threading.Condition.__enter__, Future.add_done_callback
watched = []

def interrupted_behind(condition):
    entered = enter(condition)
    if condition in watched:
        watched.clear()
        signal.raise_signal(signal.SIGINT)
    return entered

def watched_callback(future, callback):
    watched.append(future._condition)
    add_done_callback(future, callback)

if __name__ == "__main__":
    with LocalEngine(2) as engine:
        engine.run(lake_tasks.pid_after, [0.0, 0.0], on_done=lambda count: None)
        threading.Condition.__enter__ = interrupted_behind
        Future.add_done_callback = watched_callback
        engine.run(lake_tasks.pid_after, [60.0, 60.0], on_done=lambda count: None)
"""


def test_ctrl_c_leaves_no_lock_of_the_pool_taken(tmp_path: Path) -> None:
    """It comes when the lock of a future has just been taken, which the pool needs to end."""
    assert last_words(IN_A_LOCK, tmp_path) == "KeyboardInterrupt"


MASKED = """
import signal
from seglake.task_engine.engine import LocalEngine

def is_held(number):
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())

if __name__ == "__main__":
    with LocalEngine(2) as engine:
        print(engine.run(is_held, [0, 1], on_done=lambda count: None), is_held(0))
"""


def test_workers_of_the_first_pool_come_with_ctrl_c_held(tmp_path: Path) -> None:
    """Python starts a process of its own with the first, and lets Ctrl-C through as it does."""
    assert said(MASKED, tmp_path) == ("[True, True] False\n", "")


AT_THE_START = """
import os, signal, sys, threading, time
from seglake.task_engine.engine import LocalEngine

def interrupt():
    time.sleep(0.3)  # until the other thread waits for what workers are forked from
    os.kill(os.getpid(), signal.SIGINT)  # to the process: this thread takes it

if __name__ == "__main__":
    try:
        with LocalEngine(2, preloaded=["slow_to_import"]) as engine:
            threading.Thread(target=interrupt).start()
            engine.run(abs, [1, 2], on_done=lambda count: None)
            print("was not interrupted")
    except KeyboardInterrupt:
        print("interrupted")
    sys.stdout.flush()
    os._exit(0)
"""


def test_ctrl_c_waits_until_the_workers_have_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread takes the signal, so that a mask does not keep it from the driver."""
    (tmp_path / "slow_to_import.py").write_text("import time\ntime.sleep(1)\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    assert said(AT_THE_START, tmp_path) == ("interrupted\n", "")


AT_THE_END = """
import os, signal, sys
from concurrent.futures import ProcessPoolExecutor
sys.path.insert(0, {folder!r})
from support import lake_tasks
from support.programs import last_words, said
from seglake.task_engine.engine import LocalEngine

shutdown = ProcessPoolExecutor.shutdown

def interrupted(pool, **arguments):
    signal.raise_signal(signal.SIGINT)
    shutdown(pool, **arguments)

if __name__ == "__main__":
    ProcessPoolExecutor.shutdown = interrupted
    try:
        with LocalEngine(2) as engine:
            engine.run(lake_tasks.pid_after, [0.0] * 2, on_done=lambda count: None)
            {first}
    except KeyboardInterrupt:
        print("interrupted")
    sys.stdout.flush()
    os._exit(0)
"""


@pytest.mark.parametrize("first", ["signal.raise_signal(signal.SIGINT)", "pass"])
def test_ctrl_c_as_the_workers_end_leaves_nothing_behind(tmp_path: Path, first: str) -> None:
    """A pool that was not shut down leaves semaphores, of which Python complains."""
    assert said(AT_THE_END.replace("{first}", first), tmp_path) == ("interrupted\n", "")


def wait_until_ended(pids: list[int]) -> None:
    deadline = time.monotonic() + 10
    while any(is_running(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [pid for pid in pids if is_running(pid)] == []


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
