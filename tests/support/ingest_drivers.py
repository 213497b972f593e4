"""Drivers for tests with several processes: each function is one process's life."""

import json
import multiprocessing
import os
from collections.abc import Callable, Sequence
from multiprocessing.synchronize import Barrier
from pathlib import Path

from seglake.segment_codec.warm import warm
from support.lakes import Sections, ingested

EXIT_CODE_OF_THE_DEAD = 9
WAVES: Sections = {
    "read": {"split_bytes": 64 * 1024, "window_bytes": 64 * 1024},
    "write": {"wave_bytes": 64 * 1024},
}


def fork_each(
    target: Callable[..., None],
    groups: Sequence[Sequence[tuple[object, ...]]],
    exit_codes: Path,
) -> None:
    """Run groups of processes, one group after the other; their exit codes go to a file.

    This process is young: it has imported everything, and has not used delta-rs, which no fork
    survives. A process that was spawned for each would take seconds to start. Each gets a barrier
    of its group as its first argument.
    """
    warm()
    fork = multiprocessing.get_context("fork")
    codes = []
    for group in groups:
        barrier = fork.Barrier(len(group))
        processes = [fork.Process(target=target, args=(barrier, *each)) for each in group]
        for process in processes:
            process.start()
        for process in processes:
            process.join(100)
        codes += [process.exitcode for process in processes]
    exit_codes.write_text(json.dumps(codes))


def ingest_and_die(barrier: Barrier, source: Path, lake: Path, step: str, time: int) -> None:
    """Ingest in several waves, and be killed when a step of a commit is done for the n-th time."""
    met = 0

    def die(done: str) -> None:
        nonlocal met
        met += done == step
        if met == time:
            os._exit(EXIT_CODE_OF_THE_DEAD)

    ingested(source, lake, after=die, makes_lake=True, **WAVES)


def ingest_beside_others(
    barrier: Barrier,
    source: Path,
    lake: Path,
    ending: Path,
    sections: Sections,
) -> None:
    """Ingest at the same moment as others; what it ended with is written down."""
    barrier.wait(60)
    summary = ingested(source, lake, makes_lake=True, **sections)
    ending.write_text(json.dumps([summary.exit_code, summary.records]))
