"""Tasks for the engines' tests: workers import them by name."""

import gc
import os
import time
from pathlib import Path

from seglake.storage.errors import OutputError
from seglake.task_engine.task_progress import advance


def pid_after(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def parents_word(name: str) -> str | None:
    """Return a variable of the environment in which the process began that forked this one."""
    words = Path(f"/proc/{os.getppid()}/environ").read_text().split("\0")
    return dict(word.split("=", 1) for word in words if word).get(name)


def touch(path: str) -> None:
    Path(path).touch()


def slow_square(number: int) -> int:
    time.sleep(0.3 if number == 0 else 0.01)
    return number * number


def frozen_count(_: int) -> int:
    """Return the number of this process's objects that garbage collection leaves out."""
    return gc.get_freeze_count()


def refuse(number: int) -> int:
    if number == 2:
        raise ValueError(f"number {number} is refused")
    return number


def refuse_because(number: int) -> int:
    try:
        return refuse(number)
    except ValueError as error:
        raise RuntimeError("task gave up") from error


def fail_for_the_disk(number: int) -> None:
    raise OutputError(action="write", path=f"/lake/{number}", reason="No space left on device")


def die(number: int) -> int:
    os._exit(9)


def fail_beside_another(task: tuple[str, bool]) -> None:
    """Go on for a minute and say in the file who does, or fail as soon as another goes on."""
    path, is_failing = task
    if not is_failing:
        Path(path).with_suffix(".new").write_text(str(os.getpid()))
        Path(path).with_suffix(".new").rename(path)
        time.sleep(60)
    while not Path(path).exists():
        time.sleep(0.01)
    raise ValueError("first failure")


def succeed_on_second_try(path: str) -> str:
    """Fail on the first call with this path; the file remembers."""
    marker = Path(path)
    if not marker.exists():
        marker.touch()
        raise ConnectionError("first try")
    return marker.name


def count_slowly(count: int) -> int:
    """Count one by one, and say so."""
    for _ in range(count):
        time.sleep(0.05)
        advance(1)
    return count


def count_twice_as_much(count: int) -> int:
    advance(2 * count)
    return count


def fail_half_way(count: int) -> None:
    advance(count // 2)
    raise ValueError("half-way")
