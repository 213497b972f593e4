"""The command that adds internal topics to a lake begun without them. Pure."""

import shlex
from collections.abc import Iterable

from seglake.kafka_log.read_policy import UpperBound


def ingest_internal(lake: str, topics: Iterable[str], upper_bound: str | None) -> str:
    """Return a command that ingests internal topics alone, small enough for local processes.

    Args:
        upper_bound: bound of the lake's newest run, to be kept; None if no run has one.
    """
    words = ["seglake", "ingest", "--source", "LOG_DIR", "--lake", lake]
    words += ["--topics", *sorted(topics), "--internal-topics", "--engine", "local"]
    if upper_bound == UpperBound.LOG_END:
        words += ["--upper-bound", upper_bound]
    return shlex.join(words)
