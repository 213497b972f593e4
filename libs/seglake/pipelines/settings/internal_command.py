"""The command that ingests internal topics into a lake that was begun without them. Pure."""

import shlex
from collections.abc import Iterable

from seglake.kafka_log.read_policy import UpperBound


def ingest_internal(lake: str, topics: Iterable[str], upper_bound: str | None) -> str:
    """Return an ingest of internal topics alone, which are small enough for local processes.

    Args:
        upper_bound: of the lake's newest run, which is kept; None if no run left one.
    """
    words = ["seglake", "ingest", "--source", "LOG_DIR", "--lake", lake]
    words += ["--topics", *sorted(topics), "--internal-topics", "--engine", "local"]
    if upper_bound == UpperBound.LOG_END:
        words += ["--upper-bound", upper_bound]
    return shlex.join(words)
