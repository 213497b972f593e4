"""Commands that messages advise, ready to be copied into a shell."""

import shlex
from collections.abc import Iterable

from seglake.kafka_log.read_policy import UpperBound
from seglake.settings.settings import MOST_DECOMPRESSED_BATCH_BYTES

HIGHEST_LIMIT = f"{MOST_DECOMPRESSED_BATCH_BYTES >> 30}GiB"


def replay_with_highest_limit(lake: str, log_dirs: Iterable[str] = ()) -> str:
    """Return a `replay` command with the highest decompression limit, in local processes.

    Args:
        lake: the lake's path or URI as the user typed it.
        log_dirs: folders with the batches; none if the lake has all of their bytes.
    """
    sources = [word for log_dir in log_dirs for word in ("--source", log_dir)]
    limit = f"limits.max_decompressed_batch_bytes={HIGHEST_LIMIT}"
    words = ["seglake", "replay", "--lake", lake, *sources, "--engine", "local"]
    return shlex.join([*words, "--set", limit])


def replay_losing_tails(lake: str) -> str:
    """Return the command that decodes a lake's losing tails.

    The command uses the local engine, because losing tails are short.
    """
    words = ["seglake", "replay", "--lake", lake, "--engine", "local"]
    return shlex.join([*words, "--set", "read.losing_tails=rows"])


def ingest_internal(lake: str, topics: Iterable[str], upper_bound: str | None) -> str:
    """Return the command that ingests internal topics only, with the local engine.

    Args:
        lake: the lake as the person gave it.
        topics: names of the internal topics.
        upper_bound: upper bound of the lake's newest run, for the command; None if unknown.
    """
    words = ["seglake", "ingest", "--source", "LOG_DIR", "--lake", lake]
    words += ["--topics", *sorted(topics), "--internal-topics", "--engine", "local"]
    if upper_bound == UpperBound.LOG_END:
        words += ["--upper-bound", upper_bound]
    return shlex.join(words)
