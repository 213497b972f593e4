"""Makes the command that adds internal topics to a lake without them."""

import shlex
from collections.abc import Iterable

from seglake.kafka_log.read_policy import UpperBound


def ingest_internal(lake: str, topics: Iterable[str], upper_bound: str | None) -> str:
    """Return the command that ingests internal topics only, with the local engine.

    Args:
        lake: the lake's path or URI as the user typed it.
        topics: names of the internal topics.
        upper_bound: upper bound of the lake's newest run, for the command; None if unknown.
    """
    words = ["seglake", "ingest", "--source", "LOG_DIR", "--lake", lake]
    words += ["--topics", *sorted(topics), "--internal-topics", "--engine", "local"]
    if upper_bound == UpperBound.LOG_END:
        words += ["--upper-bound", upper_bound]
    return shlex.join(words)
