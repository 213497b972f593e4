"""The loop of parts that draw runs: each in a folder of its own, calm or killed at any step."""

import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from torture.rows import Row

_CASES = ("calm", "killed")
_MEMORY = Path("/dev/shm")


def drawn_runs(
    part: str,
    tried: Callable[[Path, random.Random, bool], tuple[object, str]],
    *,
    seconds: float,
    seed: int,
    least: int = 0,
) -> Iterator[Row]:
    """Runs, one after the other, until the time is over; the same seed gives the same ones.

    Args:
        tried: makes a run in a folder, killed at times if it may be; returns its steps and what is
            wrong, empty if nothing.
        least: number of runs, however long they take.
    """
    for number, case in enumerate(_CASES):
        started, count, wrong = time.monotonic(), 0, 0
        end = started + seconds / len(_CASES)
        while count < least / len(_CASES) or time.monotonic() < end:
            name = f"{seed}/{number}/{count}"
            with _quick_folder() as folder:
                steps, problem = tried(folder, random.Random(name), case == "killed")
            if problem:
                wrong += 1
                print(f"WRONG: {part} {name}: {steps}: {problem}", flush=True)
            count += 1
        spent = time.monotonic() - started
        yield Row(part=part, case=case, tried=count, wrong=wrong, seconds=spent)


@contextmanager
def _quick_folder() -> Iterator[Path]:
    """Make a folder in memory, and sync nothing: no run has a power cut."""
    sync = os.fsync
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
        try:
            os.fsync = lambda fd: None
            yield Path(folder)
        finally:
            os.fsync = sync
