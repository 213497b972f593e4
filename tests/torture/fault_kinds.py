"""The faults that happen to a run at a point, and how it may end then."""

from collections.abc import Callable, Mapping
from pathlib import Path

from support.held_runs import A_FAULT, DISK_FULL, NO_MEMORY, NO_SPACE
from support.named_points import KILLED, HeldRun, Point, held
from torture.fault_scenes import Scene

_FAILED = 1

Fault = Callable[[Scene, Path, HeldRun], list[str]]
"""Happens to the run at its point; says how it ended otherwise than it may."""


def cycle(scene: Scene, point: Point, fault: str, *, more: tuple[str, ...] = ()) -> list[str]:
    """Let one fault happen at one point, run once more, and say what is wrong then."""
    folder = scene.copied("cycle")
    with held(scene.argv(folder, *more)) as run:
        run.reach(point)
        wrong = FAULTS[fault](scene, folder, run)
        wrong = [f"{each}: {run.text()}" for each in wrong]
    return wrong + scene.wrong(folder)


def _driver_killed(scene: Scene, folder: Path, run: HeldRun) -> list[str]:
    return _otherwise(run.kill(), KILLED)


def _driver_stopped(scene: Scene, folder: Path, run: HeldRun) -> list[str]:
    """A second run on the same logs runs whole meanwhile, and the first goes on then."""
    with run.stopped():
        second = scene.run(folder)
    first = run.finish()
    return [
        f"the {which} ended with {code}"
        for which, code in (("second", second), ("stopped run", first))
        if not scene.ends_well(code)
    ]


def _disk_full(scene: Scene, folder: Path, run: HeldRun) -> list[str]:
    """No byte can be written from here on; a run that has none to write ends as ever."""
    code = run.finish(DISK_FULL)
    if A_FAULT in run.text():
        return ["a full disk is a fault of the program"]
    return [] if scene.ends_well(code) else _otherwise(code, _FAILED)


def _no_space(scene: Scene, folder: Path, run: HeldRun) -> list[str]:
    wrong = _otherwise(run.finish(NO_SPACE), _FAILED)
    return [*wrong, *(["a full disk is a fault of the program"] if A_FAULT in run.text() else [])]


def _no_memory(scene: Scene, folder: Path, run: HeldRun) -> list[str]:
    return _otherwise(run.finish(NO_MEMORY), _FAILED)


def _worker_killed(scene: Scene, folder: Path, run: HeldRun) -> list[str]:
    if run.pid_there == run.pid:
        return ["the point is none of a worker"]
    run.kill_who_is_there()
    wrong = _otherwise(run.finish(), _FAILED)
    return wrong if "a worker process ended" in run.text() else [*wrong, "the worker is not named"]


def _otherwise(code: int, expected: int) -> list[str]:
    return [] if code == expected else [f"it ended with {code}, not {expected}"]


FAULTS: Mapping[str, Fault] = {
    "driver killed": _driver_killed,
    "driver stopped": _driver_stopped,
    "disk full": _disk_full,
    "no space": _no_space,
    "no memory": _no_memory,
    "worker killed": _worker_killed,
}
EVERYWHERE = tuple(name for name in FAULTS if name != "worker killed")
TWO_WORKERS = ("--set", "limits.local_processes=2")
WORKER_POINTS = tuple(
    Point(f"task {step}", number) for step in ("begun", "done") for number in (0, 1, 3, 4)
)
"""Of the first scene: its first and last waves are of two tasks."""
