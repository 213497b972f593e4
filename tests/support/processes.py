"""Processes of tests that have imported what a commit needs, without the second that it takes.

A server imports it once and forks each process. It never uses delta-rs, which no fork survives.
"""

import multiprocessing
from multiprocessing.context import ForkServerContext

_IMPORTED = [
    "pytest",
    "seglake.lake.delta_commit",
    "seglake.pipelines.segment_ingest.ingest",
    "seglake.commands",
    "seglake.environment.engines",
    "seglake.environment.storages",
    "seglake.pipelines.lake_replay.replay",
    "seglake.pipelines.lake_retake.retake",
    "seglake.segment_decoding.loaded",
    "support.held_runs",
]


def young() -> ForkServerContext:
    """Return the context in which tests start processes and make barriers."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_IMPORTED)
    return context
