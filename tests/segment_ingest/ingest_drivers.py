"""Drivers for tests with several processes: each function is one process's life."""

import os
from multiprocessing.synchronize import Barrier
from pathlib import Path

from support.lakes import ingested

EXIT_CODE_OF_THE_DEAD = 9


def ingest_and_die(source: Path, lake: Path, step: str, time: int) -> None:
    """Ingest in several waves, and be killed when a step of a commit is done for the n-th time."""
    met = 0

    def die(done: str) -> None:
        nonlocal met
        met += done == step
        if met == time:
            os._exit(EXIT_CODE_OF_THE_DEAD)

    ingested(source, lake, after=die, **WAVES)


def ingest_beside_others(
    source: Path, lake: Path, driver: int, barrier: Barrier, results: Path, rounds: int
) -> None:
    """Ingest at the same moment as others, some times; what the runs ended with is written down."""
    for number in range(rounds):
        barrier.wait(60)
        summary = ingested(source, lake.with_name(f"{lake.name}{number}"))
        text = f"{summary.exit_code} {summary.records}"
        (results / f"{driver}-{number}").write_text(text)


def ingest_waves_beside_others(
    source: Path, lake: Path, driver: int, barrier: Barrier, results: Path
) -> None:
    """The same once, in many waves."""
    barrier.wait(60)
    summary = ingested(source, lake, **WAVES)
    (results / str(driver)).write_text(f"{summary.exit_code} {summary.records}")


WAVES = {
    "read": {"split_bytes": 64 * 1024, "window_bytes": 64 * 1024},
    "write": {"wave_bytes": 64 * 1024},
}
